"""What comes in: a bare list of messages, or a request body that holds one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab_plugins.codecs.reading import MISSING, JsonObject, limit_in, read_list, read_object, read_text, wrong
from trimtab_sdk import Decoded, Message, Originals


@dataclass(frozen=True, slots=True)
class Body:
    """An input taken apart. `whole` is the request body, None when only messages came."""

    items: list[object]
    whole: JsonObject | None = None
    tools: tuple[object, ...] | None = None
    response_format: Mapping[str, object] | None = None
    max_output_tokens: int | None = None
    model: str | None = None

    def decoded(
        self, messages: Iterable[Message], originals: Originals, uncounted: Iterable[str], *, leading: int = 0
    ) -> Decoded:
        """Give the conversation of messages that were read from this input, with all that the body says."""
        return Decoded(
            messages=tuple(messages),
            originals=originals,
            tools=self.tools,
            response_format=self.response_format,
            max_output_tokens=self.max_output_tokens,
            model=self.model,
            uncounted=tuple(sorted(uncounted)),
            leading=leading,
        )


def read_body(data: object) -> Body:
    """Read a list of messages or a request body.

    Of a body, `messages`, `tools`, `functions`, `response_format`, `max_completion_tokens`, `max_tokens` and
    `model` are read; null counts as absent. Raises InvalidRequestError for any of them with another shape.
    """
    if isinstance(data, list):
        return Body(data)
    if not isinstance(data, dict):
        raise wrong("", "a list of messages or a request body with messages", data)
    return Body(
        items=read_list(data.get("messages", MISSING), "messages"),
        whole=data,
        tools=_tools(data),
        response_format=_response_format(data),
        max_output_tokens=_max_output_tokens(data),
        model=model_of(data),
    )


def items_of(data: object) -> list[object] | None:
    """Give the messages of an input that may be anything, None when there is no list of them."""
    found = data.get("messages") if isinstance(data, dict) else data
    return found if isinstance(found, list) else None


def _tools(data: JsonObject) -> tuple[object, ...] | None:
    tools, functions = data.get("tools"), data.get("functions")
    if tools is None and functions is None:
        return None
    modern = [] if tools is None else read_list(tools, "tools")
    legacy = [] if functions is None else read_list(functions, "functions")
    return (*modern, *({"type": "function", "function": function} for function in legacy))


def _response_format(data: JsonObject) -> JsonObject | None:
    value = data.get("response_format")
    return None if value is None else read_object(value, "response_format")


def _max_output_tokens(data: JsonObject) -> int | None:
    newer = limit_in(data, "max_completion_tokens")
    return limit_in(data, "max_tokens") if newer is None else newer


def tools_of(data: JsonObject) -> tuple[object, ...] | None:
    """Give the `tools` of a request body, None when it has none."""
    tools = data.get("tools")
    return None if tools is None else tuple(read_list(tools, "tools"))


def model_of(data: JsonObject) -> str | None:
    """Give the `model` of a request body, None when it names none."""
    value = data.get("model")
    return None if value is None else read_text(value, "model")
