"""What has to stand together: calls and outputs, reasoning and what follows it; and what may not come twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fakes.chat_judge import Wrong
from fakes.responses_items import CALLS, Item, Piece, is_answer
from fakes.responses_refusals import RefusedError
from fakes.responses_store import ResponseStore

_OUTPUTS = frozenset(CALLS.values())


def check_calls(items: Sequence[Item]) -> None:
    """See that each call has one output behind it; items as a model sees them. Raises RefusedError."""
    open_calls: list[str] = []
    for item in items:
        call_id = str(item.get("call_id"))
        if item["type"] in CALLS:
            open_calls.append(call_id)
        elif item["type"] in _OUTPUTS:
            if call_id not in open_calls:
                raise _refused(f"No tool call found for function call output with call_id {call_id}.")
            open_calls.remove(call_id)
    if open_calls:
        raise _refused(f"No tool output found for function call {open_calls[0]}.")


def check_reasoning(chain: Sequence[Piece], inputs: Sequence[Piece], store: ResponseStore) -> None:
    """See that reasoning and what came from it are sent together. Raises RefusedError."""
    for piece, following in zip(inputs, _followers(inputs), strict=True):
        if piece.kind == "reasoning" and (following is None or not is_answer(following.sent)):
            raise _refused(
                f"Item '{piece.sent['id']}' of type 'reasoning' was provided without its required following item."
            )
    present = {piece.sent.get("id") for piece in [*chain, *inputs]}
    for piece in inputs:
        thought = store.thought_before(piece.sent.get("id") or "")
        if thought is not None and thought not in present:
            raise _refused(
                f"Item '{piece.sent['id']}' of type '{piece.kind}' was provided without its required 'reasoning' "
                f"item: '{thought}'."
            )


def check_identity(chain: Sequence[Piece], inputs: Sequence[Piece]) -> None:
    """See that no id and no call comes a second time. Raises RefusedError."""
    ids = {piece.sent["id"] for piece in chain if piece.sent.get("id")}
    calls = {(piece.kind, piece.sent["call_id"]) for piece in chain if piece.sent.get("call_id")}
    for piece in inputs:
        if piece.sent.get("id") in ids:
            raise _refused(
                f"Duplicate item found with id {piece.sent['id']}. Remove duplicate items from your input and try "
                "again. (sent twice)"
            )
        if (key := (piece.kind, piece.sent.get("call_id"))) in calls:
            raise _refused(f"Duplicate {key[0]} found with call_id {key[1]}. (sent twice)")
        if key[1]:
            calls.add(key)


def repeats(chain: Sequence[Piece], inputs: Sequence[Piece], *, may_repeat: bool) -> Iterator[str]:
    """Tell of messages that the chain holds already. The API takes them; a client should not send them."""
    held = [_said(piece) for piece in chain if piece.kind == "message"]
    for piece in inputs:
        is_allowed = may_repeat and piece.sent.get("role") == "user"
        if piece.kind == "message" and not is_allowed and _said(piece) in held:
            yield f"sent twice: the chain holds {_said(piece)!r} already"


def _said(piece: Piece) -> Item:
    return {"role": piece.seen["role"], "content": piece.seen["content"]}


def _followers(pieces: Sequence[Piece]) -> list[Piece | None]:
    """Give for each piece the next one that is no reasoning."""
    followers: list[Piece | None] = []
    following = None
    for piece in reversed(pieces):
        followers.append(following)
        following = following if piece.kind == "reasoning" else piece
    return followers[::-1]


def _refused(message: str) -> RefusedError:
    return RefusedError(Wrong(message, "input"))
