"""A history with the hash of each of its beginnings, so that a stored hash is found in it and a turn pays for what
is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.continuation.hashes import EMPTY_LINK, hash_of_link, held, link_of, message_digest, next_link
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True, repr=False)
class HistoryChain:
    """A history as it would be sent: its messages, the digest of each and the link behind each.

    Made by `chain_history`. Holds 64 bytes a message besides the messages.
    """

    messages: tuple[Message, ...] = ()
    digests: tuple[bytes, ...] = ()
    links: tuple[bytes, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of the whole history, as an envelope stores it."""
        return hash_of_link(self.links[-1] if self.links else EMPTY_LINK)

    def length_of(self, hash: str) -> int | None:
        """Tell how many messages at the beginning have this hash; None when no beginning of at least one has.

        Looked for from the end, where it usually is. Raises ValueError when `hash` is not of this scheme.
        """
        link = link_of(hash)
        lengths = range(len(self.links), 0, -1)
        return next((length for length in lengths if self.links[length - 1] == link), None)

    def __repr__(self) -> str:
        return f"HistoryChain({len(self.messages)} messages, {self.hash})"


EMPTY_CHAIN = HistoryChain()


def chain_history(messages: Iterable[Message], *, known: HistoryChain = EMPTY_CHAIN) -> HistoryChain:
    """Chain a history, in the form and the order in which a replay would send it.

    Ephemeral messages and such as hold nothing but notices are left out. `known` is a chain made before: the very
    same message objects are not hashed again, and an equal beginning is not chained again. Raises
    InvalidRequestError for a message that holds what JSON cannot.
    """
    sent = held(messages)
    recalled = {id(message): digest for message, digest in zip(known.messages, known.digests, strict=True)}
    digests = tuple(recalled.get(id(message)) or message_digest(message) for message in sent)
    return HistoryChain(tuple(sent), digests, _chained(digests, known))


def _chained(digests: Sequence[bytes], known: HistoryChain) -> tuple[bytes, ...]:
    shared = _shared(digests, known.digests)
    links = list(known.links[:shared])
    link = links[-1] if links else EMPTY_LINK
    for digest in digests[shared:]:
        link = next_link(link, digest)
        links.append(link)
    return tuple(links)


def _shared(first: Sequence[bytes], second: Sequence[bytes]) -> int:
    for length, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return length
    return min(len(first), len(second))
