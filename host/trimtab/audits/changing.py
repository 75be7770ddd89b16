"""What is sent of the messages that are not sent as they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from trimtab.audits.columns import to_places
from trimtab.audits.model import ChangeKind
from trimtab.audits.parts import part_to_dict
from trimtab.report import Entry
from trimtab_sdk.messages import Message, Part

if TYPE_CHECKING:
    from trimtab.fitting.held import HeldFit


class Revisioned(Protocol):
    """A stored message: what it is, at which revision, and whether it is `complete`."""

    @property
    def message(self) -> Message:
        """The message."""
        ...

    @property
    def revision(self) -> int:
        """The number of this version of it."""
        ...

    @property
    def status(self) -> str:
        """`complete`, or `incomplete` for an answer that was cut off."""
        ...


class Changes:
    """Says of each message whose stored form is not what is sent, what is sent of it.

    `conversation` is what went into the fit, `gone` are the ids that are not sent, in order.
    """

    def __init__(
        self,
        held: HeldFit,
        conversation: Sequence[Message],
        stored: Mapping[str, Revisioned],
        gone: Iterable[str],
    ) -> None:
        self._messages = held.messages
        self._conversation = conversation
        self._stored = stored
        self._gone = gone
        self._inserted = {one.message.id: one for one in held.inserted}
        self._shortened: dict[str, Entry] = {entry.id: entry for entry in held.fit.truncated}
        self._origins: dict[int, tuple[str, int]] | None = None

    def all(self) -> dict[str, dict[str, object]]:
        """Give id → what is sent, of those alone whose stored form it is not."""
        return {message.id: self._change(message) for message in self._messages if not self._is_as_stored(message)}

    def _is_as_stored(self, message: Message) -> bool:
        known = self._stored.get(message.id)
        if known is None:
            return False
        as_stored = known.message
        if as_stored is message:
            return True
        return as_stored.name == message.name and (
            as_stored.parts is message.parts or as_stored.parts == message.parts
        )

    def _change(self, message: Message) -> dict[str, object]:
        known = self._stored.get(message.id)
        change: dict[str, object] = {"kind": self._kind(message)}
        if known is None or known.message.parts != message.parts:
            change["parts"] = [self._part(message, part) for part in message.parts]
        if message.name is not None:
            change["name"] = message.name
        entry = self._shortened.get(message.id)
        if entry is not None:
            change["originalTokens"] = entry.original_tokens
        insert = self._inserted.get(message.id)
        if insert is not None:
            change |= {"plugin": insert.plugin, "covers": to_places(insert.covers, self._places())}
        return change

    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self._gone)}

    def _kind(self, message: Message) -> ChangeKind:
        if message.id in self._inserted:
            return "inserted"
        if message.id in self._shortened:
            return "shortened"
        return "repaired" if message.id in self._stored else "unstored"

    def _part(self, message: Message, part: Part) -> object:
        known = self._stored.get(message.id)
        if known is not None and part in known.message.parts:
            return known.message.parts.index(part)
        origin = self._origin_of(part)
        return part_to_dict(part) if origin is None else list(origin)

    def _origin_of(self, part: Part) -> tuple[str, int] | None:
        """The stored message that a part came from, where the wire's repairs put it into another one."""
        if self._origins is None:
            self._origins = {
                id(one): (message.id, at)
                for message in self._conversation
                if message.id in self._stored
                for at, one in enumerate(message.parts)
            }
        origin = self._origins.get(id(part))
        if origin is None:
            return None
        name, at = origin
        parts = self._stored[name].message.parts
        return origin if at < len(parts) and parts[at] == part else None
