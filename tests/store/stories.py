"""Short ways to tell a story about a store: chats, messages, turns with a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trimtab.store.protocol import (
    Audit,
    Begun,
    NewChat,
    NewMessage,
    NewTurn,
    Store,
    StoredChat,
    TurnFinish,
    TurnStep,
)
from trimtab_sdk import Message, Text

LEASE = 30.0


def said(id: str, text: str | None = None, *, role: str = "user") -> NewMessage:
    """A new message with one text."""
    return NewMessage(message=Message(id, role, (Text(id if text is None else text),)))  # type: ignore[arg-type]


def nobody_is_dead(holder: str) -> bool:
    return False


def everybody_is_dead(holder: str) -> bool:
    return True


def new_chat(id: str = "c", *ids: str, owner: str = "ann") -> NewChat:
    """A chat with a message for each id."""
    return NewChat(id=id, owner=owner, settings={"model": "m"}, messages=tuple(said(one) for one in ids))


def new_turn(chat: StoredChat, id: str = "t", *ids: str, now: float = 100.0) -> NewTurn:
    """A turn on a chat as it was read, with a message of input for each id."""
    return NewTurn(
        id=id,
        chat_id=chat.id,
        owner=chat.owner,
        revision=chat.revision,
        generation_id=f"g-{id}",
        provider="dry-run",
        model="m",
        messages=tuple(said(one) for one in ids),
        input_ids=ids,
        audit=Audit(generation_id=f"g-{id}", body={"of": id}),
        lease_holder=f"holder-{id}",
        lease_until=now + LEASE,
        now=now,
    )


async def begin(
    store: Store,
    chat: StoredChat,
    id: str = "t",
    *ids: str,
    now: float = 100.0,
    is_dead: Callable[[str], bool] = nobody_is_dead,
) -> Begun:
    """Start a turn on a chat."""
    return await store.begin_turn(new_turn(chat, id, *ids, now=now), is_dead=is_dead)


def step(begun: Begun, *ids: str, now: float = 101.0, **more: object) -> TurnStep:
    """A step with an assistant's message for each id."""
    made = TurnStep(
        turn_id=begun.turn.id,
        fence=begun.turn.fence,
        now=now,
        messages=tuple(said(one, role="assistant") for one in ids),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def end(begun: Begun, *ids: str, now: float = 102.0, **more: object) -> TurnFinish:
    """The completed end of a turn with an assistant's message for each id."""
    made = TurnFinish(
        turn_id=begun.turn.id,
        fence=begun.turn.fence,
        now=now,
        state="completed",
        messages=tuple(said(one, role="assistant") for one in ids),
    )
    return replace(made, **more)  # type: ignore[arg-type]


async def ids(store: Store, chat_id: str = "c", *, owner: str = "ann", after: int = 0) -> list[str]:
    """The ids of the active branch."""
    return [one.message.id for one in await store.messages(chat_id, owner=owner, after=after)]
