"""The text a message is stored as.

Most messages are one text and nothing else. Such a one is stored as `1 user history`, a line break and the text.
Any other is a JSON object with `v`, `role`, `source`, `parts`, and the fields that are not what they usually are.
The id of a message is not part of it: it has a column of its own.

What is written can be read back: writing checks every field as reading does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Final, TypeAlias, TypeVar, get_args

from trimtab.store.json_text import dump, is_encodable, load_object
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import (
    EMPTY_META,
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    ContentPart,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    plain_message,
)

VERSION: Final = 1

_Word = TypeVar("_Word", Role, Source)

_ROLES: Final[dict[str, Role]] = {role: role for role in get_args(Role)}
_SOURCES: Final[dict[str, Source]] = {source: source for source in get_args(Source)}
_HEADS: Final[dict[str, tuple[Role, Source]]] = {
    f"{VERSION} {role} {source}": (role, source) for role in _ROLES.values() for source in _SOURCES.values()
}
_KINDS: Final[dict[str, type[Part]]] = {
    "text": Text,
    "image": Image,
    "file": File,
    "audio": Audio,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "approval_request": ApprovalRequest,
    "approval_response": ApprovalResponse,
    "reasoning": Reasoning,
    "compaction": Compaction,
    "notice": Notice,
    "unknown": Unknown,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_CONTENT: Final = frozenset(get_args(ContentPart))
_MESSAGE_KEYS: Final = {
    "v",
    "role",
    "source",
    "parts",
    "name",
    "pinned",
    "required",
    "ephemeral",
    "relevance",
    "meta",
}


class CorruptError(ValueError):
    """A stored text is not what this module writes."""


def dump_message(message: Message) -> str:
    """Give the text to store. Raises InvalidRequestError when a field holds what the sdk does not allow there."""
    plain = _plain_form(message)
    if plain is not None:
        return plain
    try:
        said = _document(message)
    except CorruptError as error:
        raise InvalidRequestError(f"message {message.id!r} cannot be stored: {error}", ids=[message.id]) from error
    return dump(said, what=f"message {message.id!r}")


def load_message(id: str, stored: object) -> Message:
    """Give the message of an id from its stored text. Raises CorruptError."""
    if type(stored) is not str:
        raise CorruptError("it is no text")
    head, _, text = stored.partition("\n")
    told = _HEADS.get(head)
    if told is not None:
        return plain_message(id, told[0], (Text(text),), told[1])
    try:
        said = load_object(stored)
    except ValueError as error:
        raise CorruptError(str(error)) from error
    return _from_document(id, said)


def _plain_form(message: Message) -> str | None:
    parts = message.parts
    if len(parts) != 1 or type(parts[0]) is not Text or not _is_usual(message):
        return None
    text = parts[0].text
    if type(text) is not str or "\0" in text or not is_encodable(text):
        return None
    head = f"{VERSION} {message.role} {message.source}"
    return f"{head}\n{text}" if head in _HEADS else None


def _is_usual(message: Message) -> bool:
    return (
        message.name is None
        and message.pinned is False
        and message.required is False
        and message.ephemeral is False
        and message.relevance is None
        and not message.meta
    )


def _document(message: Message) -> dict[str, object]:
    said: dict[str, object] = {
        "v": VERSION,
        "role": _one_of(_ROLES, message.role),
        "source": _one_of(_SOURCES, message.source),
        "parts": [_part_document(part) for part in message.parts],
    }
    rare: dict[str, object] = {
        "name": None if message.name is None else _text(message.name),
        "pinned": _flag(message.pinned),
        "required": _flag(message.required),
        "ephemeral": _flag(message.ephemeral),
        "relevance": _number(message.relevance),
        "meta": _object(message.meta),
    }
    return said | {
        key: value for key, value in rare.items() if value is not None and value is not False and value != {}
    }


def _from_document(id: str, said: dict[str, object]) -> Message:
    if said.get("v") != VERSION:
        raise CorruptError(f"its form is version {said.get('v')!r}, not {VERSION}")
    if not said.keys() <= _MESSAGE_KEYS:
        raise CorruptError(f"unknown keys {sorted(said.keys() - _MESSAGE_KEYS)}")
    parts = said.get("parts")
    if not isinstance(parts, list):
        raise CorruptError("`parts` is no list")
    name = said.get("name")
    return Message(
        id,
        _one_of(_ROLES, said.get("role")),
        tuple(_part(part) for part in parts),
        name=None if name is None else _text(name),
        source=_one_of(_SOURCES, said.get("source")),
        pinned=_flag(said.get("pinned", False)),
        required=_flag(said.get("required", False)),
        ephemeral=_flag(said.get("ephemeral", False)),
        relevance=_number(said.get("relevance")),
        meta=_object(said["meta"]) if "meta" in said else EMPTY_META,
    )


def _part_document(part: object) -> dict[str, object]:
    name = _NAMES.get(type(part))  # type: ignore[arg-type]
    if name is None:
        raise CorruptError(f"{type(part).__name__} is no kind of part")
    said: dict[str, object] = {"type": name}
    for field, usual, check in _FIELDS[name]:
        value = getattr(part, field)
        if field == "content" and isinstance(value, tuple):
            said[field] = [_part_document(inner) for inner in _only_content(value)]
        elif usual is MISSING or value != usual:
            said[field] = check(value)
    return said


def _part(said: object) -> Part:
    if not isinstance(said, dict):
        raise CorruptError("a part is no object")
    name = said.get("type")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise CorruptError(f"unknown kind of part {name!r}")
    given = {field: check(said[field]) for field, _, check in _FIELDS[str(name)] if field in said}
    if len(given) + 1 != len(said):
        raise CorruptError(f"unknown keys {sorted(said.keys() - given.keys() - {'type'})} in a {name} part")
    try:
        return kind(**given)  # type: ignore[arg-type]
    except TypeError as error:
        raise CorruptError(f"a {name} part is incomplete") from error


def _text(value: object) -> str:
    if type(value) is not str:
        raise CorruptError(f"a text was expected, not {type(value).__name__}")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise CorruptError(f"a whole number was expected, not {type(value).__name__}")
    return value


def _number(value: object) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise CorruptError(f"a number was expected, not {type(value).__name__}")
    return value  # type: ignore[return-value]


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise CorruptError(f"true or false was expected, not {type(value).__name__}")
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
        raise CorruptError("an object was expected")
    return value if isinstance(value, dict) else dict(value)


def _ids(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise CorruptError("a list of ids was expected")
    return tuple(_text(one) for one in value)


def _content(value: object) -> str | tuple[Part, ...]:
    if isinstance(value, list):
        return _only_content(tuple(_part(inner) for inner in value))
    return _text(value)


def _only_content(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    if any(type(part) not in _CONTENT for part in parts):
        raise CorruptError("a tool result holds a part that it cannot hold")
    return parts


def _anything(value: object) -> object:
    return value


def _one_of(known: Mapping[str, _Word], value: object) -> _Word:
    word = known.get(value) if isinstance(value, str) else None
    if word is None:
        raise CorruptError(f"unknown word {value!r}")
    return word


_Check: TypeAlias = Callable[[object], object]
_BY_TYPE: Final[dict[str, _Check]] = {
    "str": _text,
    "int": _whole,
    "bool": _flag,
    "object": _anything,
    "tuple[str, ...]": _ids,
    "str | tuple[ContentPart, ...]": _content,
    "Mapping[str, object]": _object,
}
_FIELDS: Final[dict[str, list[tuple[str, object, _Check]]]] = {
    name: [(one.name, one.default, _BY_TYPE[str(one.type)]) for one in fields(kind)]
    for name, kind in _KINDS.items()
}
