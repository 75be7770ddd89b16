"""The contract of an interceptor: a plugin with `trimtab_intercept`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from trimtab.config_models import INTERCEPTOR_SECONDS
from trimtab.conformance import rules
from trimtab.conformance.asking import Asker
from trimtab.conformance.base import RecordProperty
from trimtab.conformance.corpus import Chat, chat_named
from trimtab.conformance.fits import Fitting, own_call, was_used
from trimtab.conformance.plugin_contract import PluginContract
from trimtab.conformance.requests import Case, case_at, over_budget, with_room
from trimtab.loading.plugins import INTERCEPT
from trimtab.report import Fit
from trimtab_sdk.edit import Edit
from trimtab_sdk.messages import texts_of
from trimtab_sdk.request import Request

_FITTED = ("a talk", "tool calls", "many scripts", "secrets", "pins", "summaries from before")
_SHARES = (0.4, 1.0, 1.5)
_A_SECRET = 12


class InterceptorContract(PluginContract):
    """What a host and its users rely on in an interceptor.

        class TestMyInterceptor(InterceptorContract):
            @pytest.fixture
            def subject(self):
                return my_interceptor

    Claims besides those of every plugin, all of them no by default:

    - `drops`: it leaves messages out.
    - `redacts`: it shortens what must stay, to take secrets out. A host allows that only to interceptors that it
      names in `may_redact_protected`; without it the whole edit is rejected.
    """

    abilities = ("shortens", "inserts", "drops", "redacts", "needs_services")
    hook = INTERCEPT
    most_room = 1.5
    time_limit = INTERCEPTOR_SECONDS
    adding: ClassVar[tuple[str, ...]] = ("inserts",)

    drops: bool = False
    redacts: bool = False

    @property
    def may_redact(self) -> bool:
        """Whether it is allowed to shorten what must stay."""
        return self.redacts

    def cases_of(self, chat: Chat) -> Iterator[Case]:
        """Give a conversation within its budget, and over it as other plugins may have made it."""
        yield from with_room(chat)
        yield from list(over_budget(chat))[:1]

    def deeds_of(self, request: Request, edit: Edit) -> Mapping[str, str]:
        """Give the abilities that an edit makes use of."""
        deeds: dict[str, str] = {}
        for name, _ in edit.shorten:
            if name in request.protected:
                deeds["redacts"] = f"shortens {name!r}, which must stay"
            elif not self.redacts:
                deeds["shortens"] = f"shortens {name!r}"
        if edit.insert:
            deeds["inserts"] = f"inserts a text at {edit.insert[0].anchor}"
        if edit.drop:
            deeds["drops"] = f"drops {next(iter(edit.drop))!r}"
        return deeds

    def test_groups_leave_whole(self, asker: Asker) -> None:
        """Drop by `request.groups`: name every id of a group that leaves.

        A call without its result is refused by most providers, so the host takes the rest of a group along.
        """
        self.keep(asker, rules.torn_groups)

    def test_a_second_fit_changes_nothing(self, fitting: Fitting, record_property: RecordProperty) -> None:
        """Leave alone what you have cut already: look for the marker `[…]`, and drop nothing of what is left.

        The same conversation must give the same request again, and what a fit gives back is sent, stored and
        fitted again: it must not get shorter each time.
        """
        fits = [(case, fitting.fit(case)) for case in _fitted()]
        used = [(case, result) for case, result in fits if was_used(result)]
        _record(record_property, [result for _, result in used])
        self.judge(
            f"{case!r}: {fault}"
            for case, result in used
            for fault in (*_otherwise(result, fitting.fit(case)), *_shorter(result, fitting))
        )

    def test_what_is_redacted_stands_nowhere_else(self, asker: Asker) -> None:
        """Cut a secret out of every text it stands in: of all roles and sources, tool results included.

        A secret that stays in one message is sent all the same.
        """
        self.need("redacts")
        self.judge(
            f"{case!r}: {fault}"
            for case, _, edit in self.edits(asker, self.cases())
            for fault in _still_there(case, edit)
        )


def _fitted() -> list[Case]:
    return [case_at(chat_named(name), share) for name in _FITTED for share in _SHARES]


def _record(record_property: RecordProperty, results: Sequence[Fit]) -> None:
    calls = [call for result in results if (call := own_call(result)) is not None]
    record_property("messages_left_out", sum(call.dropped for call in calls))
    record_property("messages_shortened", sum(call.shortened for call in calls))
    record_property("texts_inserted", sum(call.inserted for call in calls))
    record_property("tokens_inserted", sum(call.insert_tokens for call in calls))


def _otherwise(first: Fit, again: Fit) -> Iterator[str]:
    if first.messages != again.messages:
        yield "two fits of the same conversation gave two requests"


def _shorter(first: Fit, fitting: Fitting) -> Iterator[str]:
    second = fitting.fit_again(first.messages, 2 * first.budget.available)
    its_own = {entry.id for entry in first.inserted}
    for entry in (*second.excluded, *second.truncated):
        if entry.reason == "interceptor" and entry.id not in its_own:
            yield f"fitted again, {entry.id!r} left or got shorter"


def _still_there(case: Case, edit: Edit) -> Iterator[str]:
    applied, _ = case.guarded(edit, hook=INTERCEPT, may_redact=True)
    if applied is None:
        return
    left = [(message.id, text) for message in applied.context.messages for _, text in texts_of(message)]
    for piece in _pieces_cut(case, edit):
        for name, text in left:
            if piece in text:
                yield f"a piece of {len(piece)} characters that was cut out still stands in {name!r}"


def _pieces_cut(case: Case, edit: Edit) -> Iterator[str]:
    texts = {(one.id, path): text for one in case.chat.messages for path, text in texts_of(one)}
    for key, spans in edit.shorten.items():
        ends = [0, *(stop for _, stop in spans)]
        starts = [*(start for start, _ in spans), len(texts[key])]
        for end, start in zip(ends, starts, strict=True):
            piece = texts[key][end:start].strip()
            if len(piece) >= _A_SECRET:
                yield piece
