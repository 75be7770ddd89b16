"""The guard: what a plugin answers is applied to the host's own originals, within limits.

Plain host code after the call, over data no plugin ever had. The rules stand in this order: exact types, what
is protected stays, groups leave whole, shortened texts are slices of the original, inserts cost at most a share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from trimtab.fitting.account import Account, Cuts, Inserted
from trimtab.fitting.checking import BrokenAnswerError, CheckedEdit, CheckedInsert, check_answer
from trimtab.fitting.cleaning import clean_note
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab.fitting.cutting import cut_again, cut_message
from trimtab.fitting.placing import find_edge, insert_message
from trimtab_sdk.edit import BEFORE_INPUT
from trimtab_sdk.errors import Origin, PluginRejectedError, ProtectedContextRemovedError
from trimtab_sdk.messages import Message, Text, texts_of

INSERT_SHARE = 0.15
SUMMARY_SHARE = 0.12
SUMMARY_LEAST = 128
SUMMARY_MOST = 4096
ALL_INSERTS_SHARE = 0.25
MAX_REASON_NOTES = 10
STRATEGY_REASONS = frozenset({"context-shift", "running-turn", "low-relevance", "summarized"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who answered: its origin, the hook, and what the host app allows it.

    `at_input` says that its inserts go before the current input, whatever place it asks for.
    """

    origin: Origin
    hook: str
    may_redact: bool = False
    at_input: bool = False

    @property
    def is_strategy(self) -> bool:
        """Whether this is the strategy, not an interceptor."""
        return self.hook == "trimtab_shift"


@dataclass(frozen=True, slots=True)
class Placed:
    """An insert that was accepted: its edge in the context as it was, and its tokens.

    `target` is the id that it was to stand in front of, empty where it named none.
    """

    insert: Inserted
    edge: int
    target: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Applied:
    """What was made of an answer: the new context, and what the plugin did to the old one.

    `dropped` are the ids that left, the rest of their groups included; `cuts` is id → what stays of a message.
    """

    context: Context
    dropped: Mapping[str, str]
    cuts: Mapping[str, Cuts]
    inserts: tuple[Placed, ...]


def guard_answer(
    answer: object,
    context: Context,
    *,
    caller: Caller,
    counter: Counter,
    budget: int,
    account: Account,
) -> Applied:
    """Check a plugin's answer and give what it makes of the context; the account is kept.

    Raises PluginRejectedError or ProtectedContextRemovedError, and then nothing has changed.
    """
    messages = {message.id: message for message in context.messages}
    try:
        edit = check_answer(answer, messages, anchors=_Known(messages, context.places))
    except BrokenAnswerError as error:
        raise PluginRejectedError(str(error), origin=caller.origin, hook=caller.hook) from error
    _refuse_protected(edit, context, caller)
    for note in edit.notes:
        account.note("note", clean_note(note), origin=caller.origin)
    return _Application(edit, context, caller=caller, counter=counter, budget=budget, account=account).run()


class _Known(Collection[str]):
    """The ids of this context and of everything that has left it."""

    def __init__(self, here: Mapping[str, object], ever: Mapping[str, object]) -> None:
        self._here = here
        self._ever = ever

    def __contains__(self, name: object) -> bool:
        return name in self._here or name in self._ever

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._here, *self._ever]))

    def __len__(self) -> int:
        return len(dict.fromkeys([*self._here, *self._ever]))


def _refuse_protected(edit: CheckedEdit, context: Context, caller: Caller) -> None:
    touched = set(edit.drop) if caller.may_redact else edit.drop.keys() | edit.shorten.keys()
    offended = tuple(name for name in context.protected if name in touched)
    if offended:
        more = f" and {len(offended) - 5} more" if len(offended) > 5 else ""
        raise ProtectedContextRemovedError(
            f"dropped or shortened what must stay ({', '.join(offended[:5])}{more}); its answer was not used",
            origin=caller.origin,
            hook=caller.hook,
            ids=offended,
        )


@dataclass(frozen=True, slots=True)
class _Cut:
    """A message before it was ever cut, as it is now, and the spans that make the difference."""

    whole: Message
    message: Message
    cuts: Cuts


class _Application:
    """One checked edit on its way into one context."""

    def __init__(
        self,
        edit: CheckedEdit,
        context: Context,
        *,
        caller: Caller,
        counter: Counter,
        budget: int,
        account: Account,
    ) -> None:
        self._edit = edit
        self._context = context
        self._caller = caller
        self._counter = counter
        self._budget = budget
        self._account = account
        self._costs = dict(context.costs)

    def run(self) -> Applied:
        shortened, emptied = self._shorten()
        dropped = self._close_groups(self._reasons() | emptied)
        accepted = self._accept_inserts(dropped)
        self._settle_summaries(dropped, accepted)
        for reason in dict.fromkeys(dropped.values()):
            self._account.leave([name for name, why in dropped.items() if why == reason], reason)
        cuts = {name: cut.cuts for name, cut in shortened.items() if name not in dropped}
        for name in cuts:
            self._account.shorten(shortened[name].whole, self._own_reason, shortened[name].cuts)
            self._costs[name] = self._counter.message(shortened[name].message)
        self._account.relevant.update(self._edit.relevant)
        after = self._context.with_messages(self._rebuild(shortened, dropped, accepted), self._costs)
        return Applied(after, dropped, cuts, tuple(accepted))

    @property
    def _own_reason(self) -> str:
        return "context-shift" if self._caller.is_strategy else "interceptor"

    def _note(self, code: str, message: str, *ids: str) -> None:
        self._account.note(code, message, ids=ids, origin=self._caller.origin)

    def _reasons(self) -> dict[str, str]:
        """Give id → a reason of the report; other words of the plugin become notes."""
        if not self._caller.is_strategy:
            words = set(self._edit.drop.values()) - {"interceptor"}
            reasons = dict.fromkeys(self._edit.drop, "interceptor")
        else:
            words = set(self._edit.drop.values()) - STRATEGY_REASONS
            reasons = {
                name: reason if reason in STRATEGY_REASONS else self._own_reason
                for name, reason in self._edit.drop.items()
            }
        for word in sorted(words)[:MAX_REASON_NOTES]:
            named = [name for name, reason in self._edit.drop.items() if reason == word]
            self._note("note", f"left out as: {clean_note(word)}", *named)
        return reasons

    def _shorten(self) -> tuple[dict[str, _Cut], dict[str, str]]:
        """Give the shortened messages, and those cut to nothing with the reason they leave."""
        shortened: dict[str, _Cut] = {}
        emptied: dict[str, str] = {}
        if not self._edit.shorten:
            return shortened, emptied
        for message in self._context.messages:
            spans = self._edit.shorten.get(message.id)
            if spans is None or message.id in self._edit.drop:
                continue
            whole = self._account.whole.get(message.id, message)
            cuts = cut_again(self._account.cuts.get(message.id, {}), spans)
            if _nothing_left(whole, cuts) and message.id not in self._context.protected:
                emptied[message.id] = self._own_reason
                continue
            cut = cut_message(whole, cuts)
            if self._caller.is_strategy and not self._is_cheaper(cut):
                self._note("not-shortened", "shortening would not save a token", message.id)
                continue
            shortened[message.id] = _Cut(whole, cut, cuts)
        return shortened, emptied

    def _is_cheaper(self, cut: Message) -> bool:
        return self._counter.message(cut).tokens < self._costs[cut.id].tokens

    def _close_groups(self, reasons: dict[str, str]) -> dict[str, str]:
        """Give the reasons of everything that leaves: one member takes its whole group along."""
        for group in self._context.groups:
            if len(group.ids) == 1:
                continue
            named = [name for name in group.ids if name in reasons]
            rest = [name for name in group.ids if name not in reasons]
            if named and rest:
                reasons.update(dict.fromkeys(rest, reasons[named[0]]))
                self._note("group-closed", f"the rest of the group of {named[0]} left with it", *rest)
        return reasons

    def _accept_inserts(self, dropped: Mapping[str, str]) -> list[Placed]:
        """Give the inserts within the shares."""
        accepted: list[Placed] = []
        if not self._edit.insert:
            return accepted
        taken = set(self._costs)
        told: set[str] = set()
        for insert in self._edit.insert:
            summary = self._caller.is_strategy and bool(insert.covers)
            message = insert_message(
                insert.text,
                plugin=self._caller.origin.plugin,
                summary=summary,
                taken=taken,
                ephemeral=not self._caller.is_strategy,
            )
            cost = self._counter.message(message)
            if not self._has_room(insert, cost.tokens, summary=summary, told=told):
                continue
            taken.add(message.id)
            told.update(insert.covers)
            self._costs[message.id] = cost
            kind, target = (BEFORE_INPUT, "") if self._caller.at_input else (insert.kind, insert.target)
            edge = find_edge(self._context, kind=kind, target=target, dropped=dropped)
            inserted = Inserted(
                message, self._caller.origin, self._caller.is_strategy, self._all_covered(insert.covers)
            )
            self._account.insert(inserted, cost.tokens)
            accepted.append(Placed(inserted, edge, target, cost.tokens))
        return accepted

    def _all_covered(self, covers: tuple[str, ...]) -> tuple[str, ...]:
        """Give the covered ids, and in place of a covered summary what that one stood for too."""
        known = self._account.inserted
        every = (one for name in covers for one in (name, *(known[name].covers if name in known else ())))
        return tuple(dict.fromkeys(every))

    def _has_room(self, insert: CheckedInsert, tokens: int, *, summary: bool, told: Collection[str]) -> bool:
        """Whether an insert is within the shares; what another summary has `told` already is no reason for one."""
        leaving = [name for name in insert.covers if name in self._account.inserted]
        freed = sum(self._account.insert_tokens[name] for name in leaving)
        own = self._account.spent_by(self._caller.origin.plugin) + tokens - freed
        everyone = sum(self._account.insert_tokens.values()) + tokens - freed
        share = summary_share(self._budget) if summary else int(self._budget * INSERT_SHARE)
        most = max(int(self._budget * ALL_INSERTS_SHARE), SUMMARY_LEAST)
        if own > share or everyone > most:
            limit = min(share, most)
            self._note("insert-refused", f"an insert of {tokens} tokens is over the share of {limit} tokens")
            return False
        if summary and tokens > sum(self._costs[name].tokens for name in insert.covers if name not in told):
            self._note("insert-refused", f"a summary of {tokens} tokens is larger than what it replaces")
            return False
        return True

    def _settle_summaries(self, dropped: dict[str, str], accepted: list[Placed]) -> None:
        covered = {name for placed in accepted for name in placed.insert.covers}
        if not covered and "summarized" not in dropped.values():
            return
        for name, reason in dropped.items():
            if self._caller.is_strategy and name in covered:
                dropped[name] = "summarized"
            elif reason == "summarized":
                dropped[name] = "context-shift"

    def _rebuild(
        self,
        shortened: Mapping[str, _Cut],
        dropped: Mapping[str, str],
        accepted: list[Placed],
    ) -> list[Message]:
        at_edge: dict[int, list[Message]] = {}
        for placed in accepted:
            at_edge.setdefault(placed.edge, []).append(placed.insert.message)
        if not at_edge and not shortened:
            return [message for message in self._context.messages if message.id not in dropped]
        rebuilt: list[Message] = []
        for position, message in enumerate(self._context.messages):
            rebuilt += at_edge.get(position, ())
            if message.id not in dropped:
                cut = shortened.get(message.id)
                rebuilt.append(message if cut is None else cut.message)
        return rebuilt + at_edge.get(len(self._context.messages), [])


def summary_share(budget: int) -> int:
    """Give what a summary may cost in a budget, both in tokens: 12 %, at least 128 and at most 4,096."""
    return min(max(int(budget * SUMMARY_SHARE), SUMMARY_LEAST), SUMMARY_MOST)


def _nothing_left(message: Message, spans: Cuts) -> bool:
    return all(isinstance(part, Text) for part in message.parts) and all(
        not spans.get(path, ((0, 1),) if text else ()) for path, text in texts_of(message)
    )
