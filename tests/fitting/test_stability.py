"""A plugin that changes the older part of a request from turn to turn is named, tamed, and at last left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

import trimtab
from factories import Interceptor, Strategy
from talks import Chat, codes, count, insert, talk, turn
from trimtab.fitting.account import Deed
from trimtab.fitting.stability import BREAKS, PrefixWatch, Standing, View, breaks_prefix
from trimtab_sdk import AT_GAP, BEFORE_INPUT, Edit, Insert, Origin, Request, Services, Traits, before, hookimpl

Answer = Callable[[Request, Services], object]

IDLE = Deed(frozenset(), {}, ())
PLACES = {f"m{at}": at for at in range(10)}
CUT = {(0,): ((0, 4),)}


def view(*gone: str, end: int = 5, **cuts: Any) -> View:
    return View(end, frozenset(gone), cuts)


def deed(*dropped: str, inserts: Sequence[tuple[str, str]] = (), **cuts: Any) -> Deed:
    return Deed(frozenset(dropped), cuts, tuple(inserts))


def broke(last: Deed, now: Deed, before: View, after: View) -> bool:
    return breaks_prefix(last, now, before=before, after=after, places=PLACES)


def test_doing_the_same_again_breaks_nothing() -> None:
    same = deed("m1", inserts=[("note", "m2")], m3=CUT)
    sight = view("m1", m3=CUT)
    assert not broke(same, same, sight, sight)
    assert not broke(IDLE, IDLE, view(), view())


@pytest.mark.parametrize(
    ("last", "now", "before", "after"),
    [
        pytest.param(IDLE, deed("m1"), view(), view("m1"), id="leaves one out that was sent"),
        pytest.param(deed("m1"), IDLE, view("m1"), view(), id="sends one again"),
        pytest.param(IDLE, deed(m1=CUT), view(), view(m1=CUT), id="cuts one that was whole"),
        pytest.param(deed(m1=CUT), IDLE, view(m1=CUT), view(), id="cuts one no more"),
        pytest.param(IDLE, deed(inserts=[("a", "m1")]), view(), view(), id="adds a text"),
        pytest.param(deed(inserts=[("a", "m1")]), deed(inserts=[("b", "m1")]), view(), view(), id="another text"),
        pytest.param(deed(inserts=[("a", "m1")]), deed(inserts=[("a", "m2")]), view(), view(), id="another place"),
    ],
)
def test_what_breaks_the_prefix(last: Deed, now: Deed, before: View, after: View) -> None:
    assert broke(last, now, before, after)


@pytest.mark.parametrize(
    ("last", "now", "before", "after"),
    [
        pytest.param(IDLE, deed("m5", m6=CUT), view(), view("m5", m6=CUT), id="from the former input on"),
        pytest.param(IDLE, deed(inserts=[("a", "m5")]), view(), view(), id="a text before the former input"),
        pytest.param(IDLE, deed("tap:1"), view(), view("tap:1"), id="a text of another plugin"),
        pytest.param(deed("m1"), IDLE, view("m1"), view("m1"), id="another left it out"),
        pytest.param(IDLE, deed("m1"), view("m1"), view("m1"), id="another had left it out"),
        pytest.param(deed(m1=CUT), IDLE, view(m1=CUT), view("m1"), id="what it cut has left"),
        pytest.param(deed(m1=CUT), IDLE, view(m1=CUT), view(m1=CUT), id="its cut is carried on"),
    ],
)
def test_what_breaks_nothing(last: Deed, now: Deed, before: View, after: View) -> None:
    assert not broke(last, now, before, after)


def test_the_third_break_moves_the_texts_and_the_sixth_ends_the_calls() -> None:
    stages = []
    standing = Standing()
    for _ in range(2 * BREAKS):
        standing = standing.after(IDLE, broke=True)
        stages.append(standing.stage)
    assert stages == [None, None, "at-input", "at-input", "at-input", "off"]


def test_nothing_is_compared_with_what_came_before_another_stage_or_a_call_that_failed() -> None:
    key = (Origin("tap"), "trimtab_intercept")
    watch = PrefixWatch([key])

    def judge(name: str | None, *, explained: bool = False) -> None:
        deeds = {} if name is None else {key: deed(inserts=[(name, "m0")])}
        watch.judge(deeds, view(), places=PLACES, explained=explained)

    for name in ("a", "b", "c", None, "d"):
        judge(name)
    assert watch.stages == {}
    judge("e", explained=True)
    assert watch.stages == {}
    judge("f")
    assert watch.stages == {key: "at-input"}
    judge("g")
    for name in ("h", "i"):
        judge(name)
    assert watch.stages == {key: "at-input"}
    judge("j")
    assert watch.stages == {key: "off"}


class PerTurn(Strategy):
    """A strategy that is called on every turn."""

    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(per_turn=True)


def with_interceptor(answer: Answer) -> dict[str, Any]:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("tap", Interceptor(answer))
    return {"registry": registry}


def with_strategy(answer: Answer) -> dict[str, Any]:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", PerTurn(answer))
    return {"registry": registry, "strategy": "mine"}


def conversation(chat: Chat, limit: int, **options: Any) -> trimtab.Conversation:
    given = {"model": "gpt-4.1", "format": "neutral", "context_limit": limit, "reserve": 0, **options}
    return trimtab.Conversation(chat, **given)


def run(talking: trimtab.Conversation, turns: int, first: int = 0) -> list[trimtab.Fit]:
    """Fit after each of some turns."""
    fits = []
    for at in range(first, first + turns):
        talking.append(turn(f"a{at}", "assistant"), turn(f"u{at}", "user", f"And then, {at}?"))
        fits.append(talking.fit())
    return fits


def kept_shares(fits: Sequence[trimtab.Fit]) -> list[float]:
    """For each fit but the first, the share of the former request's messages that it begins with."""

    def same(old: list[object], new: list[object]) -> float:
        at = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(old))
        return at / len(old)

    return [same(old.messages, new.messages) for old, new in pairwise(fits)]


def unstable(fits: Sequence[trimtab.Fit]) -> list[bool]:
    return ["prefix-unstable" in codes(result) for result in fits]


def changing_head(request: Request, services: Services) -> Edit:
    """Another text in front of the first message of the talk, on each turn."""
    first = next(one for one in request.messages if one.id not in request.protected)
    return insert(f"{len(request.messages)} messages so far.", before(first.id))


def test_a_text_that_changes_at_the_head_breaks_the_prefix_until_it_is_moved_before_the_input() -> None:
    fits = run(conversation(talk(10), 100_000, **with_interceptor(changing_head)), 40)
    assert unstable(fits) == [False] * 3 + [True] * 37
    shares = kept_shares(fits)
    assert max(shares[:4]) < 0.1
    # Of each former request all but the text and the input behind it stands unchanged at the front.
    assert [round(share * len(old.messages)) for share, old in zip(shares[4:], fits[4:], strict=False)] == [
        len(old.messages) - 2 for old in fits[4:-1]
    ]
    assert min(shares[4:]) > 0.9
    assert all(len(result.inserted) == 1 for result in fits)
    assert all(result.messages[-2]["id"] == result.inserted[0].id for result in fits[4:])  # type: ignore[index]
    assert {result.calls[0].rejected for result in fits} == {""}


def test_the_diagnostic_names_the_plugin_and_what_is_done_about_it() -> None:
    fits = run(conversation(talk(10), 100_000, **with_interceptor(changing_head)), 5)
    (told,) = fits[3].diagnostics
    assert (told.code, told.plugin) == ("prefix-unstable", "tap")
    assert "its texts go before the current input" in told.message
    assert fits[4].diagnostics == fits[3].diagnostics


def test_an_interceptor_that_goes_on_breaking_the_prefix_is_called_no_more() -> None:
    def drop_one(request: Request, services: Services) -> Edit:
        return Edit(drop={f"m{len(request.messages) % 5}": "interceptor"})

    fits = run(conversation(talk(10), 100_000, **with_interceptor(drop_one)), 40)
    rejected = [result.calls[0].rejected for result in fits]
    # One fit to compare with, three breaks, one fit to compare with, three breaks.
    assert rejected == [""] * 8 + ["prefix-unstable"] * 32
    assert unstable(fits) == [False] * 3 + [True] * 37
    assert "not called in this conversation any more" in fits[-1].diagnostics[0].message
    assert kept_shares(fits)[8:] == [1.0] * 31


@pytest.mark.parametrize("limit", [100_000, 900])
def test_a_strategy_that_cuts_otherwise_on_each_turn_gives_way_to_the_hosts_own_shift(limit: int) -> None:
    def slide(request: Request, services: Services) -> Edit:
        free = [one.id for one in request.messages if one.id not in request.protected]
        return Edit(drop={free[0]: "context-shift", free[len(free) // 2]: "context-shift"})

    fits = run(conversation(talk(10), limit, **with_strategy(slide)), 40)
    assert fits[-1].calls[0].rejected == "prefix-unstable"
    assert "the host's own shift answers" in fits[-1].diagnostics[0].message
    assert all(result.tokens_after <= limit for result in fits)


def drop_logs(request: Request, services: Services) -> Edit:
    return Edit(drop={one.id: "interceptor" for one in request.messages if one.id.endswith("5")})


def shorten_all(request: Request, services: Services) -> Edit:
    free = [one.id for one in request.messages if one.id not in request.protected and one.source == "history"]
    return Edit(shorten={(name, (0,)): [(0, 40)] for name in free})


def steady_head(request: Request, services: Services) -> Edit | None:
    free = [one.id for one in request.messages if one.id not in request.protected and one.source == "history"]
    return insert("Keep it dry.", before(free[0])) if free else None


def changing_input(request: Request, services: Services) -> Edit:
    return insert(f"{len(request.messages)} messages so far.", BEFORE_INPUT)


def changing_gap(request: Request, services: Services) -> Edit:
    return insert(f"{len(request.messages)} messages so far.", AT_GAP)


@pytest.mark.parametrize("answer", [drop_logs, shorten_all, steady_head, changing_input, changing_gap])
@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
@pytest.mark.parametrize("share", [2.0, 0.6])
def test_a_well_behaved_interceptor_is_never_called_unstable(answer: Answer, strategy: str, share: float) -> None:
    chat = talk(30)
    talking = conversation(chat, int(count(chat) * share), strategy=strategy, **with_interceptor(answer))
    fits = run(talking, 80)
    assert any(result.excluded for result in fits)
    assert True not in unstable(fits)


def test_a_well_behaved_strategy_that_is_called_on_every_turn_is_never_called_unstable() -> None:
    def oldest(request: Request, services: Services) -> Edit:
        drop, total = {}, request.total
        for group in request.groups if request.total > request.budget else ():
            if total > request.target and request.protected.isdisjoint(group.ids):
                drop.update(dict.fromkeys(group.ids, "summarized"))
                total -= group.tokens
        return Edit(drop=drop, insert=[Insert("Crates.", covers=list(drop))] if drop else [])

    chat = talk(30)
    fits = run(conversation(chat, count(chat), **with_strategy(oldest)), 120)
    assert len({len(result.excluded) for result in fits}) > 5
    assert all(len(result.inserted) == 1 for result in fits)
    assert True not in unstable(fits)


def test_what_the_caller_does_explains_a_change() -> None:
    def by_number(request: Request, services: Services) -> Edit | None:
        return insert(f"{sum(one.pinned for one in request.messages)} pinned.", before("m0"))

    talking = conversation(talk(10), 100_000, **with_interceptor(by_number))
    fits = run(talking, 2)
    for at in range(1, 10):
        talking.pin(f"m{at}")
        fits += run(talking, 1, first=at + 10)
    assert len({result.messages[1]["content"] for result in fits}) == 10  # type: ignore[index]
    assert True not in unstable(fits)


@pytest.mark.parametrize("act", ["exclude", "remove", "edit"])
def test_taking_out_and_editing_explain_a_change(act: str) -> None:
    def measure(request: Request, services: Services) -> Edit:
        early = [one for one in request.messages if one.id.startswith("m")]
        said = sum(len(getattr(one.parts[0], "text", "")) for one in early)
        return insert(f"{said} signs by then.", before("m0"))

    talking = conversation(talk(10), 100_000, **with_interceptor(measure))
    fits = run(talking, 2)
    for at in range(1, 9):
        if act == "edit":
            talking.edit(f"m{at}", turn(f"m{at}", ("assistant", "user")[at % 2], "Short."))
        else:
            getattr(talking, act)(f"m{at}")
        fits += run(talking, 1, first=at + 10)
    assert len({result.messages[1]["content"] for result in fits}) == 9  # type: ignore[index]
    assert True not in unstable(fits)


def test_one_plugin_is_not_blamed_for_another() -> None:
    def drop_at_times(request: Request, services: Services) -> Edit:
        return Edit(drop={"m1": "interceptor"} if len(request.messages) % 4 < 2 else {})

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("fickle", Interceptor(drop_at_times))
    registry.register_interceptor("steady", Interceptor(lambda request, services: insert("Dry.", before("m1"))))
    config = trimtab.Config(interceptors=["fickle", "steady"])
    fits = run(conversation(talk(10), 100_000, registry=registry, config=config), 20)
    blamed = {one.plugin for result in fits for one in result.diagnostics}
    assert blamed == {"fickle"}


def test_several_fits_of_one_turn_are_compared_too() -> None:
    counted = iter(range(100))
    fickle = with_interceptor(lambda request, services: insert(f"Look {next(counted)}.", before("m0")))
    talking = conversation(talk(10), 100_000, **fickle)
    assert unstable([talking.fit() for _ in range(5)]) == [False] * 3 + [True] * 2


def test_built_ins_are_not_watched_and_single_fits_compare_nothing() -> None:
    options = with_interceptor(changing_head)
    for _ in range(5):
        assert codes(trimtab.fit(talk(), model="gpt-4.1", format="neutral", **options)) == []
