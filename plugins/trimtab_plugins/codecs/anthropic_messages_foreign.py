"""Parts that came from another format, and what becomes of them on the Anthropic wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from trimtab_plugins.codecs.anthropic_messages_input import read_input
from trimtab_plugins.codecs.anthropic_messages_kept import is_aside_text, is_system, is_written
from trimtab_plugins.codecs.anthropic_messages_work import Work
from trimtab_plugins.codecs.anthropic_messages_writing import carried
from trimtab_plugins.codecs.message_kinds import is_blank_text
from trimtab_plugins.codecs.reading import json_text, shown
from trimtab_sdk import (
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

_BLOCKS_FOR_ALL = frozenset({"search_result", "document"})
_BLOCKS_OF_USER = _BLOCKS_FOR_ALL | {"container_upload"}
_SERVER_TOOLS = frozenset({"server_tool_use", "mcp_tool_use"})

_AnyPart = TypeVar("_AnyPart", bound=Part)


def settle_foreign(work: Work) -> None:
    """Take out what this wire has no place for in messages that it did not read, and name it."""
    named: list[str] = []
    for at, message in enumerate(work.messages):
        if message.id in work.kept.entries:
            _settle_own(work, at, message)
            continue
        if message.name is not None:
            named.append(message.id)
            work.messages[at] = message = replace(message, name=None)
        if any(not isinstance(part, Text) for part in message.parts):
            _settle_one(work, at, message)
    if named:
        work.note("took out the names, for the wire has no place for them", *named)


def _settle_own(work: Work, at: int, message: Message) -> None:
    """Thinking that was cut off before its signature is refused."""
    if not any(isinstance(part, Reasoning) and not part.opaque for part in message.parts):
        return
    work.set_parts(at, [part for part in message.parts if not isinstance(part, Reasoning) or part.opaque])
    work.note("took out thinking that has no signature", message.id)


def _settle_one(work: Work, at: int, message: Message) -> None:
    taken: dict[str, None] = {}
    parts = [_with_input(work, message, part) for part in _carried_parts(message.parts, message, work, taken)]
    if len(parts) == len(message.parts) and all(
        one is other for one, other in zip(parts, message.parts, strict=True)
    ):
        return
    work.set_parts(at, parts)
    if not taken:
        return
    what = ", ".join(taken)
    if taken.keys() != {_REASONING} and _is_bare(parts):
        work.settle(
            message,
            "wire-rule",
            f"the wire has no place for what it holds ({what}); say it in words, or unpin or exclude the message",
        )
    else:
        work.note(f"took out what the wire has no place for: {what}", message.id)


def _is_bare(parts: Iterable[Part]) -> bool:
    return not any(is_written(part) and not is_blank_text(part) for part in parts)


def _carried_parts(
    parts: Iterable[_AnyPart], message: Message, work: Work, taken: dict[str, None]
) -> list[_AnyPart]:
    carried_ones: list[_AnyPart] = []
    for part in parts:
        why = _why_not(part, message, work)
        if why is None:
            carried_ones.append(part)
        else:
            taken[why] = None
    return carried_ones


_REASONING = "reasoning of another provider"


def _why_not(part: Part, message: Message, work: Work) -> str | None:
    """The name of a part that has no place where it stands, None for one that has."""
    if isinstance(part, Reasoning):
        return _REASONING
    if isinstance(part, Compaction):
        return None if is_written(part) else "a compaction of another provider"
    if isinstance(part, Unknown):
        return None if _is_own_kind(part.raw, message) else "a part of a kind it does not know"
    if isinstance(part, Image | File | Audio):
        only_text = message.role == "assistant" or (is_system(message) and not is_aside_text(message, work.kept))
        if only_text or carried(part) is None:
            return _KINDS[type(part)]
    return None


_KINDS: dict[type[Part], str] = {Image: "a picture", File: "a file", Audio: "a sound"}


def _is_own_kind(raw: object, message: Message) -> bool:
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(kind, str):
        return False
    if message.role == "assistant":
        return kind in _SERVER_TOOLS or kind.endswith("_tool_result")
    return kind in (_BLOCKS_OF_USER if message.role == "user" else _BLOCKS_FOR_ALL)


def _with_input(work: Work, message: Message, part: Part) -> Part:
    """Give a part as it is, but a call with an object as its arguments and a result without what has no place."""
    if isinstance(part, ToolCall) and read_input(part.arguments) is None:
        work.note(f"wrote the arguments of call {shown(part.call_id)} as an object", message.id)
        return replace(part, arguments=json_text({"arguments": part.arguments}))
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        return _with_content(work, message, part, part.content)
    return part


def _with_content(work: Work, message: Message, result: ToolResult, content: tuple[_AnyPart, ...]) -> ToolResult:
    taken: dict[str, None] = {}
    rest = _carried_parts(content, message, work, taken)
    if not taken:
        return result
    work.note(
        f"took out of the result of {shown(result.call_id)} what the wire has no place for: {', '.join(taken)}",
        message.id,
    )
    return replace(result, content=tuple(rest))  # type: ignore[arg-type]
