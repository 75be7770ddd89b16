"""From a body to what the model sees: the chain behind a cursor, the input, less what does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.responses_items import Item, Piece, items_of, next_prefix, piece_of, type_of, unfolded
from fakes.responses_pairing import check_calls, check_identity, check_reasoning, repeats
from fakes.responses_refusals import BAD, RefusedError
from fakes.responses_seals import SealError, Seals
from fakes.responses_store import ResponseStore

_LONGEST_ID = 64


@dataclass(slots=True)
class Switches:
    """How a server answers where real ones differ; may be changed at any time.

    - `cursor_errors`: the body of a cursor that is gone; `terse` has no code of its own.
    - `cursor_status`: its status.
    - `context_errors`: a context that is too long is refused by status, or in a stream by `response.failed` or
      by an `error` event.
    - `encrypts`: False gives encrypted reasoning only to those who ask for it by `include`.
    - `may_repeat`: users may say the same thing again without a fault.
    - `final_output`: False leaves the items out of the last event, as a server that only tells them one by one.
    """

    cursor_errors: Literal["usual", "terse"] = "usual"
    cursor_status: int = 400
    context_errors: Literal["status", "failed", "error"] = "status"
    encrypts: bool = True
    may_repeat: bool = False
    final_output: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Chain and input of a request, what is left of them for the model, and what was noticed.

    `prefix` is the name of `items` for reasoning that comes next.
    """

    chain: Sequence[Piece]
    inputs: Sequence[Piece]
    items: Sequence[Item]
    dropped: Sequence[Json]
    prefix: str
    faults: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the model sees for one request, and what that costs in tokens."""

    model: str
    instructions: Json
    tools: Json
    items: Sequence[Item]
    dropped: Sequence[Json]
    tokens: int
    cached: int

    @property
    def text(self) -> str:
        """All of it as one JSON text, to search in."""
        return json.dumps([self.instructions, self.tools, self.items], ensure_ascii=False)


class ContextReader:
    """Makes contexts out of bodies, with what the server keeps."""

    def __init__(self, store: ResponseStore, seals: Seals, switches: Switches) -> None:
        self._store = store
        self._seals = seals
        self._switches = switches

    def context(self, body: Json) -> Context:
        """Read a body whose types are right. Raises RefusedError; a conversation is never found here."""
        if body.get("conversation") is not None:
            wrong = Wrong(f"Conversation with id '{body['conversation']}' not found.", "conversation")
            raise RefusedError(wrong, status=404)
        chain = self._chain(body.get("previous_response_id"))
        inputs = [self._piece(item) for item in items_of(body)]
        check_identity(chain, inputs)
        pieces = since_compaction([*chain, *inputs])
        check_calls(unfolded(piece.seen for piece in pieces))
        fresh = since_compaction(inputs)
        check_reasoning(chain, fresh, self._store)
        items, dropped, prefix = _seen(pieces, body)
        faults = list(repeats(chain, inputs, may_repeat=self._switches.may_repeat))
        return Context(chain=chain, inputs=inputs, items=items, dropped=dropped, prefix=prefix, faults=faults)

    def _chain(self, cursor: str | None) -> Sequence[Piece]:
        if cursor is None:
            return ()
        if not cursor.startswith("resp_") or len(cursor) > _LONGEST_ID:
            raise RefusedError(_malformed(cursor))
        kept = self._store.find(cursor)
        if kept is None:
            raise self._no_cursor(cursor)
        return kept.chain

    def _no_cursor(self, cursor: str) -> RefusedError:
        is_fault = cursor in self._store.unkept
        if self._switches.cursor_errors == "terse":
            wrong = Wrong("Invalid `previous_response_id`.", None, BAD)
        else:
            message = f"Previous response with id '{cursor}' not found."
            wrong = Wrong(message, "previous_response_id", "previous_response_not_found")
        return RefusedError(wrong, status=self._switches.cursor_status, is_fault=is_fault)

    def _piece(self, item: Item) -> Piece:
        is_bare = type_of(item) == "reasoning" and not item.get("encrypted_content") and not item.get("content")
        if is_bare or type_of(item) == "item_reference":
            return self._kept_piece(item["id"])
        try:
            return piece_of(item, self._seals)
        except SealError as error:
            raise _unreadable(item, is_fault=not error.is_stale) from error

    def _kept_piece(self, item_id: str) -> Piece:
        piece = self._store.item(item_id)
        if piece is None:
            wrong = Wrong(
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try "
                "again with `store` set to true, or remove this item from your input.",
                "input",
            )
            raise RefusedError(wrong, status=404, is_fault=not self._store.had_item(item_id))
        return piece


def since_compaction(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Leave out what the newest compaction covers."""
    starts = [at for at, piece in enumerate(pieces) if piece.kind == "compaction"]
    return pieces[starts[-1] :] if starts else pieces


def _seen(pieces: Iterable[Piece], body: Json) -> tuple[list[Item], list[Json], str]:
    last_user = _last_user(list(pieces)) if (body.get("reasoning") or {}).get("context") == "current_turn" else -1
    items: list[Item] = []
    dropped: list[Json] = []
    prefix = ""
    for at, piece in enumerate(pieces):
        reason = _misfit(piece, prefix, str(body.get("model"))) or ("turn_boundary" if at < last_user else None)
        if piece.kind == "reasoning" and reason is not None:
            dropped.append({"id": piece.sent["id"], "type": "reasoning", "action": "removed", "reason": reason})
            continue
        items.append(piece.seen)
        prefix = next_prefix(prefix, piece.seen)
    return items, dropped, prefix


def _misfit(piece: Piece, prefix: str, model: str) -> str | None:
    if piece.prefix is None:
        return None
    if piece.model != model:
        return "model_mismatch"
    return "prefix_mismatch" if piece.prefix != prefix else None


def _last_user(pieces: Sequence[Piece]) -> int:
    return max((at for at, piece in enumerate(pieces) if piece.sent.get("role") == "user"), default=-1)


def _malformed(cursor: str) -> Wrong:
    if len(cursor) > _LONGEST_ID:
        reason = f"string too long. Expected a string with maximum length {_LONGEST_ID}."
        return Wrong(
            f"Invalid 'previous_response_id': {reason}", "previous_response_id", "string_above_max_length"
        )
    reason = f"'{cursor}'. Expected an ID that begins with 'resp'."
    return Wrong(f"Invalid 'previous_response_id': {reason}", "previous_response_id", "invalid_value")


def _unreadable(item: Item, *, is_fault: bool) -> RefusedError:
    message = (
        f"The encrypted content for item {item.get('id')} could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed."
    )
    return RefusedError(Wrong(message, None, "invalid_encrypted_content"), is_fault=is_fault)
