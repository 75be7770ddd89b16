"""The contract of a codec: a driver that reads and writes one wire format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol, TypeAlias

from trimtab_sdk.counting import Framing
from trimtab_sdk.messages import Message

Originals: TypeAlias = object
"""What a codec remembers of its input between `decode` and `encode`; nobody else looks inside."""


class Recognition(IntEnum):
    """How sure a codec is that an input is in its format."""

    NO = 0
    MAYBE = 1
    SURE = 2


@dataclass(frozen=True, slots=True)
class Decoded:
    """A conversation as read from the wire.

    Besides the messages: what a whole request body says about the request, None where it says nothing;
    `uncounted`, the keys that were kept but are no part of the wire, so nobody counts them; and `leading`, how
    many messages at the front stand in fields of their own (the system text of some wires) and so have no
    index in the list of messages.
    """

    messages: tuple[Message, ...]
    originals: Originals
    tools: tuple[object, ...] | None = None
    response_format: Mapping[str, object] | None = None
    max_output_tokens: int | None = None
    model: str | None = None
    uncounted: tuple[str, ...] = ()
    leading: int = 0


@dataclass(frozen=True, slots=True)
class Repair:
    """Something the wire demanded: the messages it touched, and a sentence for the report."""

    ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Adapted:
    """A conversation that the wire accepts.

    `left_out` is id → reason (`unpaired`, `empty` or `wire-rule`); `refused` is id → why a protected message
    cannot be carried.
    """

    messages: tuple[Message, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    repairs: tuple[Repair, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A conversation in the wire format: the messages, and the whole body when one was read."""

    messages: list[object]
    request: dict[str, object] | None = None


class Codec(Protocol):
    """A driver of the group `trimtab.codecs`, named by its format."""

    @property
    def name(self) -> str:
        """The format's name."""
        ...

    @property
    def system_anywhere(self) -> bool:
        """Whether a message of role system may stand between others.

        Where it may not, `encode` writes a system message of source `summary`, `plugin` or `memory`, and an
        ephemeral one of source `lorebook`, as a text block of its own at the front of the next user message (the
        last one when none follows), and all other system text at the head.
        """
        ...

    @property
    def binds_reasoning(self) -> bool:
        """Whether reasoning is bound to everything before it, so that it must leave when that changes."""
        ...

    @property
    def user_first(self) -> bool:
        """Whether the user must speak before the model does."""
        ...

    def recognize(self, data: object) -> Recognition:
        """Tell whether `data`, a list of messages or a request body, looks like this format; never raises."""
        ...

    def decode(self, data: object) -> Decoded:
        """Read a list of messages or a whole request body.

        `data` holds plain JSON values and is not changed. Ids are unique in the result. Raises
        InvalidRequestError with the path of the field that is wrong.
        """
        ...

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with the messages of index `start` to `stop` replaced by `items`, read anew.

        All others keep their ids. A new message gets the id at its place in `ids`, else its own, else one that
        nobody has. Costs no more than reading the items and copying references.
        """
        ...

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Make the repairs the wire demands, and no others; idempotent.

        A protected message is never left out: what the wire cannot carry of it is `refused`. Messages that
        `originals` does not know come from another format: parts of theirs that this wire has no place for
        (reasoning of another provider, a picture in a tool result) are taken out here and named in a repair.
        """
        ...

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages in order. An untouched message of `originals` comes back as it was read.

        The wire may pack texts otherwise: results of one step in one message, system text in a field of the
        body. Nothing is added, left out or put in another order by that; `Encoded.request` is given whenever a
        body was read, and when messages were written from scratch that need one.
        """
        ...

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules of this wire for a tokenizer profile and, where prices differ by model, a model."""
        ...
