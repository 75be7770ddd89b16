"""The rules that strategies and interceptors share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, TypeAlias

import pytest

from trimtab.conformance import rules
from trimtab.conformance.asking import COUNT, Asker
from trimtab.conformance.base import Contract, RecordProperty
from trimtab.conformance.conduct_rules import (
    as_in_a_worker,
    changes_by,
    failures,
    failures_now,
    growth,
    leaks_between,
    new_prefixes,
    quickest,
    secret_chat,
)
from trimtab.conformance.corpus import Chat, chat_named, corpus, long_talk
from trimtab.conformance.elsewhere import UnmadeError, answers_elsewhere, edit_values
from trimtab.conformance.fits import Fitting, make_fitting
from trimtab.conformance.generated import check_generated
from trimtab.conformance.requests import SUBJECT, Case, case_at, without_hope
from trimtab.conformance.shape import shape_faults
from trimtab.conformance.traits_rules import (
    default_settings,
    refusals,
    schema_faults,
    traits_faults,
    wrong_settings,
)
from trimtab.fitting.recording import UNSTABLE
from trimtab.loading.plugins import SHIFT, Plugin, make_plugin
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import Origin, PluginLoadError, PluginRejectedError
from trimtab_sdk.messages import Message
from trimtab_sdk.request import Request
from trimtab_worker.hooks import HookError, find_hooks, read_traits

Rule: TypeAlias = Callable[[Request, Edit], Iterable[str]]
"""Tells what in an edit of the right types breaks a rule."""

_SOON = 0.02
_PATIENCE = 10.0
_GROWTH = 30.0
_LATE = "a call was late; mend test_answers_every_conversation first"


class PluginContract(Contract):
    """What every strategy and interceptor must keep; `StrategyContract` and `InterceptorContract` add the rest.

    Claims and settings are class attributes:

    - `settings`: the settings that every call gets.
    - `shortens`: it keeps only spans of some texts. `inserts`: it adds texts.
    - `needs_services`: services besides `count` that it makes use of, as `("embed",)`.
    - `more_conversations`: lists of messages of your own, for what the corpus does not show.
    - `examples`: how many generated conversations each rule is tried on.
    """

    hook: ClassVar[str]
    most_room: ClassVar[float]
    time_limit: ClassVar[float]
    adding: ClassVar[tuple[str, ...]] = ("inserts",)

    settings: Mapping[str, object] = {}
    shortens: bool = False
    inserts: bool = False
    needs_services: tuple[str, ...] = ()
    more_conversations: Sequence[Sequence[Message]] = ()
    examples: int = 25

    _late: ClassVar[set[type]] = set()

    @pytest.fixture
    def plugin(self, subject: object) -> Plugin:
        """The subject, checked as a host checks it."""
        try:
            return make_plugin(subject, Origin(SUBJECT), hook=self.hook)
        except PluginLoadError as error:
            self.not_judged(f"it is no plugin yet ({error.reason})")

    @pytest.fixture
    def asker(self, plugin: Plugin) -> Asker:
        """What calls the hook directly, within a few seconds."""
        if type(self) in self._late:
            self.not_judged(_LATE)
        offered = frozenset({COUNT, *plugin.traits.needs, *self.needs_services})
        return Asker(plugin, self.hook, self.settings, offered, min(self.time_limit, _PATIENCE))

    @pytest.fixture
    def fitting(self, subject: object, asker: Asker) -> Fitting:
        """What makes whole fits with the subject."""
        return make_fitting(subject, hook=self.hook, settings=self.settings, may_redact=self.may_redact)

    @property
    def may_redact(self) -> bool:
        """Whether it is allowed to shorten what must stay."""
        return False

    def cases_of(self, chat: Chat) -> Iterator[Case]:
        """Give a conversation with the budgets that such a plugin meets."""
        raise NotImplementedError

    def quiet_cases(self, asker: Asker) -> Iterator[Case]:
        """Give cases that the other rules have no use for, and that must be answered all the same."""
        return iter(())

    def deeds_of(self, request: Request, edit: Edit) -> Mapping[str, str]:
        """Give the abilities that an edit makes use of, each with what it did."""
        raise NotImplementedError

    def cases(self) -> Iterator[Case]:
        """Give the author's conversations and the corpus, with the budgets that such a plugin meets."""
        own = [Chat(f"your own {at}", tuple(one)) for at, one in enumerate(self.more_conversations)]
        return (case for chat in (*own, *corpus()) for case in self.cases_of(chat))

    def edits(self, asker: Asker, cases: Iterable[Case]) -> Iterator[tuple[Case, Request, Edit]]:
        """Give the answers that other rules can judge; end the test when none of the answers is one of these."""
        asked = judged = 0
        for case in cases:
            asked += 1
            reply = asker.ask(case)
            if reply.late:
                self._late.add(type(self))
                self.not_judged(_LATE)
            if (edit := reply.edit) is not None:
                judged += 1
                yield case, reply.request, edit
        if asked and not judged:
            self.not_judged("no answer was an edit; mend the tests of what it answers first")

    def keep(self, asker: Asker, rule: Rule) -> None:
        """Judge a rule on all conversations, then on generated ones."""
        __tracebackhide__ = True
        self.judge(
            _of(case, fault)
            for case, request, edit in self.edits(asker, self.cases())
            for fault in rule(request, edit)
        )
        self.keep_generated(lambda case: _broken_by(asker, case, rule))

    def keep_generated(self, faults: Callable[[Case], Iterable[str]]) -> None:
        """Judge generated cases."""
        __tracebackhide__ = True

        def check(case: Case) -> None:
            __tracebackhide__ = True
            self.judge(_of(case, fault) for fault in faults(case))

        check_generated(check, most=self.most_room, examples=self.examples)

    def test_is_a_plugin(self, subject: object) -> None:
        """Give the module or the instance that your entry point names, with the hook marked by `hookimpl`.

        A class instead of an instance, a hook that nobody specified, an argument that the specification does not
        have and hooks that wrap others are refused by every host.
        """
        try:
            find_hooks(subject, hook=self.hook)
        except HookError as error:
            self.judge([f"the subject {error}"])

    def test_its_traits_are_traits(self, subject: object) -> None:
        """Let `trimtab_traits` return `trimtab_sdk.Traits(...)` or None, with values of the types it names.

        A plugin whose traits raise or are anything else is not loaded.
        """
        try:
            hooks = find_hooks(subject, hook=self.hook)
        except HookError as error:
            self.not_judged(f"it is no plugin yet ({error})")
        try:
            traits = read_traits(hooks)
        except HookError as error:
            self.judge([f"the subject: {error}"])
        else:
            self.judge(traits_faults(traits))

    def test_its_settings_schema_is_a_json_schema(self, plugin: Plugin) -> None:
        """Mend `settings_schema`: it must be a JSON schema (draft 2020-12) of plain JSON values, or None.

        No setting can be given to a plugin whose schema cannot be read.
        """
        self.judge(schema_faults(plugin.traits.settings_schema))

    def test_its_default_settings_are_allowed(self, plugin: Plugin) -> None:
        """Make every `default` in your schema, and the contract's `settings`, something your schema allows.

        What the schema calls a default is what users copy first.
        """
        self._need_schema(plugin)
        self.judge(refusals(plugin, {**default_settings(plugin.traits), **self.settings}))

    def test_wrong_settings_are_refused(self, plugin: Plugin) -> None:
        """Add `"additionalProperties": False` to your schema, and a `type` to every property.

        A misspelt setting, or one of the wrong type, must be told to the user and not be passed over.
        """
        self._need_schema(plugin)
        wrong = wrong_settings(plugin.traits)
        self.judge(f"the settings {one} are accepted" for one in wrong if not any(refusals(plugin, one)))

    def _need_schema(self, plugin: Plugin) -> None:
        if any(schema_faults(plugin.traits.settings_schema)):
            self.not_judged("the settings schema cannot be read; mend it first")

    def test_answers_every_conversation(self, asker: Asker) -> None:
        """Find out why the hook raised or was late; answer None when there is nothing to do.

        Conversations may be empty, hold calls without results and results without calls, texts in any script and
        messages without any text. A call that raises or is late is replaced by the host's own shift, or skipped.
        """
        for case in (*self.cases(), *self.quiet_cases(asker)):
            self._must_answer(asker, case)
        check_generated(lambda case: self._must_answer(asker, case), most=self.most_room, examples=self.examples)

    def _must_answer(self, asker: Asker, case: Case) -> None:
        reply = asker.ask(case)
        if reply.late:
            self._late.add(type(self))
        try:
            self.judge(_of(case, fault) for fault in failures(reply))
        except AssertionError as error:
            raise error from reply.error

    def test_answers_an_edit_or_none(self, asker: Asker) -> None:
        """Return `trimtab_sdk.Edit(...)` or None, made of plain dicts, lists, tuples, texts and whole numbers.

        Types are checked exactly, since a subclass could lie, and everything must go through JSON. An answer of
        any other type is rejected as a whole.
        """

        def faults(case: Case) -> Iterator[str]:
            reply = asker.ask(case)
            if isinstance(reply.error, PluginRejectedError):
                yield reply.error.reason
            elif reply.error is None and not reply.late:
                yield from shape_faults(reply.answer)

        self.judge(_of(case, fault) for case in self.cases() for fault in faults(case))
        self.keep_generated(faults)

    def test_names_only_messages_of_its_request(self, asker: Asker) -> None:
        """Take every id from `request.messages` of this call; anchors are AT_GAP, BEFORE_INPUT and before(id).

        An edit that names an unknown message is rejected as a whole.
        """
        self.keep(asker, rules.unknown_ids)

    def test_keeps_what_must_stay(self, asker: Asker) -> None:
        """Leave every id in `request.protected` out of `drop` and `shorten`.

        An edit that touches one is rejected as a whole, and the user is told.
        """
        self.keep(asker, lambda request, edit: rules.touched_protected(request, edit, may_shorten=self.may_redact))

    def test_the_same_request_gets_the_same_edit(self, asker: Asker) -> None:
        """Take out what differs from call to call: random numbers, the clock, counters, caches of answers.

        A context that changes without a reason costs the user the provider's prompt cache.
        """
        self.judge(
            _of(case, f"two calls, two answers: {one!s:.300} and {two!s:.300}")
            for case, _, edit in self.edits(asker, self.cases())
            if (one := edit_values(edit)) != (two := edit_values(asker.ask(case).edit))
        )

    def test_another_process_gives_the_same_edit(self, subject: object, asker: Asker) -> None:
        """Sort what you take out of a set, and use no `hash()` of a text and no `id()`.

        The order of a set of texts differs from process to process, and so would the user's context.
        """
        cases = [case for chat in corpus() if len(chat.messages) <= 100 for case in self.cases_of(chat)]
        self._need_steady(asker, cases)
        try:
            there = answers_elsewhere(subject, asker, cases)
        except UnmadeError as error:
            self.not_judged(str(error))
        here = [edit_values(asker.ask(case).edit) for case in cases]
        self.judge(
            _of(case, f"answers differ between two processes: {one!s:.300} and {two!s:.300}")
            for case, one, two in zip(cases, here, there, strict=True)
            if one != two
        )

    def test_leaves_its_request_alone(self, asker: Asker) -> None:
        """Work on copies: change nothing that hangs on the request, its messages, their meta or the settings.

        The request is made for one call, so a change reaches nobody; but other code of yours may count on it.
        """
        self.judge(_of(case, fault) for case in self.cases() for fault in changes_by(asker, case))

    def test_keeps_nothing_of_another_conversation(self, asker: Asker) -> None:
        """Keep no conversation in a global, on the instance or in a cache that other conversations read.

        One process serves many people. What one of them wrote must never reach another.
        """
        one, other = chat_named("a talk"), secret_chat()
        self._need_steady(asker, [case_at(one, 0.35)])
        self.judge(leaks_between(asker, one, other))

    def _need_steady(self, asker: Asker, cases: Iterable[Case]) -> None:
        for case in cases:
            if edit_values(asker.ask(case).edit) != edit_values(asker.ask(case).edit):
                self.not_judged("answers differ from call to call; mend that first")

    def test_works_when_nothing_can_leave(self, asker: Asker) -> None:
        """Answer None or an empty Edit when every message is in `request.protected`, even if that is too much.

        The host tells the user which messages are too heavy; a plugin cannot help there.
        """
        for name in ("only protected", "empty", "one message"):
            case = without_hope(chat_named(name))
            self.judge(_of(case, fault) for fault in failures(asker.ask(case)))

    def test_asks_only_for_services_that_are_offered(self, asker: Asker) -> None:
        """Ask `services.can("embed")` before `services.embed`, and do without where it says no.

        A service without which your plugin makes no sense belongs into `Traits(needs=("embed",))`: it is not
        called then where the host has none.
        """
        needs = asker.plugin.traits.needs
        self.judge(
            _of(case, f"called services.{name} although services.can({name!r}) is False")
            for case in self.cases()
            for name in asker.ask(case, offered=needs).desk.refused
        )

    def test_lives_with_a_failing_service(self, asker: Asker) -> None:
        """Catch what a service raises, and answer without it; say so in a note.

        An embedder may be out of reach at any time, and a plugin that raises is replaced.
        """
        self.need("needs_services")
        self.judge(
            _of(case, fault)
            for case in self.cases()
            for fault in failures_now(asker, case, asker.ask(case, failing=True), "when a service fails")
        )

    def test_answers_when_the_deadline_is_near(self, asker: Asker) -> None:
        """Look at `services.deadline` before costly work, and answer the simplest edit when little time is left.

        Waiting, or raising because time is short, only means that the host answers in your place.
        """
        for name, due in (("a talk", _SOON), ("2,000 messages", _SOON), ("tool calls", -1.0)):
            self.judge(
                _of(case, fault)
                for case in self.cases_of(chat_named(name))
                for fault in failures_now(asker, case, asker.ask(case, due_in=due), f"with {due:g} s left")
            )

    def test_does_only_what_it_claims(self, asker: Asker) -> None:
        """Claim what your plugin does, as the lines above say, so that the rules for it are tried.

        What nobody claimed nobody has tested.
        """
        found: dict[str, str] = {}
        for case, request, edit in self.edits(asker, self.cases()):
            for ability, deed in self.deeds_of(request, edit).items():
                if not self.claims(ability):
                    claim = f"write `{ability} = True` in your contract class, or stop doing it"
                    found.setdefault(ability, _of(case, f"{deed}; {claim}"))
        self.judge(found.values())

    def test_does_what_it_claims(self, asker: Asker) -> None:
        """Take the claim back, or show it: by `settings` that switch it on, or in `more_conversations`.

        Rules about something that never happens in a test prove nothing.
        """
        claimed = {name for name in self.abilities if self.claims(name)} - {"needs_services"}
        edits = self.edits(asker, self.cases())
        seen = {ability for _, request, edit in edits for ability in self.deeds_of(request, edit)}
        self.judge(f"claims `{name}`, and did it in no conversation" for name in sorted(claimed - seen))

    def test_spans_keep_pieces_of_texts(self, asker: Asker) -> None:
        """Give spans as (start, end) in code points of the text at that path, ascending and apart, none empty.

        Offsets in bytes or UTF-16 units go wrong with the first emoji. Take texts and paths from
        `trimtab_sdk.texts_of(message)`: calls, reasoning and files cannot be shortened.
        """
        self.need("shortens")
        self.keep(asker, rules.wrong_spans)

    def test_inserts_stay_within_their_share(self, asker: Asker) -> None:
        """Ask `request.cost_of_insert(text)`: inserts may cost 15 % of the budget, summaries 12 % (128 to 4,096).

        What is above its share is refused by the host, and named.
        """
        self.need(*self.adding)
        is_strategy = self.hook == SHIFT
        self.keep(asker, lambda request, edit: rules.over_share(request, edit, is_strategy=is_strategy))

    def test_inserts_say_something(self, asker: Asker) -> None:
        """Leave an insert out when its text is empty or blank.

        An edit with an empty insert is rejected as a whole.
        """
        self.need(*self.adding)
        self.keep(asker, lambda _, edit: rules.empty_inserts(edit))

    def test_inserts_bring_no_labels_of_their_own(self, asker: Asker) -> None:
        """Write the bare text: the host labels it with your plugin's name. Quote texts by `without_label(text)`.

        What looks like a label inside an insert is disarmed, so the model reads something else than you wrote.
        """
        self.need(*self.adding)
        self.keep(asker, lambda _, edit: rules.own_labels(edit))

    def test_words_are_short_and_plain(self, asker: Asker) -> None:
        """Keep notes to 500 characters and reasons to 40, without control characters, colours and the like.

        They end up in terminals and reports. Reasons that the report knows are context-shift, running-turn,
        low-relevance and summarized.
        """
        self.keep(asker, lambda _, edit: rules.unfit_words(edit))

    def test_works_on_what_a_worker_sees(self, asker: Asker) -> None:
        """Do without `meta`, the data of pictures and unknown parts: confined, your plugin gets none of these.

        Hosts run plugins of strangers in a worker, which sees id, role, source, flags, tokens and texts.
        """
        self.judge(
            _of(case, fault)
            for case in self.cases()
            for fault in failures_now(
                asker, case, asker.hand(as_in_a_worker(asker, case)), "on what a worker sees"
            )
        )

    def test_the_prefix_stays_the_same(self, fitting: Fitting, record_property: RecordProperty) -> None:
        """Treat the older messages alike from turn to turn: no counters, no dates, no new place for an insert.

        Put what changes in front of the current input (`BEFORE_INPUT`). A request that begins otherwise than the
        one before is paid for in full; a host names such a plugin, and then calls it no more.
        """
        fits = list(fitting.turns())
        breaks = new_prefixes([result.messages for result in fits])
        record_property("turns", len(fits))
        record_property("turns_with_a_new_prefix", breaks)
        unstable = {one.message for result in fits for one in result.diagnostics if one.code == UNSTABLE}
        self.judge(f"in {len(fits)} turns of one conversation: {words}" for words in sorted(unstable))
        if fitting.cuts_now_and_then and breaks > len(fits) // 2:
            self.judge([f"{breaks} of {len(fits)} requests did not begin like the one before"])

    def test_time_grows_no_faster_than_the_conversation(
        self, asker: Asker, record_property: RecordProperty
    ) -> None:
        """Look for a loop in a loop: `in` a list, `list.index`, `list.pop(0)`, adding up the same tokens again.

        Ten times the messages may take ten times the time, with much slack. Sets, dicts and one pass over
        `request.groups` keep it so.
        """
        few = quickest(asker, case_at(long_talk(500), 0.35), samples=10)
        many = quickest(asker, case_at(long_talk(5_000), 0.35))
        record_property("milliseconds_at_500", _milliseconds(few.seconds))
        record_property("milliseconds_at_5000", _milliseconds(many.seconds))
        if (times := growth(few, many)) > _GROWTH:
            took = (
                f"500 messages took {_milliseconds(few.seconds)} ms, 5,000 took {_milliseconds(many.seconds)} ms"
            )
            self.judge([f"{took}: {times:.0f} times the work"])

    def test_answers_ten_thousand_messages_in_time(
        self, plugin: Plugin, asker: Asker, record_property: RecordProperty
    ) -> None:
        """Make it quicker: count less, look at each message once, stop when the target is reached.

        A host waits 60 seconds for a strategy and 5 for an interceptor, and not a moment longer.
        """
        for size in (100, 1_000):
            reply = quickest(asker, case_at(long_talk(size), 0.35))
            record_property(f"milliseconds_at_{size}", _milliseconds(reply.seconds))
        patient = Asker(plugin, self.hook, self.settings, asker.offered, self.time_limit)
        reply = patient.ask(case_at(long_talk(10_000), 0.35))
        record_property("milliseconds_at_10000", _milliseconds(reply.seconds))
        self.judge(failures(reply, "with 10,000 messages"))


def _of(case: Case, fault: str) -> str:
    return f"{case!r}: {fault}"


def _broken_by(asker: Asker, case: Case, rule: Rule) -> Iterable[str]:
    reply = asker.ask(case)
    edit = reply.edit
    return () if edit is None else rule(reply.request, edit)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
