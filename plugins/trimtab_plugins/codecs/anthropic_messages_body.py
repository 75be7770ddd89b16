"""The request body of the Anthropic Messages wire, or a bare list of its messages."""

from __future__ import annotations

from typing import NamedTuple

from trimtab_plugins.codecs.body import Body, model_of, tools_of
from trimtab_plugins.codecs.reading import MISSING, JsonObject, read_list, read_object, wrong


class Request(NamedTuple):
    """An input taken apart: the body, and what its `system` holds, None where it has none."""

    body: Body
    system: object


def read_request(data: object) -> Request:
    """Read a list of messages or a request body.

    Of a body, `messages`, `system`, `tools`, `output_config.format`, `max_tokens` and `model` are read; null
    counts as absent. Raises InvalidRequestError for any of them with another shape.
    """
    if isinstance(data, list):
        return Request(Body(data), None)
    if not isinstance(data, dict):
        raise wrong("", "a list of messages or a request body with messages", data)
    body = Body(
        items=read_list(data.get("messages", MISSING), "messages"),
        whole=data,
        tools=tools_of(data),
        response_format=_response_format(data),
        max_output_tokens=_max_output_tokens(data),
        model=model_of(data),
    )
    return Request(body, data.get("system"))


def _response_format(data: JsonObject) -> JsonObject | None:
    config = data.get("output_config")
    if config is None:
        return None
    value = read_object(config, "output_config").get("format")
    return None if value is None else read_object(value, "output_config.format")


def _max_output_tokens(data: JsonObject) -> int | None:
    """0 asks for no answer, only for a warm cache, so it says nothing of a reserve."""
    value = data.get("max_tokens")
    if value is None:
        return None
    if type(value) is not int or value < 0:
        raise wrong("max_tokens", "a whole number of tokens, 0 or more", value)
    return value or None
