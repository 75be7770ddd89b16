"""The context of a chat while a process holds it: decoded, counted, ready to be fitted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.continuation import EMPTY_CHAIN, HistoryChain
from trimtab.fitting.carried_json import dump_carried, facts_of, load_carried
from trimtab.fitting.carrying import NOTHING, Carried
from trimtab.fitting.held import HeldConversation, HeldFit
from trimtab.memo_json import MemoJson
from trimtab.opening import count_key
from trimtab.store.protocol import Counted, StoredChat, StoredMessage
from trimtab.turns.binding import Bound, bind
from trimtab.turns.compacting import compactions_in, covered_by_newest
from trimtab.turns.reading import ReadChat
from trimtab.turns.recipe import Recipe
from trimtab_sdk.codec import Decoded
from trimtab_sdk.counting import Cost
from trimtab_sdk.groups import link_groups


@dataclass(slots=True)
class ChatContext:
    """A chat's messages as one recipe sends them.

    `memo` knows the JSON of what was sent before, `chain` the hashes, `bound` the prefixes of reasoning where the
    server asks for them; `stored` is id → the stored message. Work on a `fork`: what is held stays as the store
    has it until a turn has ended. `turns` is for how many it was held.
    """

    recipe: Recipe
    chat: ReadChat
    held: HeldConversation
    stored: dict[str, StoredMessage]
    count_key: str
    bound: Bound | None = None
    memo: MemoJson = field(default_factory=MemoJson)
    chain: HistoryChain = EMPTY_CHAIN
    compactions: tuple[StoredMessage, ...] = ()
    turns: int = 0
    is_lasting: bool = False

    @property
    def decoded(self) -> Decoded:
        """The messages, as the codec knows them."""
        return self.held.decoded

    def fork(self) -> ChatContext:
        """Give a context of its own that begins as this one is."""
        return replace(self, held=self.held.fork(), stored=dict(self.stored))

    def without_traces(self) -> ChatContext:
        """Give a fork whose fits are not booked against any plugin."""
        setup = self.held.setup
        unbooked = replace(setup, conduct=setup.conduct.copy())
        return replace(self, held=self.held.with_setup(unbooked), stored=dict(self.stored))

    def last(self) -> None:
        """Prepare for many turns: what is written anew at each fit is written once from now on."""
        if self.is_lasting:
            return
        self.is_lasting = True
        self.chat, _ = self.recipe.reader.read(self.recipe.reader.empty(), [*self.stored.values()])
        self.held.replace_messages(self.chat.decoded, ())

    def extend(self, stored: Sequence[StoredMessage], *, running: str = "") -> None:
        """Add stored messages at the end."""
        self.chat, fresh = self.recipe.reader.read(self.chat, stored, running=running)
        self.held.extend(self.chat.decoded, fresh)
        self.stored |= {one.message.id: one for one in stored}
        if self.bound is not None:
            self.bound.learn(stored)
        self.compactions += compactions_in(stored)
        self.cover(running=running)

    def cover(self, *, running: str = "") -> None:
        """Leave out what compactions of the provider stand for, those of a turn that still runs excepted."""
        covered = covered_by_newest(
            self.compactions, self.stored, provider=self.recipe.reader.provider, running=running
        )
        self.held.cover(covered)

    def fit(self) -> HeldFit:
        """Fit what there is. Raises what `trimtab.fit` raises."""
        return self.held.fit(binding=self.bound)

    def counted(self) -> dict[str, Counted]:
        """Give what was counted here and the store does not know yet, by id."""
        return {
            name: Counted(self.count_key, cost)
            for name, cost in self.held.new_costs().items()
            if name in self.stored
        }

    def carried_as_stored(self, *, as_of: int) -> dict[str, object] | None:
        """Give the accepted edit to store with the chat at revision `as_of`; None when there is none."""
        held = self.held
        if held.carried.is_empty:
            return None
        return dump_carried(held.carried, facts=held.facts(as_of=as_of), ids=held.ids)


def open_context(
    recipe: Recipe,
    chat: StoredChat,
    stored: Sequence[StoredMessage],
    *,
    running: str = "",
    carried: Carried = NOTHING,
) -> ChatContext:
    """Decode a chat for a recipe, with the counts and the edit that are stored, as far as they still hold.

    `running` is the id of a turn that goes on. `carried` is the edit to begin with where none is stored.
    """
    reader = recipe.reader
    read, _ = reader.read(reader.empty(), stored, running=running, lasting=False)
    key = count_key(recipe.setup)
    costs = _known_costs(stored, key)
    pins = [one.message.id for one in stored if one.message.pinned]
    own = load_carried(
        chat.carried,
        facts=facts_of(recipe.setup, pins=pins, as_of=chat.revision),
        messages={one.message.id: one.changed for one in stored},
    )
    held = HeldConversation(recipe.setup, read.decoded, notes=recipe.notes, costs=costs, carried=own or carried)
    known = {one.message.id: one for one in stored}
    bound = bind(recipe)
    if bound is not None:
        bound.learn(stored)
    context = ChatContext(recipe, read, held, known, key, bound, compactions=compactions_in(stored))
    context.cover(running=running)
    held.say_since(_said_without(stored, read.decoded))
    return context


def _known_costs(stored: Sequence[StoredMessage], key: str) -> Mapping[str, Cost]:
    return {
        one.message.id: one.counted.cost for one in stored if one.counted is not None and one.counted.key == key
    }


def _said_without(stored: Sequence[StoredMessage], decoded: Decoded) -> dict[str, int]:
    """Tell of what was left out by hand from which index on all was said after that.

    A message left out is changed by that, so what was stored later has a later revision. What belongs to its group
    left with it.
    """
    out = {one.message.id: one.changed for one in stored if one.message.meta.get("manualExcluded")}
    if not out:
        return {}
    changed = {one.message.id: one.changed for one in stored}
    places = {message.id: at for at, message in enumerate(decoded.messages)}
    since: dict[str, int] = {}
    for group in link_groups(decoded.messages):
        revision = max((out[name] for name in group.ids if name in out), default=None)
        if revision is None:
            continue
        before = [at for name, at in places.items() if changed.get(name, 0) <= revision]
        since |= dict.fromkeys(group.ids, max(before, default=-1) + 1 - decoded.leading)
    return since
