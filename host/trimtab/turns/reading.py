"""From stored messages to what a codec writes: the messages of a chat, decoded for one provider.

What the provider itself wrote is read from its own items again, so that it goes back exactly as it came. All
else is written anew by the codec: what users said, what tools answered, and answers of other providers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from trimtab.continuation.prompt import is_remark
from trimtab.store.protocol import StoredMessage, Wire
from trimtab_sdk.codec import Codec, Decoded
from trimtab_sdk.messages import Message, Text
from trimtab_sdk.provider import Provider

_TALKING = frozenset({"user", "assistant"})
_SPEAKING = _TALKING | {"system", "developer"}


@dataclass(frozen=True, slots=True)
class ReadChat:
    """A chat as it was read: `messages` are all of it, `native` those that the codec read, in the same order."""

    native: Decoded
    messages: tuple[Message, ...]

    @property
    def decoded(self) -> Decoded:
        """All messages, with what the codec remembers of those it read."""
        return replace(self.native, messages=self.messages)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads stored messages for one provider: whose name `provider` is, who speaks `codec`.

    Messages up to `stale_until` are read as if somebody else had written them: the provider refuses what it wrote
    there itself, since it cannot read the reasoning in it any more.
    """

    provider: str
    driver: Provider
    codec: Codec
    model: str
    settings: Mapping[str, object] = field(default_factory=dict)
    stale_until: str = ""

    def empty(self) -> ReadChat:
        """Give a chat without messages."""
        return ReadChat(self.codec.decode([]), ())

    def read(
        self, before: ReadChat, stored: Sequence[StoredMessage], *, running: str = "", lasting: bool = True
    ) -> tuple[ReadChat, tuple[Message, ...]]:
        """Give `before` with stored messages added at its end, and the added ones.

        Notices are left out: nobody sends them. `running` is the turn that still runs. What was input becomes
        history when a message is added that is not input. `lasting` takes longer now, so that plain messages of
        others are written once and not at each fit.
        """
        told = [one for one in stored if not is_remark(one.message)]
        if not told:
            return before, ()
        items = dict(self._own_items(self._fresh(before, told), running))
        items |= self._written_items(told) if lasting else {}
        wanted = [one.message.id for one in told if one.message.id in items]
        native = self._read_items(before.native, wanted, [items[name] for name in wanted])
        known = {message.id: message for message in native.messages[len(before.native.messages) :]}
        fresh = [_flagged(known.get(one.message.id), one.message) for one in told]
        messages = _joined(before.messages, fresh)
        return ReadChat(native, messages), messages[len(before.messages) :]

    def _fresh(self, before: ReadChat, told: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
        """Give the messages behind the stale ones."""
        if not self.stale_until or any(message.id == self.stale_until for message in before.messages):
            return told
        at = next((at for at, one in enumerate(told) if one.message.id == self.stale_until), len(told))
        return told[at + 1 :]

    def _read_items(self, before: Decoded, ids: Sequence[str], items: Sequence[object]) -> Decoded:
        """Let the codec read items, each for the message of an id; none is read unless they are one to one."""
        if not items:
            return before
        end = len(before.messages) - before.leading
        read = self.codec.splice(before, end, end, items, ids=ids)
        return read if len(read.messages) == len(before.messages) + len(ids) else before

    def _own_items(self, stored: Iterable[StoredMessage], running: str) -> Iterator[tuple[str, object]]:
        """Give what this provider wrote, as its driver wants it back.

        An answer of which something was removed is nobody's own any more: items hang on each other.
        """
        own = [(one, one.wire) for one in stored if one.wire is not None and self._is_own(one.wire)]
        for _, group in groupby(own, key=lambda pair: pair[1].answer):
            answer = list(group)
            if answer[0][1].size not in (0, len(answer)):
                continue
            is_running = bool(running) and answer[0][0].turn_id == running
            items = self.driver.recall(
                [wire.item for _, wire in answer], model=self.model, running=is_running, settings=self.settings
            )
            yield from zip((one.message.id for one, _ in answer), items, strict=True)

    def _written_items(self, stored: Sequence[StoredMessage]) -> Iterator[tuple[str, object]]:
        """Give plain messages of others as the codec writes them, so that it writes each of them once only."""
        roles = _SPEAKING if self.codec.system_anywhere else _TALKING
        plain = [one.message for one in stored if not self._is_own(one.wire) and _is_plain(one.message, roles)]
        written = self.codec.encode(plain)
        if written.request is None and len(written.messages) == len(plain):
            yield from zip((message.id for message in plain), written.messages, strict=True)

    def _is_own(self, wire: Wire | None) -> bool:
        return wire is not None and (wire.provider, wire.codec) == (self.provider, self.codec.name)


def _is_plain(message: Message, roles: Collection[str]) -> bool:
    """Tell whether a message is text alone, of one of these roles, which every codec reads as it wrote it."""
    return message.role in roles and message.name is None and all(type(part) is Text for part in message.parts)


def _flagged(read: Message | None, kept: Message) -> Message:
    """Give a message that was read from items the flags it is stored with; one that was not read is as stored."""
    if read is None or (kept.role, kept.parts) == (read.role, read.parts):
        return kept
    return replace(
        read,
        source=kept.source,
        pinned=kept.pinned,
        required=kept.required,
        ephemeral=kept.ephemeral,
        relevance=kept.relevance,
        meta=kept.meta,
    )


def _joined(before: Sequence[Message], fresh: Sequence[Message]) -> tuple[Message, ...]:
    """Put messages one behind the other; only user messages at the very end are input, all others are history."""
    end = len(fresh)
    while end and fresh[end - 1].source == "input":
        end -= 1
    told = tuple(_as_history(message) for message in fresh[:end]) + tuple(fresh[end:])
    if end or not fresh:
        return (*_without_input(before), *told)
    return (*before, *told)


def _without_input(messages: Sequence[Message]) -> Sequence[Message]:
    start = len(messages)
    while start and messages[start - 1].source == "input":
        start -= 1
    if start == len(messages):
        return messages
    return (*messages[:start], *(_as_history(message) for message in messages[start:]))


def _as_history(message: Message) -> Message:
    return replace(message, source="history") if message.source == "input" else message
