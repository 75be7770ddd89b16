"""Reading of Gemini Interactions steps: each becomes one message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.body import Body, model_of, tools_of
from trimtab_plugins.codecs.gemini_interactions_parts import read_contents
from trimtab_plugins.codecs.gemini_originals import SYSTEM_ID
from trimtab_plugins.codecs.gemini_recognition import CONTENT_TYPES, type_of
from trimtab_plugins.codecs.gemini_values import object_if_any
from trimtab_plugins.codecs.media_prices import IMAGE
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    flag_if_any,
    is_blank,
    json_text,
    limit_in,
    object_in,
    read_object,
    read_text,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_sdk import (
    InvalidRequestError,
    Message,
    Part,
    Reasoning,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

_CALL, _RESULT = "_call", "_result"
_HOSTED_KEYS = frozenset({"type", "id", "signature", "arguments"})
_STEP_KEYS = {
    "user_input": frozenset({"type", "content"}),
    "model_output": frozenset({"type", "content", "error"}),
    "thought": frozenset({"type", "signature", "summary"}),
    "function_call": frozenset({"type", "id", "name", "arguments"}),
    "function_result": frozenset({"type", "call_id", "name", "result", "is_error"}),
}


@dataclass(slots=True)
class Steps:
    """The steps read so far: `messages`, `entries` by id, the `uncounted` keys, and the ids of `hosted` ones."""

    messages: list[Message] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=set)
    hosted: set[str] = field(default_factory=set)


def read_steps(items: Sequence[object], *, names: Sequence[str] = ()) -> Steps:
    """Read steps; each becomes one message, with the id at its place in `names`, else `m` and its position.

    Calls and results of the provider's own tools are paired like those of functions, so that they leave
    together, but both are the assistant's. Raises InvalidRequestError with the path of what is wrong.
    """
    steps = Steps()
    first_input = _input_start(items)
    for position, item in enumerate(items):
        name = names[position] if position < len(names) else f"m{position}"
        path = f"input[{position}]"
        said: Source = "input" if position >= first_input else "history"
        step = read_object(item, path)
        kind = type_of(step)
        role, parts = _read_plain(step, kind) or _read_step(step, path)
        message = Message(name, role, parts, source=said)
        steps.uncounted.update(step.keys() - _STEP_KEYS.get(kind, step.keys()))
        if kind not in _STEP_KEYS and any(isinstance(part, ToolCall | ToolResult) for part in parts):
            steps.hosted.add(name)
        steps.entries[name] = Entry(message, step)
        steps.messages.append(message)
    return steps


def _input_start(items: Sequence[object]) -> int:
    start = len(items)
    while start and type_of(items[start - 1]) == "user_input":
        start -= 1
    return start


def _read_plain(step: JsonObject, kind: str) -> tuple[Role, tuple[Part, ...]] | None:
    """The short way for what most histories hold: a user's or a model's text, and nothing else."""
    content = step.get("content")
    if kind not in ("user_input", "model_output") or not isinstance(content, list) or len(content) != 1:
        return None
    only = content[0]
    if not isinstance(only, dict) or only.get("type") != "text" or not isinstance(only.get("text"), str):
        return None
    return "user" if kind == "user_input" else "assistant", (Text(only["text"]),)


def _read_step(step: JsonObject, path: str) -> tuple[Role, tuple[Part, ...]]:
    kind = read_text(step.get("type", MISSING), f"{path}.type")
    if kind in CONTENT_TYPES:
        raise InvalidRequestError(
            f"{path} is a content among steps; put it into the content of a user_input step", path=path
        )
    known = _READERS.get(kind)
    if known is not None:
        role, read = known
        return role, read(step, path)
    return "assistant", (_read_hosted(step, kind),)


def _read_content(step: JsonObject, path: str) -> tuple[Part, ...]:
    return read_contents(step.get("content"), f"{path}.content")


def _read_thought(step: JsonObject, path: str) -> tuple[Part, ...]:
    summary = read_contents(step.get("summary"), f"{path}.summary")
    text = "\n".join(part.text for part in summary if isinstance(part, Text))
    pictures = sum(not isinstance(part, Text) for part in summary)
    return (Reasoning(text, text_if_any(step, "signature", path), pictures * IMAGE),)


def _read_call(step: JsonObject, path: str) -> tuple[Part, ...]:
    arguments = json_text(object_in(step, "arguments", path))
    return (ToolCall(text_in(step, "id", path), text_in(step, "name", path), arguments),)


def _read_result(step: JsonObject, path: str) -> tuple[Part, ...]:
    call_id = text_in(step, "call_id", path)
    value = step.get("result")
    is_error = flag_if_any(step, "is_error", path)
    if isinstance(value, str):
        return (ToolResult(call_id, value, is_error),)
    if isinstance(value, dict):
        return (ToolResult(call_id, json_text(value), is_error),)
    if not isinstance(value, list):
        raise wrong(f"{path}.result", "a text, an object or a list of contents", step.get("result", MISSING))
    return (ToolResult(call_id, read_contents(value, f"{path}.result"), is_error),)


def _read_hosted(step: JsonObject, kind: str) -> Part:
    """A step of a tool that the provider runs, its id marked by the tool so that it never meets a function's.

    Without an id to pair it by it is Unknown, and so is a step of any other type.
    """
    own_id = step.get("id" if kind.endswith(_CALL) else "call_id")
    tool = kind.removesuffix(_CALL).removesuffix(_RESULT)
    if not isinstance(own_id, str) or not own_id or tool == kind:
        return Unknown(step)
    call_id = f"{tool}_{own_id}"
    if kind.endswith(_RESULT):
        return ToolResult(call_id, (Unknown(step),))
    asked = {key: value for key, value in step.items() if key not in _HOSTED_KEYS}
    arguments = step.get("arguments")
    asked |= arguments if isinstance(arguments, dict) else {}
    return ToolCall(call_id, tool, json_text(asked))


_READERS: dict[str, tuple[Role, Callable[[JsonObject, str], tuple[Part, ...]]]] = {
    "user_input": ("user", _read_content),
    "model_output": ("assistant", _read_content),
    "thought": ("assistant", _read_thought),
    "function_call": ("assistant", _read_call),
    "function_result": ("tool", _read_result),
}


@dataclass(frozen=True, slots=True)
class InteractionsBody(Body):
    """An input taken apart, its `items` the steps to read.

    `given` is the input as it came when that was no list of steps; `system` is the message of its system
    instruction.
    """

    given: object = None
    system: Message | None = None


def read_body(data: object) -> InteractionsBody:
    """Read a list of steps or contents, or a request body.

    Raises InvalidRequestError with the path of what is wrong.
    """
    if isinstance(data, list):
        steps, given = _steps_of(data)
        return InteractionsBody(steps, given=given)
    if not isinstance(data, dict):
        raise wrong("", "a list of steps or a request body with input", data)
    steps, given = _steps_of(
        [] if is_continued(data) and data.get("input") is None else data.get("input", MISSING)
    )
    return InteractionsBody(
        steps,
        given=given,
        whole=data,
        tools=tools_of(data),
        response_format=_response_format(data),
        max_output_tokens=limit_in(
            object_if_any(data, "generation_config"), "max_output_tokens", "generation_config"
        ),
        model=model_of(data),
        system=_read_system(data),
    )


def is_continued(data: JsonObject) -> bool:
    """Tell whether a body goes on from what the provider holds."""
    return any(data.get(key) for key in ("previous_interaction_id", "continuation_token"))


def _steps_of(value: object) -> tuple[list[object], object]:
    """The steps of an input, and the input itself when it is a text, a content or a list of contents."""
    if isinstance(value, str):
        return _as_user_input([{"type": "text", "text": value}]), value
    if isinstance(value, dict):
        return _as_user_input([value]), value
    if not isinstance(value, list):
        raise wrong("input", "a text, a content, a list of contents or a list of steps", value)
    if value and _are_contents(value):
        return _as_user_input(value), value
    return value, None


def _are_contents(items: Iterable[object]) -> bool:
    return all(type_of(item) in CONTENT_TYPES for item in items)


def _as_user_input(content: list[object]) -> list[object]:
    return [{"type": "user_input", "content": content}]


def _response_format(data: JsonObject) -> JsonObject | None:
    value = data.get("response_format")
    if isinstance(value, list):
        return {"formats": value}
    return None if value is None else read_object(value, "response_format")


def _read_system(data: JsonObject) -> Message | None:
    value = data.get("system_instruction")
    text = "" if value is None else read_text(value, "system_instruction")
    return None if is_blank(text) else Message(SYSTEM_ID, "system", (Text(text),), source="system")
