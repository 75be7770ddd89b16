"""Writing of classic Gemini contents: from scratch, as a changed copy of what was read, and packed into turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from trimtab_plugins.codecs.gemini_contents_parts import patch_part, write_call, write_part, write_response
from trimtab_plugins.codecs.gemini_originals import Remembered, is_plain, is_unchanged
from trimtab_plugins.codecs.gemini_runs import SYSTEM_ROLES, answers, call_names
from trimtab_plugins.codecs.gemini_system import place_system_text
from trimtab_plugins.codecs.gemini_values import field_key
from trimtab_plugins.codecs.message_kinds import has_call, has_result
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject, shown
from trimtab_sdk import (
    ContentPart,
    InvalidRequestError,
    Message,
    Part,
    Place,
    Reasoning,
    ToolCall,
    ToolResult,
)

Kind: TypeAlias = Literal["model", "user", "results", "mixed"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A content, or a part of one: what `ids` said. It is `wire` itself as long as nothing joins it."""

    kind: Kind
    wire: JsonObject
    ids: tuple[str, ...]
    calls: bool = False
    known: bool = False


def write_contents(messages: Sequence[Message], read: Remembered) -> list[JsonObject]:
    """Write messages in order, packed as the wire wants its turns; the system text of the head is left out."""
    return [piece.wire for piece in packed(list(pieces_of(messages, read)))]


def pieces_of(messages: Sequence[Message], read: Remembered) -> Iterator[Piece]:
    """Give what each message becomes, before packing."""
    blocks = place_system_text(messages).blocks
    names = call_names(messages) if any(message.id not in read.entries for message in messages) else {}
    for position, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            continue
        entry = read.entries.get(message.id)
        if entry is not None:
            piece = _known_piece(entry, message)
            yield _with_blocks(piece, blocks[position]) if position in blocks else piece
        else:
            yield from _new_pieces(position, message, names, read, blocks.get(position, ()))


def _known_piece(entry: Entry, message: Message) -> Piece:
    wire = entry.wire if is_unchanged(entry, message) else _patched(entry, message)
    if is_plain(message):
        return Piece("user" if message.role == "user" else "model", wire, (message.id,), known=True)
    calls = has_call(message)
    return Piece(_kind_of(message), wire, (message.id,), calls, known=True)


def _kind_of(message: Message) -> Kind:
    if message.role == "assistant":
        return "model"
    if not answers(message):
        return "user"
    return "results" if all(isinstance(part, ToolResult) for part in message.parts) else "mixed"


def _patched(entry: Entry, message: Message) -> JsonObject:
    old, raw = entry.message.parts, entry.wire.get("parts")
    if not isinstance(raw, list) or len(old) != len(message.parts):
        raise InvalidRequestError(
            f"message {shown(message.id)} has other parts than the content it was read from", ids=(message.id,)
        )
    patched = [patch_part(item, was, now) for item, was, now in zip(raw, old, message.parts, strict=True)]
    return {**entry.wire, "parts": patched}


def _new_pieces(
    position: int, message: Message, names: Mapping[Place, str], read: Remembered, blocks: Sequence[str]
) -> Iterator[Piece]:
    if message.role == "assistant":
        parts = list(_model_parts(message, read))
        if parts:
            calls = has_call(message)
            yield Piece("model", {"role": "model", "parts": parts}, (message.id,), calls)
        return
    _refuse_calls(message)
    results = [
        write_response(part, names.get((position, index), "tool"), has_id=part.call_id not in read.made_ids)
        for index, part in enumerate(message.parts)
        if isinstance(part, ToolResult)
    ]
    if results:
        yield Piece("results", {"role": "user", "parts": results}, (message.id,))
    said = [*({"text": text} for text in blocks), *_content_parts(message.parts)]
    if said:
        yield Piece("user", {"role": "user", "parts": said}, (message.id,))


def _refuse_calls(message: Message) -> None:
    if has_call(message):
        raise InvalidRequestError(
            f"message {shown(message.id)} cannot be written for Gemini: only an assistant message calls functions",
            ids=(message.id,),
        )


def _model_parts(message: Message, read: Remembered) -> Iterator[JsonObject]:
    """Thoughts are not written, for they are another provider's; a signature among them goes to the next call."""
    signature = ""
    for part in message.parts:
        if isinstance(part, Reasoning):
            signature = part.opaque
        elif isinstance(part, ToolCall):
            yield write_call(part, has_id=part.call_id not in read.made_ids, signature=signature)
            signature = ""
        else:
            yield from _content_parts((part,))


def _content_parts(parts: Sequence[Part]) -> list[JsonObject]:
    written = (write_part(part) for part in parts if isinstance(part, ContentPart))
    return [part for part in written if part is not None]


def pieces_count(message: Message) -> int:
    """Give how many contents a message becomes before packing; results beside words count as a second one."""
    if message.role == "tool" or message.role == "user":
        results = has_result(message)
        return results + any(isinstance(part, ContentPart) for part in message.parts)
    return int(any(isinstance(part, ContentPart | ToolCall | Reasoning) for part in message.parts))


def _with_blocks(piece: Piece, texts: Sequence[str]) -> Piece:
    """Put texts at the front of what the user says; results stay in front of them."""
    parts = _parts_in(piece.wire)
    first = next((at for at, part in enumerate(parts) if not _is_response(part)), len(parts))
    blocks = [{"text": text} for text in texts]
    return replace(piece, wire={**piece.wire, "parts": [*parts[:first], *blocks, *parts[first:]]})


def _is_response(part: object) -> bool:
    return isinstance(part, dict) and field_key(part, "functionResponse") is not None


def packed(pieces: Sequence[Piece]) -> list[Piece]:
    """Join pieces that the wire wants as one content.

    User contents in a row, results in a row, and a row of model contents whose later ones call functions.
    """
    out: list[Piece] = []
    behind = _behind_in_calling_rows(pieces)
    for at, piece in enumerate(pieces):
        if out and (at in behind or _joins(out[-1], piece)):
            out[-1] = _joined(out[-1], piece)
        else:
            out.append(piece)
    return out


def _behind_in_calling_rows(pieces: Sequence[Piece]) -> frozenset[int]:
    """All but the first of each row of model pieces in which another than the first calls functions."""
    behind: set[int] = set()
    row: list[int] = []
    for at, piece in enumerate([*pieces, None]):
        if piece is not None and piece.kind == "model":
            row.append(at)
            continue
        if any(pieces[place].calls for place in row[1:]):
            behind.update(row[1:])
        row = []
    return frozenset(behind)


def _joins(last: Piece, piece: Piece) -> bool:
    if "model" in (last.kind, piece.kind):
        return False
    if last.kind == "user":
        return piece.kind != "results"
    return last.kind == "mixed" or piece.kind != "user"


def _joined(last: Piece, piece: Piece) -> Piece:
    parts = [*_parts_in(last.wire), *_parts_in(piece.wire)]
    kind: Kind = last.kind if last.kind == piece.kind else "mixed"
    return Piece(
        kind,
        {**last.wire, "parts": parts},
        (*last.ids, *piece.ids),
        last.calls or piece.calls,
        last.known and piece.known,
    )


def _parts_in(wire: JsonObject) -> list[object]:
    parts = wire.get("parts")
    return parts if isinstance(parts, list) else []
