"""The prefixes that reasoning of a chat was made on, for a provider whose server asks for them.

Each answer is stored with the hashes of what stood before its reasoning; see `trimtab.continuation.prefixes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from operator import is_not
from typing import NamedTuple, TypeVar

from trimtab.continuation.hashes import next_link
from trimtab.continuation.prefixes import block_digest, head_link, prefix_hash
from trimtab.store.protocol import NewMessage, StoredMessage
from trimtab.turns.recipe import Recipe
from trimtab_sdk.codec import Encoded
from trimtab_sdk.errors import Origin, PluginCrashedError, TrimtabError
from trimtab_sdk.messages import Message, Reasoning
from trimtab_sdk.provider import BindsReasoning, ProviderCall

_Result = TypeVar("_Result")
_NONE: frozenset[str] = frozenset()


class _Block(NamedTuple):
    digest: bytes
    seal: str | None


@dataclass(frozen=True, slots=True)
class _Walk:
    """A prompt that was walked through: its messages, the blocks of each, the link behind each.

    `seals` gives, for the index of each message that holds reasoning, the seal of each piece and whether it is
    stale.
    """

    head: bytes = b""
    messages: Sequence[object] = ()
    blocks: Sequence[tuple[_Block, ...]] = ()
    links: Sequence[bytes] = ()
    seals: Mapping[int, tuple[tuple[str, bool], ...]] = field(default_factory=dict)

    @property
    def end(self) -> bytes:
        """The link behind the last message."""
        return self.links[-1] if self.links else self.head

    def shared(self, head: bytes, messages: Sequence[object]) -> int:
        """Tell how many messages at the beginning need not be walked through again."""
        if head != self.head:
            return 0
        first_other = compress(count(), map(is_not, self.messages, messages))
        return next(first_other, min(len(self.messages), len(messages)))

    def stale(self) -> dict[str, frozenset[int]]:
        """Give seal → which of the pieces with that seal are stale, counted from 0."""
        seen: Counter[str] = Counter()
        found: dict[str, set[int]] = {}
        for seal, is_stale in (pair for pairs in self.seals.values() for pair in pairs):
            if is_stale:
                found.setdefault(seal, set()).add(seen[seal])
            seen[seal] += 1
        return {seal: frozenset(numbers) for seal, numbers in found.items()}


class Bound:
    """What is known of the prefixes of one chat, for one provider with one set of tools and settings.

    May be shared: what it knows of reasoning is true in every form of the chat, and what it remembers of the last
    prompt only saves time.
    """

    def __init__(self, driver: BindsReasoning, wire: tuple[str, str], call: ProviderCall) -> None:
        self._driver = driver
        self._wire = wire
        self._call = call
        self._made_on: dict[str, frozenset[str]] = {}
        # The last prompt as it was sent, and the last one of which something stale had to leave.
        self._walks: tuple[_Walk, _Walk] = (_Walk(), _Walk())

    def learn(self, stored: Iterable[StoredMessage]) -> None:
        """Take in on which prefixes stored reasoning was made."""
        for one in stored:
            wire = one.wire
            if wire is None or not wire.prefixes or (wire.provider, wire.codec) != self._wire:
                continue
            seals = _seals_of(one.message)
            if len(seals) != len(wire.prefixes):
                continue
            for seal, prefix in zip(seals, wire.prefixes, strict=True):
                self._made_on[seal] = self._made_on.get(seal, _NONE) | {prefix}

    def knows(self, reasoning: Reasoning) -> bool:
        """Tell whether the prefix is known that a piece of reasoning was made on."""
        return reasoning.opaque in self._made_on

    def stale(self, encoded: Encoded) -> Mapping[str, frozenset[int]]:
        """Tell which reasoning of a prompt stands behind another prefix: seal → which ones with that seal."""
        return self._walk(encoded).stale() if self._made_on else {}

    def with_prefixes(self, new: Sequence[NewMessage], call: ProviderCall) -> tuple[NewMessage, ...]:
        """Give the messages of an answer to a call with the prefixes that their reasoning was made on.

        Unknown where the server had more before it than the prompt.
        """
        if call.cursor is not None or call.resume is not None or not any(_seals_of(one.message) for one in new):
            return tuple(new)
        link = self._walk(call.prompt).end
        told: list[NewMessage] = []
        for one in new:
            if one.wire is None:
                # What follows stands behind a block whose form is not known.
                return (*told, *new[len(told) :])
            prefixes: list[str] = []
            for block in self._blocks_of(one.wire.item):
                prefixes += [prefix_hash(link)] if block.seal is not None else []
                link = next_link(link, block.digest)
            told.append(replace(one, wire=replace(one.wire, prefixes=tuple(prefixes))))
        return tuple(told)

    def _walk(self, encoded: Encoded) -> _Walk:
        """Walk through a prompt, from where it is not the last one any more."""
        call = replace(self._call, prompt=encoded)
        head = self._asked("bound_head", lambda: head_link(self._driver.bound_head(call)))
        messages = encoded.messages
        last = max(self._walks, key=lambda walk: walk.shared(head, messages))
        shared = last.shared(head, messages)
        if shared == len(messages) == len(last.messages):
            return last
        walk = self._walked_on(last, shared, head, tuple(messages))
        is_clean = not any(is_stale for pairs in walk.seals.values() for _, is_stale in pairs)
        self._walks = (walk, self._walks[1]) if is_clean else (self._walks[0], walk)
        return walk

    def _walked_on(self, last: _Walk, shared: int, head: bytes, messages: tuple[object, ...]) -> _Walk:
        remembered: dict[int, tuple[_Block, ...]] = {}
        for one in self._walks:
            rest = one.shared(head, messages)
            remembered |= {
                id(message): blocks for message, blocks in zip(one.messages[rest:], one.blocks[rest:], strict=True)
            }
        blocks, links = list(last.blocks[:shared]), list(last.links[:shared])
        seals = {at: pairs for at, pairs in last.seals.items() if at < shared}
        link = links[-1] if links else head
        for at in range(shared, len(messages)):
            read = remembered.get(id(messages[at])) or self._blocks_of(messages[at])
            pairs: list[tuple[str, bool]] = []
            for block in read:
                is_stale = block.seal is not None and self._is_stale(block.seal, link)
                if block.seal is not None:
                    pairs.append((block.seal, is_stale))
                link = link if is_stale else next_link(link, block.digest)
            if pairs:
                seals[at] = tuple(pairs)
            blocks.append(read)
            links.append(link)
        return _Walk(head, messages, blocks, links, seals)

    def _is_stale(self, seal: str, link: bytes) -> bool:
        made_on = self._made_on.get(seal)
        return made_on is not None and prefix_hash(link) not in made_on

    def _blocks_of(self, message: object) -> tuple[_Block, ...]:
        def read() -> tuple[_Block, ...]:
            told = self._driver.bound_blocks(message, self._call.settings)
            return tuple(_Block(block_digest(block.value), block.seal) for block in told)

        return self._asked("bound_blocks", read)

    def _asked(self, hook: str, ask: Callable[[], _Result]) -> _Result:
        try:
            return ask()
        except TrimtabError:
            raise
        except Exception as error:
            raise PluginCrashedError(type(error).__name__, origin=Origin(self._wire[0]), hook=hook) from error


def _seals_of(message: Message) -> list[str]:
    return [part.opaque for part in message.parts if isinstance(part, Reasoning) and part.opaque]


def bind(recipe: Recipe) -> Bound | None:
    """Give an empty knowledge of prefixes for a recipe; None for a provider whose server asks for none."""
    target, settings = recipe.target, recipe.settings
    driver = target.provider
    if not isinstance(driver, BindsReasoning):
        return None
    call = ProviderCall(
        model=settings.model,
        prompt=Encoded([]),
        tools=recipe.tools,
        max_output_tokens=settings.max_output_tokens,
        settings=target.endpoint.settings,
        options=settings.options,
    )
    return Bound(driver, (target.name, recipe.reader.codec.name), call)
