"""What an OpenAI-compatible server refuses: the types of the official SDK, closed, and the rules of the wire.

`ChatJudge.faults(body)` gives one `Wrong` for each fault. The rules are asked only of a body whose types are
right, so one mistake is one fault.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jsonschema import Draft202012Validator

from fakes.chat_replies import Json

_TYPE_OF_ROLE = {
    role: f"ChatCompletion{role.title()}MessageParam"
    for role in ("assistant", "developer", "function", "system", "tool", "user")
}
_IN_PLACE_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class Wrong:
    """One fault of a request: a sentence, and what OpenAI's error says beside it."""

    message: str
    param: str | None = None
    code: str | None = None


class ChatJudge:
    """Judges request bodies. Verdicts on messages are kept by their text, since a chat sends them again and again.

    - `extra_keys` are let through wherever they stand, beyond the official types.
    - `strict_alternation`: user and assistant take turns, system text stands first only, as templates want it.
    - `refuse_empty`: an empty text is refused, as some servers do.
    """

    def __init__(
        self, *, extra_keys: Collection[str] = (), strict_alternation: bool = False, refuse_empty: bool = False
    ) -> None:
        self._validators = _validators(frozenset(extra_keys))
        self._strict_alternation = strict_alternation
        self._refuse_empty = refuse_empty
        self._verdicts: dict[str, tuple[Wrong, ...]] = {}

    def faults(self, body: Json) -> list[Wrong]:
        """Give what is wrong with a request body; an empty list is a body that a server takes."""
        if not isinstance(body, dict):
            return [Wrong("the body is no JSON object")]
        return self._type_faults(body) or [*self._rule_faults(body)]

    def _type_faults(self, body: Json) -> list[Wrong]:
        kind = "streaming" if body.get("stream") is True else "plain"
        messages = body.get("messages")
        if not isinstance(messages, list):
            return self._verdict(kind, body, "$")
        faults = self._verdict(kind, {**body, "messages": []}, "$")
        for at, message in enumerate(messages):
            faults += self._message_verdict(message, f"messages[{at}]")
        return faults

    def _message_verdict(self, message: Json, place: str) -> list[Wrong]:
        if not isinstance(message, dict):
            return [Wrong(f"{place}: no object", place)]
        role = message.get("role")
        if not isinstance(role, str) or role not in _TYPE_OF_ROLE:
            return [Wrong(f"{place}.role: {role!r} is no role", f"{place}.role")]
        return self._verdict(role, message, place)

    def _verdict(self, kind: str, value: Json, place: str) -> list[Wrong]:
        key = f"{kind} {json.dumps(value)}"
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            errors = self._validators[kind].iter_errors(value)
            found = tuple(Wrong(error.message[:200], error.json_path[1:].lstrip(".")) for error in errors)
            self._verdicts[key] = found
        return [_placed(wrong, place) for wrong in found]

    def _rule_faults(self, body: Json) -> Iterator[Wrong]:
        messages = body["messages"]
        if not messages:
            yield Wrong("messages: at least one message is needed", "messages")
        yield from _body_faults(body)
        yield from _tool_faults(body)
        for at, message in enumerate(messages):
            yield from _content_faults(message, f"messages[{at}]", refuse_empty=self._refuse_empty)
        yield from _pairing_faults(messages)
        if self._strict_alternation:
            yield from _alternation_faults(messages)


def _placed(wrong: Wrong, place: str) -> Wrong:
    inner = wrong.param or ""
    param = inner if place == "$" else f"{place}.{inner}".rstrip(".")
    return Wrong(f"{param or 'body'}: {wrong.message}", param or None, wrong.code)


@cache
def _validators(extra_keys: frozenset[str]) -> Mapping[str, Draft202012Validator]:
    """The official types as schemas in which no object has keys that they do not name."""
    from openai.types.chat import completion_create_params as params
    from pydantic import TypeAdapter

    streaming = closed(TypeAdapter(params.CompletionCreateParamsStreaming).json_schema(), extra_keys)
    plain = closed(TypeAdapter(params.CompletionCreateParamsNonStreaming).json_schema(), extra_keys)
    schemas = {"streaming": streaming, "plain": plain}
    for role, name in _TYPE_OF_ROLE.items():
        schemas[role] = {"$ref": f"#/$defs/{name}", "$defs": streaming["$defs"]}
    return {kind: Draft202012Validator(schema) for kind, schema in schemas.items()}


def closed(schema: Json, extra_keys: Collection[str] = ()) -> Json:
    """Give a JSON schema in which no object has keys that it does not name, or that are not in `extra_keys`."""
    if isinstance(schema, list):
        return [closed(inner, extra_keys) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: closed(inner, extra_keys) for key, inner in schema.items()}
    if "properties" in shut and isinstance(shut["properties"], dict):
        shut.setdefault("additionalProperties", False)
        shut["properties"] = {**dict.fromkeys(extra_keys, True), **shut["properties"]}
    return shut


def _body_faults(body: Json) -> Iterator[Wrong]:
    if "stream_options" in body and not body.get("stream"):
        yield Wrong("stream_options is only allowed when stream is enabled", "stream_options")
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        yield Wrong("max_tokens and max_completion_tokens do not go together", "max_tokens")
    for key in ("tool_choice", "parallel_tool_calls"):
        if key in body and "tools" not in body:
            yield Wrong(f"{key} is only allowed when tools are specified", key)


def _tool_faults(body: Json) -> Iterator[Wrong]:
    if body.get("tools") == []:
        yield Wrong("tools: an empty list", "tools")
    names = [_name_of(tool) for tool in body.get("tools") or ()]
    for at, name in enumerate(names):
        if not _NAME.fullmatch(name):
            yield Wrong(f"tools[{at}]: the name {name!r}", f"tools[{at}].function.name")
        if name in names[:at]:
            yield Wrong(f"tools[{at}]: the name {name!r} again", f"tools[{at}].function.name")


def _name_of(tool: Json) -> str:
    return str(tool[tool["type"]]["name"])


def _content_faults(message: Json, place: str, *, refuse_empty: bool) -> Iterator[Wrong]:
    content = message.get("content")
    instead = any(message.get(key) for key in _IN_PLACE_OF_CONTENT)
    if content is None and not instead:
        yield Wrong(f"{place}: no content, and nothing in its place", f"{place}.content")
    is_blank = content == "" and refuse_empty and message["role"] != "tool" and not instead
    if content == [] or is_blank:
        yield Wrong(f"{place}: empty content", f"{place}.content")
    if message.get("tool_calls") == []:
        yield Wrong(f"{place}: an empty list of tool_calls", f"{place}.tool_calls")
    for call in message.get("tool_calls") or ():
        if not _NAME.fullmatch(_name_of(call)):
            yield Wrong(f"{place}: a call of {_name_of(call)!r}", f"{place}.tool_calls")


def _pairing_faults(messages: Sequence[Json]) -> Iterator[Wrong]:
    at = 0
    while at < len(messages):
        if messages[at]["role"] == "tool":
            yield Wrong(
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
                f"messages.[{at}].role",
            )
        calls = Counter(call["id"] for call in messages[at].get("tool_calls") or ())
        at += 1
        if calls:
            results = _results_from(messages, at)
            yield from _unpaired(calls, Counter(results), at - 1)
            at += len(results)


def _results_from(messages: Sequence[Json], at: int) -> list[str]:
    results = []
    while at < len(messages) and messages[at]["role"] == "tool":
        results.append(messages[at]["tool_call_id"])
        at += 1
    return results


def _unpaired(calls: Counter[str], results: Counter[str], at: int) -> Iterator[Wrong]:
    if missing := calls - results:
        yield Wrong(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}",
            f"messages.[{at}].role",
        )
    for call_id in results - calls:
        yield Wrong(f"messages[{at}]: a result for {call_id!r}, which is no open call", f"messages.[{at}].role")


def _alternation_faults(messages: Sequence[Json]) -> Iterator[Wrong]:
    expected = "user"
    for at, message in enumerate(messages):
        role = message["role"]
        if role in ("system", "developer") and at:
            yield Wrong(f"messages[{at}]: role {role} may only come first", f"messages[{at}].role")
        if role == "user" or (role == "assistant" and not message.get("tool_calls")):
            if role != expected:
                yield Wrong(f"messages[{at}]: roles must alternate user/assistant", f"messages[{at}].role")
            expected = "assistant" if role == "user" else "user"
