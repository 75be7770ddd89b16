"""What a tool returned, as the content of a tool result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TypeAlias
from uuid import UUID

from trimtab.fitting.cleaning import class_name
from trimtab.turns.tool_words import MOST_CHARS, clean_text
from trimtab_sdk.messages import Audio, ContentPart, File, Image, Text, ToolResult, Unknown

Content: TypeAlias = str | tuple[ContentPart, ...]

_PARTS = (Text, Image, File, Audio, Unknown)
_TOLD_AS_TEXT = (date, time, timedelta, Decimal, UUID)
_NUMBERS = frozenset({"width", "height"})
_BLOCK = 65_536
_RETURNS = (
    "a tool returns a text, a value that JSON can hold, a dataclass or a pydantic model; or Text, Image, File and "
    "Audio parts, one or a list of them"
)


class AnswerError(Exception):
    """What a tool returned cannot be sent. `size` is what it would take in bytes, 0 when it was not measured."""

    def __init__(self, text: str, *, size: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.size = size


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent of a tool's answer, and its bytes in UTF-8."""

    content: Content
    size: int


def answer_of(value: object, *, most_bytes: int) -> Answer:
    """Give what a tool returned as it is sent: a text as it is, parts as parts, every other value as compact JSON.

    Half a surrogate pair becomes U+FFFD. Raises AnswerError for what cannot be sent and for what is too large.
    """
    if isinstance(value, str):
        return _text_answer(str.__str__(value), most_bytes)
    parts = _parts_in(value)
    if parts:
        return _parts_answer(parts, most_bytes)
    return _text_answer(json_text(value), most_bytes)


def json_text(value: object) -> str:
    """Give a value as compact JSON, keys in their own order. Raises AnswerError for what JSON cannot hold."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(f"what it returned cannot be written as JSON ({error}); {_RETURNS}") from error


def utf8_size(text: str) -> int:
    """Give the bytes of a text in UTF-8, without a copy of the whole of it."""
    if text.isascii():
        return len(text)
    blocks = range(0, len(text), _BLOCK)
    return sum(len(text[at : at + _BLOCK].encode("utf-8", "surrogatepass")) for at in blocks)


def _text_answer(text: str, most_bytes: int) -> Answer:
    size = utf8_size(text)
    if size > most_bytes:
        raise _too_large(size, most_bytes, text)
    return Answer(_whole(text), size)


def _parts_answer(parts: Sequence[ContentPart], most_bytes: int) -> Answer:
    size = sum(_part_size(part) for part in parts)
    if size > most_bytes:
        raise _too_large(size, most_bytes, "\n".join(part.text for part in parts if isinstance(part, Text)))
    return Answer(tuple(_whole_part(part) for part in parts), size)


def _too_large(size: int, most: int, text: str) -> AnswerError:
    begins = clean_text(text[:MOST_CHARS])
    more = f" It begins:\n{begins}" if begins else ""
    return AnswerError(f"its answer is {size:,} bytes long; at most {most:,} are taken.{more}", size=size)


def _parts_in(value: object) -> tuple[ContentPart, ...]:
    """Give the parts a value consists of; none when it is no list of parts."""
    if isinstance(value, _PARTS):
        return (value,)
    if not isinstance(value, list | tuple) or not any(isinstance(one, _PARTS) for one in value):
        return ()
    return tuple(_part(one) for one in value)


def _part(value: object) -> ContentPart:
    if isinstance(value, str):
        return Text(str.__str__(value))
    if isinstance(value, _PARTS):
        return value
    raise AnswerError(f"it returned parts and a {class_name(value)} in one list; {_RETURNS}")


def _part_size(part: ContentPart) -> int:
    if isinstance(part, Unknown):
        return utf8_size(json_text(part.raw))
    return sum(utf8_size(text) for text in _strings(part).values())


def _whole_part(part: ContentPart) -> ContentPart:
    if isinstance(part, Unknown):
        return part if json_text(part.raw).isascii() else Unknown(json.loads(_whole(json_text(part.raw))))
    if all(text.isascii() for text in _strings(part).values()):
        return part
    return replace(part, **{name: _whole(text) for name, text in _strings(part).items()})  # type: ignore[arg-type]


def _strings(part: Text | Image | File | Audio) -> dict[str, str]:
    """Give the texts in a part by field, after a look at the types of all its fields."""
    found: dict[str, str] = {}
    for one in fields(part):
        value: object = getattr(part, one.name)
        if one.name in _NUMBERS and type(value) is int:
            continue
        if one.name in _NUMBERS or not isinstance(value, str):
            raise AnswerError(f"it returned a part {class_name(part)} whose {one.name} is a {class_name(value)}")
        found[one.name] = value
    return found


def _whole(text: str) -> str:
    """Give `text` without halves of surrogate pairs: two that meet are joined, one alone becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: object) -> object:
    """Give what JSON knows for one value that it does not know."""
    if isinstance(value, (*_PARTS, ToolResult)):
        raise AnswerError(f"it returned a {class_name(value)} inside another value; {_RETURNS}")
    if isinstance(value, type):
        raise AnswerError(f"it returned a class; {_RETURNS}")
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True)
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return _plain_builtin(value)


def _plain_builtin(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, _TOLD_AS_TEXT):
        return value.isoformat() if isinstance(value, date | time) else str(value)
    raise AnswerError(f"it returned a {class_name(value)}; {_RETURNS}")
