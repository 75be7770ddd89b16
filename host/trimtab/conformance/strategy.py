"""The contract of a strategy: a plugin with `trimtab_shift`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import ClassVar

from trimtab.config_models import STRATEGY_SECONDS
from trimtab.conformance import rules
from trimtab.conformance.asking import Asker
from trimtab.conformance.base import RecordProperty
from trimtab.conformance.corpus import Chat, chat_named, corpus
from trimtab.conformance.fits import Fitting, own_call, was_used
from trimtab.conformance.plugin_contract import PluginContract
from trimtab.conformance.requests import Case, must_stay, over_budget, with_room
from trimtab.loading.plugins import SHIFT
from trimtab.report import Fit
from trimtab_sdk.edit import Edit
from trimtab_sdk.request import Request
from trimtab_sdk.shifting import is_free

_LEAST_USED = 0.5
_FITTED = (
    "a talk",
    "tool calls",
    "parallel calls",
    "an open step",
    "many scripts",
    "summaries from before",
    "pins",
)


class StrategyContract(PluginContract):
    """What a host and its users rely on in a strategy.

        class TestMyStrategy(StrategyContract):
            @pytest.fixture
            def subject(self):
                return my_strategy

    Claims besides those of every plugin, all of them no by default:

    - `summarizes`: it inserts texts that cover what it drops.
    - `names_relevant`: it says what stays because it matters (`Edit.relevant`).
    - `leaves_more_room`: it cuts far below the target, on purpose.
    """

    abilities = ("shortens", "inserts", "summarizes", "names_relevant", "leaves_more_room", "needs_services")
    hook = SHIFT
    most_room = 0.9
    time_limit = STRATEGY_SECONDS
    adding: ClassVar[tuple[str, ...]] = ("inserts", "summarizes")

    summarizes: bool = False
    names_relevant: bool = False
    leaves_more_room: bool = False

    def cases_of(self, chat: Chat) -> Iterator[Case]:
        """Give a conversation over several budgets that it can be brought under."""
        return over_budget(chat)

    def quiet_cases(self, asker: Asker) -> Iterator[Case]:
        """Give the corpus within its budget, when the strategy asks for every turn."""
        chats = corpus() if asker.plugin.traits.per_turn else ()
        return (case for chat in chats for case in with_room(chat))

    def deeds_of(self, request: Request, edit: Edit) -> Mapping[str, str]:
        """Give the abilities that an edit makes use of."""
        deeds: dict[str, str] = {}
        if edit.shorten:
            deeds["shortens"] = f"shortens {next(iter(edit.shorten))[0]!r}"
        for insert in edit.insert:
            name = "summarizes" if insert.covers else "inserts"
            deeds[name] = f"inserts a text at {insert.anchor}, which covers {len(insert.covers)} messages"
        if edit.relevant:
            deeds["names_relevant"] = f"names {len(edit.relevant)} messages as relevant"
        if self.leaves_more_room:
            deeds["leaves_more_room"] = ""
        return deeds

    def test_brings_the_total_down_to_the_target(
        self, asker: Asker, fitting: Fitting, record_property: RecordProperty
    ) -> None:
        """Drop until `request.total`, less the tokens of what leaves and plus your inserts, is at most the target.

        `request.target` may be lower than the budget. What is still over the budget after the call leaves by the
        host's own rule, with the reason `final-budget`, and the user gets that instead of your choice.
        """
        fits = [(case, fitting.fit(case)) for case in self._fitted()]
        used = [(case, result) for case, result in fits if was_used(result)]
        _record(record_property, [result for _, result in used])
        self._judge_room(asker, _over_target)
        self.judge(f"{case!r}: {fault}" for case, result in used for fault in _left_to_the_host(result))

    def test_leaves_out_no_more_than_it_must(self, asker: Asker) -> None:
        """Stop dropping at the target; or claim `leaves_more_room = True` when you mean to keep much less.

        Half of the room for what may leave should be used, give or take the heaviest group.
        """
        if not self.leaves_more_room:
            self._judge_room(asker, _room_wasted)

    def _judge_room(self, asker: Asker, rule: Callable[[Case, int], Iterable[str]]) -> None:
        """Judge what the requests cost once the guard has applied the edits."""
        self.judge(
            f"{case!r}: {fault}"
            for case, _, edit in self.edits(asker, self.cases())
            for fault in _room_faults(case, edit, rule)
        )
        self.keep_generated(lambda case: _room_faults(case, asker.ask(case).edit, rule))

    def test_groups_leave_whole(self, asker: Asker) -> None:
        """Drop by `request.groups`: name every id of a group that leaves.

        A call without its result is refused by most providers, so the host takes the rest of a group along: more
        leaves then than you counted.
        """
        self.keep(asker, rules.torn_groups)

    def test_shortening_saves_tokens(self, asker: Asker) -> None:
        """Shorten only where `services.count(keep_spans(text, spans))` is less than the text costs.

        The host writes a marker where it cuts, so a small cut can cost more than it saves. Such a cut is not made.
        """
        self.need("shortens")
        self.judge(
            f"{case!r}: shortening {', '.join(remark.ids)} saves no token"
            for case, _, edit in self.edits(asker, self.cases())
            for remark in case.guarded(edit, hook=self.hook)[1].diagnostics
            if remark.code == "not-shortened"
        )

    def test_a_second_fit_changes_nothing(self, fitting: Fitting) -> None:
        """Do nothing when `request.total` is within `request.budget`, also when your traits ask for every turn.

        What a fit gives back is sent, stored and fitted again. It must not get shorter each time.
        """
        for case in self._fitted():
            first = fitting.fit(case)
            if own_call(first) is not None and not was_used(first):
                continue
            second = fitting.fit_again(first.messages, 2 * first.budget.available)
            gone = [entry.id for entry in (*second.excluded, *second.truncated)]
            self.judge([f"{case!r}: fitted again, {', '.join(gone)} left or got shorter"] if gone else [])

    def test_summaries_cost_less_than_what_they_cover(self, asker: Asker) -> None:
        """Write a shorter summary, or none: compare `request.cost_of_insert(text)` with the tokens of `covers`.

        A summary that costs as much as the messages it stands for is refused by the host.
        """
        self.need("summarizes")
        self.keep(asker, rules.dear_summaries)

    def test_summaries_cover_only_what_leaves(self, asker: Asker) -> None:
        """List in `covers` only ids that the same edit drops.

        An edit whose summary covers a message that stays is rejected as a whole.
        """
        self.need("summarizes")
        self.keep(asker, lambda _, edit: rules.loose_covers(edit))

    def test_what_is_relevant_stays(self, asker: Asker) -> None:
        """Name in `relevant` only ids that stay.

        The report says `relevant` of what is kept because it matters to the current input.
        """
        self.need("names_relevant")
        self.keep(asker, lambda _, edit: rules.leaving_relevant(edit))

    def _fitted(self) -> Iterator[Case]:
        return (case for name in _FITTED for case in over_budget(chat_named(name)) if case.target == case.budget)


def _record(record_property: RecordProperty, results: Sequence[Fit]) -> None:
    shares = [result.tokens_after / result.budget.available for result in results]
    record_property("share_of_budget_used", round(fmean(shares), 3) if shares else 0.0)
    record_property("messages_left_out", sum(len(result.excluded) for result in results))
    record_property("texts_inserted", sum(len(result.inserted) for result in results))


def _left_to_the_host(result: Fit) -> Iterator[str]:
    late = [entry.id for entry in result.excluded if entry.reason == "final-budget"]
    if late:
        yield f"in a whole fit the host left out {len(late)} more messages (final-budget), {late[0]!r} first"


def _room_faults(case: Case, edit: Edit | None, rule: Callable[[Case, int], Iterable[str]]) -> Iterable[str]:
    if edit is None or not case.is_over or not case.can_be_met:
        return ()
    applied, _ = case.guarded(edit, hook=SHIFT)
    return () if applied is None else rule(case, applied.context.total)


def _over_target(case: Case, total: int) -> Iterator[str]:
    if total > case.target:
        yield f"the request costs {total} tokens after the edit, {total - case.target} over the target"


def _room_wasted(case: Case, total: int) -> Iterator[str]:
    context = case.context
    least = must_stay(context)
    heaviest = max(group.tokens for group in context.groups if is_free(group, context.protected))
    wanted = int((case.target - least) * _LEAST_USED) - heaviest
    if total - least < wanted:
        yield (
            f"of {case.target - least} tokens of room the edit leaves {total - least} in use; "
            f"at least {wanted} would be"
        )
