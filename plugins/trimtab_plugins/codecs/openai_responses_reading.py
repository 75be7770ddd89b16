"""Reading of a Responses request: a list of items, or a body with `input` and `instructions`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab_plugins.codecs.body import Body, model_of, tools_of
from trimtab_plugins.codecs.conversation import Conversation
from trimtab_plugins.codecs.openai_responses_items import read_parts, read_role
from trimtab_plugins.codecs.openai_responses_kinds import keys_of, kind_of
from trimtab_plugins.codecs.openai_responses_mending import mend_item
from trimtab_plugins.codecs.openai_responses_originals import CODEC, KeptItems, has_cursor
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.raw_messages import free_id, input_start, message_ids
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    limit_in,
    read_object,
    read_text,
    source_of_system,
    wrong,
)
from trimtab_sdk import EMPTY_META, Decoded, Message, Source, Text, Unknown, pair_calls

_EXPECTED_TYPE = "a text that names a kind of item; only a message, which has a role, may go without"


def read_request(data: object) -> Decoded:
    """Read a list of items or a request body. Raises InvalidRequestError with the path of what is wrong."""
    if isinstance(data, list):
        reading = _read_items(data, "messages")
        kept = KeptItems(CODEC, reading.entries, repairs=reading.repairs, begun=not data)
        return Body(data).decoded(reading.messages, kept, reading.uncounted)
    if not isinstance(data, dict):
        raise wrong("", "a list of items or a request body with input", data)
    return _read_body(data)


def _read_body(body: JsonObject) -> Decoded:
    given = body.get("input", MISSING)
    plain = isinstance(given, str)
    if not plain and not isinstance(given, list):
        raise wrong("input", "a text or a list of items", given)
    items = given if isinstance(given, list) else [{"type": "message", "role": "user", "content": given}]
    reading = _read_items(items, "input")
    instructions = _read_instructions(body, reading)
    if has_cursor(body):
        _require_outside_results(reading)
    kept = KeptItems(CODEC, reading.entries, body, reading.repairs, instructions, plain)
    request = Body(
        items=items,
        whole=body,
        tools=tools_of(body),
        response_format=_response_format(body),
        max_output_tokens=limit_in(body, "max_output_tokens"),
        model=model_of(body) or None,
    )
    head = () if instructions is None else (instructions,)
    return request.decoded((*head, *reading.messages), kept, reading.uncounted, leading=len(head))


def _read_instructions(body: JsonObject, reading: Conversation) -> Message | None:
    text = _text_in_body(body, "instructions")
    if not text:
        return None
    name = free_id("instructions", reading.entries)
    message = Message(name, "system", (Text(text),), source="system")
    reading.entries = {name: Entry(message, {}), **reading.entries}
    return message


def _require_outside_results(reading: Conversation) -> None:
    """Mark the results whose calls the provider holds: it takes no next request without every one of them."""
    for position, _ in pair_calls(reading.messages).orphans:
        message = replace(reading.messages[position], required=True)
        reading.messages[position] = message
        reading.entries[message.id] = reading.entries[message.id]._replace(message=message)


def _text_in_body(body: JsonObject, key: str) -> str:
    value = body.get(key)
    return "" if value is None else read_text(value, key)


def _response_format(body: JsonObject) -> JsonObject | None:
    if body.get("text") is None:
        return None
    shape = read_object(body["text"], "text").get("format")
    if shape is None:
        return None
    asked = read_object(shape, "text.format")
    return None if asked == {"type": "text"} else asked


def _read_items(items: Sequence[object], place: str) -> Conversation:
    reading = Conversation()
    first_input = input_start(items)
    for position, (message_id, item) in enumerate(zip(message_ids(items), items, strict=True)):
        said: Source = "input" if position >= first_input else "history"
        reading.messages.append(_read_item(item, f"{place}[{position}]", message_id, said, reading))
    return reading


def _read_item(item: object, path: str, message_id: str, said: Source, reading: Conversation) -> Message:
    raw = read_object(item, path)
    kind = kind_of(raw)
    if not isinstance(kind, str):
        raise wrong(f"{path}.type", _EXPECTED_TYPE, raw.get("type", MISSING))
    wire, sentences = mend_item(raw, kind)
    role = read_role(wire, kind, path)
    parts = read_parts(wire, kind, path)
    meta = wire.get("meta")
    message = Message(
        id=message_id,
        role=role,
        parts=parts,
        source=source_of_system(*parts) if role in ("system", "developer") else said,
        meta=meta if isinstance(meta, dict) else EMPTY_META,
    )
    reading.remember(message, wire, sentences)
    if not any(isinstance(part, Unknown) and part.raw is wire for part in message.parts):
        reading.uncounted.update(wire.keys() - keys_of(kind))
    return message
