"""What the Interactions API refuses in a body: the official SDK's types, closed, and the rules of the wire.

`InteractionsJudge.faults(body)` gives one `Wrong` for each fault. The rules are asked only of a body whose types
are right, so one mistake is one fault. What depends on the conversation behind a body is judged in
`interactions_rules`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.interactions_refusals import LEGACY_SCHEMA

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter

CONTENTS = frozenset({"text", "image", "audio", "document", "video"})
REVISION = "2026-05-20"
"""The first revision of the API in which an interaction consists of steps."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_FREE = frozenset({"model"})
_REMEMBERED = 50_000


class InteractionsJudge:
    """Judges request bodies. Verdicts on steps and contents are kept by their text, since they come again."""

    def __init__(self) -> None:
        self._verdicts: dict[str, tuple[Wrong, ...]] = {}

    def faults(self, body: Json, headers: Mapping[str, str] | None = None) -> list[Wrong]:
        """Give what is wrong with a request body; an empty list is a body that the server takes."""
        if not isinstance(body, dict):
            return [Wrong("the body is no JSON object")]
        if _is_legacy(body, (headers or {}).get("api-revision", REVISION)):
            return [Wrong(LEGACY_SCHEMA)]
        return self._type_faults(body) or [*_rule_faults(body)]

    def _type_faults(self, body: Json) -> list[Wrong]:
        given = body.get("input")
        head = {key: value for key, value in body.items() if key != "input"}
        faults = self._verdict("body", head, "")
        if isinstance(given, dict):
            return [*faults, *self._verdict("content", given, "input")]
        if isinstance(given, list):
            return [*faults, *self._item_faults(given)]
        if given is None or isinstance(given, str):
            return faults
        return [*faults, Wrong("input: neither text nor contents nor steps", "input")]

    def _item_faults(self, given: list[Json]) -> Iterator[Wrong]:
        kinds = ["content" if _type_of(item) in CONTENTS else "step" for item in given]
        if len(set(kinds)) > 1:
            yield Wrong("input: steps and contents in one list", "input")
            return
        for at, (kind, item) in enumerate(zip(kinds, given, strict=True)):
            yield from self._verdict(kind, item, f"input[{at}]")

    def _verdict(self, kind: str, value: Json, place: str) -> list[Wrong]:
        key = f"{kind} {json.dumps(value)}"
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            found = self._verdicts[key] = tuple(_sdk_faults(_adapter(kind), value))
        return [_placed(wrong, place) for wrong in found]


def event_faults(event: Json) -> list[str]:
    """Give what the official SDK finds wrong with an event of a stream."""
    return [wrong.message for wrong in _sdk_faults(_adapter("event"), event)]


def interaction_faults(whole: Json) -> list[str]:
    """Give what the official SDK finds wrong with an answer that is no stream; it names no `object` there."""
    known = {key: value for key, value in whole.items() if key != "object"}
    return [wrong.message for wrong in _sdk_faults(_adapter("interaction"), known)]


def _is_legacy(body: Json, revision: str) -> bool:
    given = body.get("input")
    turns = given if isinstance(given, list) else [given]
    return (
        revision < REVISION or "outputs" in body or any(isinstance(one, dict) and "role" in one for one in turns)
    )


def _type_of(item: Json) -> Json:
    kind = item.get("type") if isinstance(item, dict) else None
    return kind if isinstance(kind, str) else ""


def _placed(wrong: Wrong, place: str) -> Wrong:
    param = ".".join(part for part in (place, wrong.param or "") if part)
    return Wrong(f"{param or 'body'}: {wrong.message}", param or None)


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    from google.genai._gaos.types import interactions as sdk
    from pydantic import TypeAdapter

    types: dict[str, Any] = {
        "body": sdk.CreateModelInteraction,
        "step": sdk.Step,
        "content": sdk.Content,
        "event": sdk.InteractionSSEEvent,
        "interaction": sdk.Interaction,
    }
    return TypeAdapter(types[kind])


def _sdk_faults(adapter: TypeAdapter[Any], value: Json) -> Iterator[Wrong]:
    from pydantic import ValidationError

    try:
        read = adapter.validate_python(value)
    except ValidationError as error:
        first = max(error.errors(), key=lambda one: len(one["loc"]))
        yield Wrong(first["msg"][:200], ".".join(str(part) for part in first["loc"])[:200])
        return
    yield from _unknown_in(read, "")


def _unknown_in(value: object, place: str) -> Iterator[Wrong]:
    """Find what the SDK lets through without knowing it: variants, keys and words."""
    from google.genai._gaos.types import UnrecognizedStr
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        yield from _unknown_in_model(value, place)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _unknown_in(item, f"{place}[{at}]")
    elif isinstance(value, UnrecognizedStr) and place not in _FREE:
        yield Wrong(f"{str(value)[:80]!r} is no word of the API", place)


def _unknown_in_model(value: BaseModel, place: str) -> Iterator[Wrong]:
    fields = type(value).model_fields
    if getattr(value, "is_unknown", False):
        yield Wrong(f"of a type that the API does not have: {str(getattr(value, 'raw', ''))[:80]}", place)
        return
    for key in (value.model_extra or {}) if fields else ():
        yield Wrong(f"unknown key {key[:80]!r}", f"{place}.{key}".lstrip("."))
    for key in fields:
        yield from _unknown_in(value.__dict__.get(key), f"{place}.{key}".lstrip("."))


def _rule_faults(body: Json) -> Iterator[Wrong]:
    yield from _body_faults(body)
    yield from _tool_faults(body)
    given = body.get("input")
    if isinstance(given, list):
        for at, item in enumerate(given):
            yield from _content_faults(item, f"input[{at}]")
        yield from _row_faults(given)


def _body_faults(body: Json) -> Iterator[Wrong]:
    has_input = body.get("input") not in (None, "", [])
    previous = body.get("previous_interaction_id")
    if body.get("store") is False and body.get("background"):
        yield Wrong("background needs store", "background")
    if body.get("continuation_token") is None:
        if not has_input:
            yield Wrong("input: missing or empty", "input")
    elif (previous is not None) == has_input:
        yield Wrong(
            "continuation_token goes with previous_interaction_id and no input, or with the original input",
            "continuation_token",
        )


def _tool_faults(body: Json) -> Iterator[Wrong]:
    names: list[str] = []
    for at, tool in enumerate(body.get("tools") or ()):
        if tool["type"] != "function":
            continue
        name = tool.get("name") or ""
        if not _NAME.fullmatch(name):
            yield Wrong(f"tools[{at}]: the name {name[:140]!r}", f"tools[{at}].name")
        if name in names:
            yield Wrong(f"tools[{at}]: the name {name[:140]!r} again", f"tools[{at}].name")
        names.append(name)


def _content_faults(item: Json, place: str) -> Iterator[Wrong]:
    if item["type"] in ("user_input", "model_output") and not item.get("content"):
        yield Wrong(f"{place}: no content", f"{place}.content")
    contents = [item] if item["type"] in CONTENTS else item.get("content") or ()
    for content in contents:
        if content["type"] == "text" and not content["text"]:
            yield Wrong(f"{place}: an empty text", f"{place}.content")
        elif content["type"] != "text" and not (content.get("data") or content.get("uri")):
            yield Wrong(f"{place}: neither data nor uri", f"{place}.content")


def _row_faults(given: list[Json]) -> Iterator[Wrong]:
    for at in range(1, len(given)):
        if given[at - 1]["type"] == given[at]["type"] == "user_input":
            yield Wrong(f"input[{at}]: a second user_input in a row", f"input[{at}]")
