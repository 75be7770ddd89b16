"""What a fit tells of each plugin that was due: who, what it did, what went wrong, and what a worker reported."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import trimtab
from factories import Interceptor, Strategy
from talks import Chat, codes, count, fit, ids, insert, talk, turn
from trimtab.fitting.calling import CallTrace, PluginCaller
from trimtab_sdk import (
    Edit,
    Insert,
    PluginSuspendedError,
    Request,
    Services,
    before,
)

Answer = Callable[[Request, Services], object]
SHIFT, INTERCEPT = "trimtab_shift", "trimtab_intercept"


def plugins(answer: Answer, *interceptors: Answer, **config: Any) -> dict[str, Any]:
    """Options of a fit with the strategy `mine` and the interceptors `tap0`, `tap1` and so on."""
    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", Strategy(answer))
    names = [f"tap{at}" for at in range(len(interceptors))]
    for name, tap in zip(names, interceptors, strict=True):
        registry.register_interceptor(name, Interceptor(tap))
    return {
        "strategy": "mine",
        "registry": registry,
        "config": trimtab.Config(interceptors=names, **config),
    }


def nothing(request: Request, services: Services) -> None:
    return None


def crash(request: Request, services: Services) -> None:
    raise RuntimeError("lost")


def conversation(chat: Chat, limit: int, **options: Any) -> trimtab.Conversation:
    given = {"model": "gpt-4.1", "format": "neutral", "context_limit": limit, "reserve": 0, **options}
    return trimtab.Conversation(chat, **given)


def say_more(talking: trimtab.Conversation, at: int) -> None:
    talking.append(turn(f"a{at}", "assistant", "Yes."), turn(f"u{at}", "user", f"And then, {at}?"))


class Worker(PluginCaller):
    """Calls in this process, and fills in the trace as a worker would."""

    def __init__(
        self, *, took: float = 0.0, asked: int = 0, output: str = "", refused: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.given: list[float | None] = []
        self.forgotten: list[str] = []
        self.scopes: list[str | None] = []
        self._told = (took, asked, output, refused or {})

    def call(self, *args: Any, trace: CallTrace, seconds: float | None = None, **options: Any) -> object:
        self.given.append(seconds)
        self.scopes.append(options["scope"])
        try:
            return super().call(*args, trace=trace, seconds=seconds, **options)
        finally:
            trace.confined = True
            trace.seconds, trace.asked, trace.output, trace.refused = self._told

    def forget(self, scope: str) -> None:
        self.forgotten.append(scope)


def use(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setattr("trimtab.opening._CALLER", worker)
    return worker


def test_each_call_is_told_in_the_order_they_ran_built_ins_too() -> None:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("zz", Interceptor(nothing))
    registry.register_interceptor("aa", Interceptor(nothing))
    chat = talk()
    config = trimtab.Config(interceptors=["zz", "aa"])
    result = fit(chat, count(chat) - 1, registry=registry, config=config)
    assert [(one.plugin, one.hook, one.built_in) for one in result.calls] == [
        ("truncate", SHIFT, True),
        ("zz", INTERCEPT, False),
        ("aa", INTERCEPT, False),
    ]
    assert result.calls[0].distribution == "trimtab"
    assert all(one.seconds > 0 for one in result.calls)


def test_a_fit_under_its_budget_calls_no_strategy() -> None:
    assert fit(talk(), 100_000).calls == ()


def test_what_was_left_out_shortened_and_inserted_is_counted_by_plugin() -> None:
    def cut(request: Request, services: Services) -> Edit:
        return Edit(drop={"m0": "context-shift", "m1": "context-shift"}, shorten={("m2", (0,)): [(0, 20)]})

    chat = talk()
    result = fit(chat, count(chat) - 1, **plugins(cut, lambda request, services: insert("Keep it dry.")))
    strategy, tap = result.calls
    assert (strategy.dropped, strategy.shortened, strategy.inserted) == (2, 1, 0)
    assert (tap.dropped, tap.shortened, tap.inserted) == (0, 0, 1)
    assert tap.insert_tokens == result.inserted[0].tokens


def test_the_rest_of_a_group_and_what_is_cut_to_nothing_count_as_left_out() -> None:
    call = {
        "id": "a",
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "x", "name": "f", "arguments": {}}],
    }
    chat = [turn("u"), call, {"id": "r", "role": "tool", "tool_call_id": "x", "content": "ok"}, *talk(4)[1:]]

    def cut(request: Request, services: Services) -> Edit:
        return Edit(drop={"r": "context-shift"}, shorten={("u", (0,)): []})

    result = fit(chat, count(chat) - 1, **plugins(cut))
    assert ids(result.excluded) == ["u", "a", "r"]
    assert result.calls[0].dropped == 3
    assert result.calls[0].shortened == 0


def test_a_refused_insert_is_not_counted() -> None:
    chat = talk()
    result = fit(chat, count(chat), **plugins(nothing, lambda request, services: insert("word " * 900)))
    assert codes(result) == ["insert-refused"]
    assert (result.calls[0].inserted, result.calls[0].insert_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (crash, "PLUGIN_CRASHED"),
        (lambda request, services: {}, "PLUGIN_REJECTED"),
        (lambda request, services: Edit(drop={"s": "context-shift"}), "PROTECTED_CONTEXT_REMOVED"),
    ],
)
def test_a_call_of_which_nothing_was_used_says_why(answer: Answer, code: str) -> None:
    result = fit(talk(), 100_000, **plugins(nothing, answer))
    (call,) = result.calls
    assert (call.rejected, call.dropped) == (code, 0)
    assert codes(result) == [code]


def test_what_was_restored_is_named() -> None:
    edit = Edit(drop={"m0": "context-shift", "s": "context-shift"}, shorten={("m7", (0,)): [(0, 4)]})
    chat = talk()
    result = fit(chat, count(chat) - 1, **plugins(lambda request, services: edit))
    assert result.calls[0].restored == ("s", "m7")


def test_the_record_is_json_and_says_only_what_there_is_to_say() -> None:
    chat = talk()
    strategy, crashed = json.loads(json.dumps(fit(chat, count(chat) - 1, **plugins(nothing, crash)).to_dict()))[
        "calls"
    ]
    assert strategy.pop("milliseconds") >= 0
    assert strategy == {
        "plugin": "mine",
        "hook": SHIFT,
        "builtIn": False,
        "confined": False,
        "dropped": 0,
        "shortened": 0,
        "inserted": 0,
        "insertTokens": 0,
    }
    assert crashed["rejected"] == "PLUGIN_CRASHED"
    built_in = fit(chat, count(chat) - 1).to_dict()["calls"]
    assert built_in[0]["distribution"] == "trimtab"  # type: ignore[index]


def test_two_fits_are_equal_however_long_their_calls_took(monkeypatch: pytest.MonkeyPatch) -> None:
    chat, options = talk(), plugins(nothing)
    use(Worker(took=1.0), monkeypatch)
    first = fit(chat, count(chat) - 1, **options)
    use(Worker(took=2.0), monkeypatch)
    assert fit(chat, count(chat) - 1, **options) == first


def test_what_a_worker_reports_stands_in_the_record_and_the_diagnostics(monkeypatch: pytest.MonkeyPatch) -> None:
    use(
        Worker(took=0.25, asked=7, output="seen \x1b[31m3 crates\n", refused={"landlock": "no such call"}),
        monkeypatch,
    )
    result = fit(talk(), 100_000, **plugins(nothing, nothing))
    (call,) = result.calls
    assert (call.confined, call.seconds, call.asked, call.output) == (True, 0.25, 7, "seen [31m3 crates")
    assert result.to_dict()["calls"][0]["milliseconds"] == 250.0  # type: ignore[index]
    told = {one.code: (one.plugin, one.message) for one in result.diagnostics}
    assert told["plugin-output"] == ("tap0", "seen [31m3 crates")
    assert told["confinement-incomplete"] == (
        "tap0",
        "the platform refused steps of its confinement: landlock: no such call",
    )


def test_a_worker_reports_also_when_its_plugin_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    use(Worker(output="about to fall", refused={"seccomp": "not here"}), monkeypatch)
    result = fit(talk(), 100_000, **plugins(nothing, crash))
    assert codes(result) == ["confinement-incomplete", "plugin-output", "PLUGIN_CRASHED"]
    assert result.calls[0].output == "about to fall"


def test_three_failures_suspend_an_interceptor_for_the_chat_and_for_no_other() -> None:
    options = plugins(nothing, crash, lambda request, services: insert("still here"))
    talking = conversation(talk(), 100_000, **options)
    seen = []
    for at in range(5):
        result = talking.fit()
        seen.append(result.calls[0].rejected)
        assert [one.plugin for one in result.inserted] == ["tap1"]
        assert codes(result) == [seen[-1]]
        say_more(talking, at)
    assert seen == ["PLUGIN_CRASHED"] * 3 + ["PLUGIN_SUSPENDED"] * 2
    assert conversation(talk(), 100_000, **options).fit().calls[0].rejected == "PLUGIN_CRASHED"


def test_in_place_of_a_suspended_strategy_the_hosts_own_shift_answers() -> None:
    strategy = Strategy(crash)
    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", strategy)
    chat = talk()
    results = [
        fit(chat, count(chat) - 1, strategy="mine", registry=registry, scope="of-a-suspended-strategy")
        for _ in range(5)
    ]
    assert [codes(result) for result in results] == [["PLUGIN_CRASHED"]] * 3 + [["PLUGIN_SUSPENDED"]] * 2
    assert all(ids(result.excluded) == ["m0"] for result in results)
    assert len(strategy.requests) == 3


def test_without_a_scope_no_strike_is_kept() -> None:
    options = plugins(nothing, crash)
    assert {fit(talk(), 100_000, **options).calls[0].rejected for _ in range(5)} == {"PLUGIN_CRASHED"}


def test_a_suspended_plugin_ends_the_fit_where_the_config_asks_for_that() -> None:
    chat = talk()
    failing = plugins(crash)
    for _ in range(3):
        fit(chat, count(chat) - 1, scope="of-a-strict-host", **failing)
    with pytest.raises(PluginSuspendedError, match="plugin mine in trimtab_shift: failed 3 times"):
        fit(
            chat,
            count(chat) - 1,
            scope="of-a-strict-host",
            **{**failing, "config": trimtab.Config(on_violation="error")},
        )


def test_the_allowance_of_a_turn_limits_its_calls_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = use(Worker(took=4.0), monkeypatch)
    talking = conversation(talk(), 100_000, **plugins(nothing, nothing))
    results = [talking.fit() for _ in range(5)]
    assert worker.given == [5.0, 5.0, 2.0]
    assert [codes(result) for result in results] == [[], [], [], ["PLUGIN_TIMEOUT"], ["PLUGIN_TIMEOUT"]]
    assert "10 s for this turn are used up" in results[-1].diagnostics[0].message
    say_more(talking, 0)
    assert codes(talking.fit()) == []
    assert worker.given[-1] == 5.0


def test_steps_of_a_tool_loop_are_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = use(Worker(took=6.0), monkeypatch)
    talking = conversation(talk(), 100_000, **plugins(nothing, nothing))
    for at in range(3):
        talking.fit()
        call = {"id": f"x{at}", "name": "f", "arguments": {}}
        talking.append(
            {"id": f"c{at}", "role": "assistant", "content": "", "tool_calls": [call]},
            {"id": f"r{at}", "role": "tool", "tool_call_id": f"x{at}", "content": "ok"},
        )
    assert worker.given == [5.0, 4.0]


def test_built_ins_are_under_no_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = use(Worker(took=1e6), monkeypatch)
    chat = talk()
    for _ in range(5):
        assert codes(fit(chat, count(chat) - 1, scope="of-a-slow-truncate")) == []
    assert worker.given == [None] * 5


def test_a_conversation_without_a_scope_gets_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = use(Worker(), monkeypatch)
    options = plugins(nothing, nothing)
    first, second = (conversation(talk(), 100_000, **options) for _ in range(2))
    for talking in (first, first, second):
        talking.fit()
    conversation(talk(), 100_000, scope="the caller's", **options).fit()
    one, again, other, given = worker.scopes
    assert one == again != other
    assert None not in (one, other)
    assert given == "the caller's"


def test_the_workers_of_a_conversation_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = use(Worker(), monkeypatch)
    talking = conversation(talk(), 100_000, **plugins(nothing, nothing))
    talking.fit()
    del talking
    gc.collect()
    assert worker.forgotten == worker.scopes


def test_closing_ends_the_workers_once_and_leaves_a_scope_of_the_caller_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = use(Worker(), monkeypatch)
    own = conversation(talk(), 100_000, **plugins(nothing, nothing))
    given = conversation(talk(), 100_000, scope="shared", **plugins(nothing, nothing))
    for talking in (own, given):
        talking.fit()
        talking.close()
        talking.close()
    assert worker.forgotten == worker.scopes[:1]
    assert own.fit().calls[0].rejected == ""


def test_a_summary_that_goes_into_a_new_one_counts_as_left_out() -> None:
    def summarize(request: Request, services: Services) -> Edit:
        free = [one.id for one in request.messages if one.id not in request.protected]
        gone = free[: len(free) // 2 + 1]
        return Edit(drop=dict.fromkeys(gone, "summarized"), insert=[Insert("Crates.", covers=gone)])

    chat = talk(20)
    talking = conversation(chat, count(chat) - 10, **plugins(summarize))
    first = talking.fit()
    talking.append(*(turn(f"x{at}", ("assistant", "user")[at % 2]) for at in range(12)))
    second = talking.fit()
    assert first.calls[0].dropped == len(first.excluded)
    assert second.calls[0].dropped == len(second.excluded) - len(first.excluded) + 1


def test_an_insert_is_counted_although_it_left_again_for_the_budget() -> None:
    chat = talk()
    result = fit(
        chat, count(chat) + 5, **plugins(nothing, lambda request, services: insert("One more.", before("m0")))
    )
    assert result.inserted == ()
    assert codes(result) == ["final-budget"]
    assert result.calls[0].inserted == 1
