"""The messages that a turn makes: of an answer's items, of tool results, and to close what was left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trimtab.store.protocol import NewMessage, StoredMessage, Wire
from trimtab.turns.inputs import new_id
from trimtab.turns.reading import Reader
from trimtab_sdk.codec import Codec
from trimtab_sdk.groups import pair_calls
from trimtab_sdk.messages import Audio, File, Image, Message, Text, ToolCall, ToolResult
from trimtab_sdk.provider import Answer

_SAYING = ToolCall | Image | File | Audio

INTERRUPTED = (
    "This call was interrupted before its result was known. It may have taken effect. "
    "Check before you call it again."
)


def messages_of_answer(answer: Answer, reader: Reader) -> tuple[NewMessage, ...]:
    """Give the messages of an answer, to be stored; what the provider told of it stands with the last one.

    An answer that was cut off, or says nothing and calls nothing, is incomplete. Raises InvalidRequestError when
    the codec cannot read what its own provider's driver gave.
    """
    codec = reader.codec
    items = list(answer.items)
    decoded = codec.splice(codec.decode([]), 0, 0, items, ids=[new_id() for _ in items])
    told = decoded.messages
    answer_id = f"{new_id()}/{len(items)}"
    one_to_one = len(told) == len(items)
    state = dict(answer.state) or None
    cut_off = answer.finish in ("length", "content-filter", "refusal") or not _says_anything(told)
    return tuple(
        NewMessage(
            message=replace(message, source="history"),
            wire=Wire(reader.provider, codec.name, items[at], answer_id) if one_to_one else None,
            provider_state=state if at == len(told) - 1 else None,
            status="incomplete" if cut_off else "complete",
        )
        for at, message in enumerate(told)
    )


def without_plain_wire(new: Sequence[NewMessage], codec: Codec) -> tuple[NewMessage, ...]:
    """Give an answer without its wire form, when it is one text that the codec would write just so by itself."""
    only = new[0] if len(new) == 1 else None
    if only is None or only.wire is None or any(type(part) is not Text for part in only.message.parts):
        return tuple(new)
    written = codec.encode([only.message]).messages
    return (replace(only, wire=None),) if written == [only.wire.item] else tuple(new)


def calls_of(messages: Sequence[NewMessage]) -> tuple[ToolCall, ...]:
    """Give the tool calls of an answer, in order."""
    return tuple(part for new in messages for part in new.message.parts if isinstance(part, ToolCall))


def result_message(result: ToolResult, *, full: str | None = None) -> NewMessage:
    """Give the message that holds the result of a tool."""
    return NewMessage(message=Message(new_id(), "tool", (result,)), full=full)


def partial_answer(text: str) -> tuple[NewMessage, ...]:
    """Give what had come of an answer when its turn was cancelled; nothing when nothing had come."""
    if not text.strip():
        return ()
    return (NewMessage(message=Message(new_id(), "assistant", (Text(text),)), status="incomplete"),)


def closing_results(stored: Sequence[StoredMessage]) -> tuple[NewMessage, ...]:
    """Give a result for each call at the end of a chat whose turn ended before its tools did.

    Without them the calls would have to be left out, and the model would not know that it made them.
    """
    tail = [one.message for one in _last_step(stored) if one.turn_id is not None]
    return tuple(
        result_message(ToolResult(part.call_id, INTERRUPTED, is_error=True))
        for at, index in pair_calls(tail).open_calls
        if isinstance(part := tail[at].parts[index], ToolCall)
    )


def _last_step(stored: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    start = len(stored)
    while start and stored[start - 1].message.role == "tool":
        start -= 1
    while start and _has_calls(stored[start - 1].message):
        start -= 1
    return stored[start:]


def as_stored(
    new: Sequence[NewMessage],
    *,
    seqs: Sequence[int] | None = None,
    turn_id: str,
    revision: int = 0,
    now: float = 0.0,
) -> tuple[StoredMessage, ...]:
    """Give new messages as the store has them, or will have them."""
    return tuple(_stored(new, seqs, turn_id, revision, now))


def _stored(
    new: Sequence[NewMessage], seqs: Sequence[int] | None, turn_id: str, revision: int, now: float
) -> Iterator[StoredMessage]:
    for at, one in enumerate(new):
        yield StoredMessage(
            message=one.message,
            seq=seqs[at] if seqs is not None else 0,
            changed=revision,
            turn_id=turn_id,
            status=one.status,
            wire=one.wire,
            provider_state=one.provider_state,
            has_full=one.full is not None,
            counted=one.counted,
            created_at=now,
        )


def _says_anything(messages: Sequence[Message]) -> bool:
    parts = [part for message in messages for part in message.parts]
    return any(bool(part.text.strip()) if isinstance(part, Text) else isinstance(part, _SAYING) for part in parts)


def _has_calls(message: Message) -> bool:
    return any(isinstance(part, ToolCall) for part in message.parts)
