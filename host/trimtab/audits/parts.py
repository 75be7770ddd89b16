"""The parts of a message as JSON objects, for the texts that an audit copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import cast

from trimtab_sdk.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

_KINDS: Mapping[str, type[Part]] = {
    "text": Text,
    "image": Image,
    "file": File,
    "audio": Audio,
    "toolCall": ToolCall,
    "toolResult": ToolResult,
    "approvalRequest": ApprovalRequest,
    "approvalResponse": ApprovalResponse,
    "reasoning": Reasoning,
    "compaction": Compaction,
    "notice": Notice,
    "unknown": Unknown,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_CONTENT = frozenset({"text", "image", "file", "audio", "unknown"})
_PLAIN: Mapping[str, type] = {"str": str, "int": int, "bool": bool}


def part_to_dict(part: Part) -> dict[str, object]:
    """Give a part as JSON values with its `kind` and camelCase keys; what is as by default is left out."""
    said: dict[str, object] = {"kind": _NAMES[type(part)]}
    for one in fields(part):
        value: object = getattr(part, one.name)
        if one.default is MISSING or value != one.default:
            said[_key(one.name)] = _plain(value)
    return said


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [one if isinstance(one, str) else part_to_dict(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value


def part_from(value: object) -> Part:
    """Read a part. Raises ValueError for anything that `part_to_dict` does not give."""
    if not isinstance(value, dict):
        raise ValueError("a part is no object")
    kind = _KINDS.get(str(value.get("kind")))
    if kind is None:
        raise ValueError("a part of no known kind")
    known = {_key(one.name): one for one in fields(kind)}
    given: dict[str, object] = {}
    for key, said in value.items():
        if key == "kind":
            continue
        if key not in known:
            raise ValueError("a part with an unknown key")
        given[known[key].name] = _read(str(known[key].type), known[key].name, said)
    try:
        return kind(**given)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError("a part without a key it must have") from error


def _read(annotation: str, name: str, value: object) -> object:
    plain = _PLAIN.get(annotation)
    if plain is not None and type(value) is plain:
        return value
    if name == "content":
        return value if isinstance(value, str) else tuple(_content(one) for one in _list(value))
    if name == "covers" and all(isinstance(one, str) for one in _list(value)):
        return tuple(_list(value))
    if name == "raw" or (name == "data" and isinstance(value, dict)):
        return value
    raise ValueError(f"{name} of a part has the wrong type")


def _content(value: object) -> Part:
    part = part_from(value)
    if _NAMES[type(part)] not in _CONTENT:
        raise ValueError("a tool result with a part it cannot hold")
    return part


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return cast("list[object]", value)


def _key(name: str) -> str:
    if name == "kind":
        return "noticeKind"
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
