"""The chats a process holds, so that a turn reads and decodes only what is new."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from trimtab.store.protocol import Store, StoredChat, StoredMessage
from trimtab.turns.context import ChatContext, open_context
from trimtab.turns.recipe import Recipe
from trimtab_sdk.messages import Message, texts_of

MOST_CHATS = 256
MOST_BYTES = 256 * 1024 * 1024
_MESSAGE_BYTES = 3000


@dataclass(frozen=True, slots=True)
class HeldChat:
    """A chat at one revision: its active messages, and the context they were last decoded for.

    `weight` is about how many bytes it takes.
    """

    revision: int
    messages: tuple[StoredMessage, ...]
    context: ChatContext | None = None
    weight: int = 0

    def with_more(self, messages: tuple[StoredMessage, ...], *, revision: int) -> HeldChat:
        """Give the chat with messages added at its end; its context knows them too."""
        context = self.context
        if context is not None and messages:
            context = context.fork()
            context.extend(messages)
        return HeldChat(revision, (*self.messages, *messages), context, self.weight + weigh(messages))

    def context_for(self, recipe: Recipe, chat: StoredChat) -> ChatContext:
        """Give a context to work on: a fork of the one that is held, when it is of the same recipe."""
        if self.context is not None and self.context.recipe.key == recipe.key:
            return self.context.fork()
        return open_context(recipe, chat, self.messages)


class HeldChats:
    """Chats by id, bounded in number and bytes; the ones not used for longest leave first."""

    def __init__(self, store: Store, *, most_chats: int = MOST_CHATS, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._most_chats = most_chats
        self._most_bytes = most_bytes
        self._chats: OrderedDict[str, HeldChat] = OrderedDict()
        self._bytes = 0

    async def hold(self, chat: StoredChat) -> HeldChat:
        """Give the messages of a chat as it is stored, read from the store as far as they are not held."""
        held = self._chats.get(chat.id)
        if held is not None and held.revision >= chat.history_revision:
            if held.revision < chat.revision:
                held = await self._with_newer(held, chat)
        else:
            messages = tuple(await self._store.messages(chat.id, owner=chat.owner))
            held = HeldChat(chat.revision, messages, weight=weigh(messages))
        self.put(chat.id, held)
        return held

    async def _with_newer(self, held: HeldChat, chat: StoredChat) -> HeldChat:
        """Give a chat with what others have stored; with such messages comes an edit that is not held here."""
        last = held.messages[-1].seq if held.messages else 0
        newer = tuple(await self._store.messages(chat.id, owner=chat.owner, after=last))
        context = held.context if not newer else None
        return HeldChat(chat.revision, (*held.messages, *newer), context, held.weight + weigh(newer))

    def put(self, chat_id: str, held: HeldChat) -> None:
        """Hold a chat as it is now."""
        self.forget(chat_id)
        self._chats[chat_id] = held
        self._bytes += held.weight
        while len(self._chats) > 1 and (len(self._chats) > self._most_chats or self._bytes > self._most_bytes):
            _, oldest = self._chats.popitem(last=False)
            self._bytes -= oldest.weight

    def forget(self, chat_id: str) -> None:
        """Hold a chat no longer."""
        known = self._chats.pop(chat_id, None)
        if known is not None:
            self._bytes -= known.weight


def weigh(messages: tuple[StoredMessage, ...]) -> int:
    """Estimate the bytes that messages take while they are held."""
    return sum(_MESSAGE_BYTES + _size(one.message) for one in messages)


def _size(message: Message) -> int:
    size = sum(len(text) for _, text in texts_of(message))
    for part in message.parts:
        for name in ("data", "opaque", "arguments", "url"):
            size += len(getattr(part, name, ""))
    return 2 * size
