"""From a call's frame to the `Request` a plugin is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from trimtab_sdk.groups import Group
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
from trimtab_sdk.request import Request

Row = list[object]


def read_request(frame: Mapping[str, object], *, cost_of_insert: Callable[[str], int]) -> Request:
    """Give the request of a call. The frame is the host's own: its shape is not checked."""
    ids = cast("list[str]", frame["ids"])
    tokens = cast("list[int]", frame["tokens"])
    return Request(
        messages=_messages(ids, cast("list[Row]", frame["messages"])),
        groups=_groups(ids, tokens, cast("list[Row]", frame["groups"])),
        tokens=dict(zip(ids, tokens, strict=True)),
        protected=frozenset(ids[at] for at in cast("list[int]", frame["protected"])),
        budget=cast("int", frame["budget"]),
        total=cast("int", frame["total"]),
        overhead=cast("int", frame["overhead"]),
        target=cast("int", frame["target"]),
        cost_of_insert=cost_of_insert,
        query=cast("str", frame["query"]),
        settings=cast("dict[str, object]", frame["settings"]),
    )


def _messages(ids: Sequence[str], rows: Sequence[Row]) -> tuple[Message, ...]:
    return tuple([_message(name, row) for name, row in zip(ids, rows, strict=True)])


def _message(name: str, row: Row) -> Message:
    role = cast("Role", row[0])
    source = cast("Source", row[1])
    content = row[2]
    parts: tuple[Part, ...]
    parts = (Text(content),) if type(content) is str else tuple(_part(one) for one in cast("list[Row]", content))
    if len(row) == 3:
        return plain_message(name, role, parts, source)
    rest = cast("dict[str, object]", row[3])
    return Message(
        name,
        role,
        parts,
        name=cast("str | None", rest.get("name")),
        source=source,
        pinned=bool(rest.get("pinned")),
        required=bool(rest.get("required")),
        ephemeral=bool(rest.get("ephemeral")),
        relevance=cast("float | None", rest.get("relevance")),
        meta=cast("dict[str, object]", rest.get("meta", EMPTY_META)),
    )


def _part(row: Row) -> Part:
    kind, *rest = row
    if kind == "result":
        call_id, content, is_error = rest
        inner = content if type(content) is str else tuple(_content(one) for one in cast("list[Row]", content))
        return ToolResult(cast("str", call_id), inner, bool(is_error))
    make = _MAKERS.get(cast("str", kind))
    return _content(row) if make is None else make(*cast("list[str]", rest))


def _content(row: Row) -> ContentPart:
    kind, *rest = row
    return _CONTENT[cast("str", kind)](*cast("list[str]", rest))


_CONTENT: dict[str, Callable[..., ContentPart]] = {
    "text": Text,
    "image": lambda media_type, width, height: Image(media_type=media_type, width=width, height=height),
    "file": lambda media_type: File(media_type=media_type),
    "audio": lambda name: Audio(format=name),
    "unknown": lambda: Unknown(None),
}
_MAKERS: dict[str, Callable[..., Part]] = {
    "call": ToolCall,
    "asked": ApprovalRequest,
    "approved": ApprovalResponse,
    "reasoning": lambda text, tokens: Reasoning(text=text, tokens=tokens),
    "compaction": lambda provider, covers: Compaction(provider, "", tuple(covers)),
    "notice": Notice,
}


def _groups(ids: Sequence[str], tokens: Sequence[int], rows: Sequence[Row]) -> tuple[Group, ...]:
    """Give all groups; only those of several messages, orphans and open calls stand in the frame."""
    listed = {cast("list[int]", row[0])[0]: row for row in rows}
    inside = {at for row in rows for at in cast("list[int]", row[0])}
    return tuple(_walk(ids, tokens, listed, inside))


def _walk(
    ids: Sequence[str], tokens: Sequence[int], listed: Mapping[int, Row], inside: set[int]
) -> Iterator[Group]:
    for at, name in enumerate(ids):
        if at not in inside:
            yield Group((name,), (at,), tokens[at])
        elif at in listed:
            places, orphan, calls = listed[at]
            positions = tuple(cast("list[int]", places))
            yield Group(
                tuple([ids[one] for one in positions]),
                positions,
                sum([tokens[one] for one in positions]),
                bool(orphan),
                tuple(cast("list[str]", calls)),
            )
