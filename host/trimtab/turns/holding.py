"""What a process goes on holding of a chat when a turn of it has ended or waits."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.store.protocol import StoredMessage
from trimtab.turns.context import ChatContext
from trimtab.turns.held_chats import HeldChat, HeldChats, weigh
from trimtab.turns.reading import Reader
from trimtab.turns.work import TurnWork


def hold_after(chats: HeldChats, work: TurnWork, *, completed: bool) -> None:
    """Hold the chat with what the turn has stored.

    A completed turn leaves its context, with the edit its last fit made; any other one leaves the context of
    before, with the new messages behind it. Where the turn changed more than the end of the chat, nothing is held.
    """
    if work.chat.history_revision > work.held.revision:
        chats.forget(work.chat.id)
        return
    messages, held = tuple(work.messages), work.held
    if not completed or work.context is None:
        chats.put(work.chat.id, held.with_more(messages, revision=work.revision))
        return
    context = _settled(work.context, messages)
    weight = held.weight + weigh(messages)
    chats.put(work.chat.id, HeldChat(work.revision, (*held.messages, *messages), context, weight))


def _settled(context: ChatContext, messages: Sequence[StoredMessage]) -> ChatContext | None:
    """Give the context of a turn for the turns after it; None when they must read its answers in another way."""
    reader = context.recipe.reader
    known = [one for one in messages if one.message.id in context.stored]
    if not _reads_alike(reader, known):
        return None
    context.extend([one for one in messages if one.message.id not in context.stored])
    context.turns += 1
    context.cover()
    context.held.costs_kept()
    return context


def _reads_alike(reader: Reader, messages: Sequence[StoredMessage]) -> bool:
    """Tell whether the driver sends the answers of a turn again as it did while the turn ran."""
    items = [one.wire.item for one in messages if one.wire is not None]
    if not items:
        return True

    def recalled(*, running: bool) -> list[object]:
        return reader.driver.recall(items, model=reader.model, running=running, settings=reader.settings)

    return recalled(running=True) == recalled(running=False)
