"""A conversation that is held in memory: forked, talked on with, and accounted for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from conversations import neutral_chats
from factories import Interceptor, calls, message, result
from held_talks import change, hold, options, say
from talks import Chat, codes, count, insert, talk, turn
from trimtab.fitting.carrying import NOTHING, Carried
from trimtab.fitting.held import HeldConversation, HeldFit
from trimtab.opening import count_key, make_setup, open_conversation
from trimtab_sdk import (
    Decoded,
    InvalidBudgetError,
    InvalidRequestError,
    Message,
    Request,
    Services,
    TokenBudgetExceededError,
    before,
)

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}

ACTS: dict[str, Callable[[HeldConversation], object]] = {
    "fit": lambda held: held.fit(),
    "extend": lambda held: say(held, turn("x", "assistant"), turn("y")),
    "edit": lambda held: change(held, "m1", turn("m1", "assistant", "Other words.")),
    "remove": lambda held: change(held, "m2"),
    "pin": lambda held: held.pin(["m1"]),
    "exclude": lambda held: held.exclude(["m18"]),
}


def over(turns: int = 20, **given: Any) -> HeldConversation:
    """A held talk that is over its budget."""
    chat = talk(turns)
    return hold(chat, count(chat) * 2 // 3, **given)


def sent(held: HeldConversation) -> list[str]:
    return [one.id for one in held.fit().messages]


def put(held: HeldConversation, changed: Message) -> None:
    """Put a message in the place of the one with its id, as a store does that knows no wire."""
    decoded = held.decoded
    messages = tuple(changed if one.id == changed.id else one for one in decoded.messages)
    held.replace_messages(replace(decoded, messages=messages), [changed.id])


def test_a_fit_holds_all_that_an_account_of_it_needs() -> None:
    held = over(strategy="summarize")
    made = held.fit()
    (summary,) = made.inserted
    assert made.over
    assert made.encoded.messages is made.fit.messages
    assert (summary.plugin, summary.message.source) == ("summarize", "summary")
    assert set(summary.covers) == {name for name, reason in made.left.items() if reason == "summarized"}
    assert dict(made.left) == {entry.id: entry.reason for entry in made.fit.excluded}
    assert made.protected == {"s": "system", "m19": "current-input"}
    assert made.carried is held.carried
    assert made.carried.drop == dict(made.left)


def test_a_fit_tells_what_the_fits_before_left_out() -> None:
    held = over()
    first = dict(held.fit().left)
    say(held, turn("x", "assistant", "Yes."), turn("y", "user", "And?"))
    second = held.fit()
    assert not second.over
    assert dict(second.left) == first
    held.exclude(["m0"])
    assert held.fit().left["m0"] == "manual"


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
def test_what_happens_to_a_fork_changes_nothing_in_the_other(act: str, strategy: str) -> None:
    held, untouched = over(strategy=strategy), over(strategy=strategy)
    held.fit()
    untouched.fit()
    ACTS[act](held.fork())
    say(held, turn("a", "assistant"), turn("b"))
    say(untouched, turn("a", "assistant"), turn("b"))
    assert held.ids == untouched.ids
    assert held.pinned == untouched.pinned
    assert held.new_costs() == untouched.new_costs()
    assert held.carried == untouched.carried
    assert held.fit().fit == untouched.fit().fit


def test_a_fork_goes_on_just_as_the_other_would_have() -> None:
    held, straight = over(), over()
    for at in range(12):
        fresh = (turn(f"a{at}", "assistant"), turn(f"u{at}"))
        held = held.fork()
        say(held, *fresh)
        held.fork().fit()
        say(straight, *fresh)
        assert held.fit().fit == straight.fit().fit


def test_a_message_that_was_the_input_is_history_for_plugins_when_the_talk_goes_on() -> None:
    tap = Interceptor(lambda request, services: None)
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("tap", tap)
    held = hold(talk(4), 10_000, registry=registry)
    for at in range(2):
        held.fit()
        say(held, turn(f"a{at}", "assistant"), turn(f"u{at}"))
    made = held.fit()
    assert [one.id for one in tap.requests[-1].messages if one.source == "input"] == ["u1"]
    assert made.messages == held.decoded.messages


def test_a_fork_knows_which_plugin_broke_the_prefix_and_learns_by_itself() -> None:
    def changing_head(request: Request, services: Services) -> object:
        return insert(f"{len(request.messages)} messages so far.", before("m0"))

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("tap", Interceptor(changing_head))
    held = hold(talk(10), 100_000, registry=registry)

    def talk_on(held: HeldConversation, first: int, turns: int) -> list[bool]:
        told = []
        for at in range(first, first + turns):
            say(held, turn(f"a{at}", "assistant"), turn(f"u{at}"))
            told.append("prefix-unstable" in codes(held.fit().fit))
        return told

    assert talk_on(held, 0, 3) == [False, False, False]
    fork = held.fork()
    assert talk_on(fork, 3, 1) == [True]
    assert held.watch is not None
    assert held.watch.stages == {}
    assert talk_on(held, 3, 1) == [True]


def test_costs_that_are_known_are_not_counted_again() -> None:
    class Listing:
        profile, version, approximate = "listing", "1", False

        def __init__(self) -> None:
            self.asked: list[str] = []

        def count(self, text: str) -> int:
            self.asked.append(text)
            return max(1, len(text) // 4)

    listing = Listing()
    registry = trimtab.ContextStrategyRegistry()
    registry.register_tokenizer("listing", listing)
    config = trimtab.Config(models={"m": {"encoding": "listing", "context_limit": 900}})
    given = options(900, model="m", registry=registry, config=config)
    chat = talk(20)
    costs = HeldConversation(*opened_parts(chat, given)).new_costs()
    setup, decoded = opened_parts([*chat, turn("x", "assistant", "New words.")], given)
    listing.asked.clear()
    held = HeldConversation(setup, decoded, costs=costs)
    held.fit()
    assert [text for text in listing.asked if text.startswith(("m", "New"))] == ["New words."]
    assert list(held.new_costs()) == ["x"]


def opened_parts(chat: Chat, given: Any) -> tuple[Any, Decoded]:
    opened = open_conversation(chat, given)
    return opened.setup, opened.decoded


def test_new_costs_are_those_that_nobody_gave_and_nobody_kept() -> None:
    held = over()
    assert list(held.new_costs()) == list(held.ids)
    held.costs_kept()
    assert held.new_costs() == {}
    say(held, turn("x", "assistant"), turn("y"))
    change(held, "m1", turn("m1", "assistant", "Other words."))
    fresh = held.new_costs()
    assert sorted(fresh) == ["m1", "x", "y"]
    costs = held.fit().costs
    assert fresh == {name: costs[name] for name in fresh}


def test_costs_of_messages_that_are_not_there_count_for_nothing() -> None:
    chat = talk(4)
    setup, decoded = opened_parts(chat, options(10_000))
    foreign = over().new_costs()
    held = HeldConversation(setup, decoded, costs=foreign)
    assert held.fit().fit.tokens_before == count(chat)


def test_other_figures_keep_the_messages_their_costs_and_the_edit() -> None:
    held = over()
    first = held.fit()
    limit = held.setup.budget.available
    other = make_setup(options(limit), codec=held.setup.codec, tools=[TOOL]).setup
    twin = held.with_setup(other)
    more = other.overhead.tokens - held.setup.overhead.tokens
    assert more > 0
    assert twin.carried is held.carried
    made = twin.fit()
    assert made.fit.tokens_before == first.fit.tokens_before + more
    assert made.fit.tokens_after == first.fit.tokens_after + more
    assert held.fit().fit.messages == first.fit.messages == made.fit.messages


def test_another_strategy_or_other_settings_of_it_begin_anew() -> None:
    held = over(strategy="summarize")
    held.fit()
    limit, codec = held.setup.budget.available, held.setup.codec
    for wanted in ({}, {"shorten_messages": True}):
        setup = make_setup(options(limit, settings=wanted), codec=codec).setup
        held = held.with_setup(setup)
        assert held.carried is NOTHING
        held.fit()
        assert held.carried is not NOTHING


@pytest.mark.parametrize("given", [{"model": "gpt-4o"}, {"model": "gpt-4"}])
def test_a_setup_that_counts_otherwise_is_refused(given: dict[str, Any]) -> None:
    held = over()
    with pytest.raises(ValueError, match="counted for"):
        held.with_setup(make_setup(options(1_000, **given), codec=held.setup.codec).setup)


def test_pins_and_changes_of_what_left_discard_the_edit() -> None:
    for act in ("pin by name", "pin by flag", "edit", "remove", "exclude a summarized one"):
        held = over(strategy="summarize")
        gone = next(iter(held.fit().left))
        match act:
            case "pin by name":
                held.pin(["m18"])
            case "pin by flag":
                put(held, replace(held.decoded.messages[-2], pinned=True))
                assert held.pinned == {"m18"}
            case "edit":
                change(held, gone, turn(gone, "user", "Other words."))
            case "remove":
                change(held, gone)
            case _:
                held.exclude([gone])
        assert held.carried is NOTHING, act


def test_a_flag_on_what_is_sent_leaves_it_out_and_keeps_the_edit() -> None:
    held = over()
    left = dict(held.fit().left)
    carried = held.carried
    put(held, replace(held.decoded.messages[-2], meta={"manualExcluded": True}))
    assert held.carried is carried
    assert dict(held.fit().left) == {**left, "m18": "manual"}


def test_what_is_gone_from_the_whole_is_gone_whether_it_is_named_or_not() -> None:
    held = hold(talk(6), 10_000)
    held.fit()
    decoded = replace(held.decoded, messages=held.decoded.messages[:4])
    held.replace_messages(decoded, [])
    assert sent(held) == ["s", "m0", "m1", "m2"]
    assert len(held) == 4
    assert held.fit().fit.tokens_before == count(talk(6)[:4])


def test_a_whole_that_does_not_end_in_the_new_messages_is_refused() -> None:
    held = hold(talk(4), 10_000)
    fresh = message("x")
    with pytest.raises(ValueError, match="do not make"):
        held.extend(held.decoded, [fresh])
    with pytest.raises(ValueError, match="do not make"):
        held.extend(replace(held.decoded, messages=(*held.decoded.messages, fresh)), [fresh, message("y")])
    assert len(held) == 5


def test_messages_that_no_codec_read_are_sent_in_the_shape_of_the_wire() -> None:
    setup = make_setup(options(10_000), codec=hold([], 10_000).setup.codec).setup
    empty = setup.codec.decode([])
    whole = (message("s", "system"), message("m0"), calls("c", "x"), result("r", "x"))
    held = HeldConversation(setup, replace(empty, messages=whole))
    made = held.fit()
    assert made.messages == whole
    assert [one["role"] for one in made.encoded.messages] == ["system", "user", "assistant", "tool"]  # type: ignore[index]
    assert made.protected["c"] == "open-step"


LOST = {
    "a message that is gone": Carried(drop={"m0": "context-shift", "nobody": "context-shift"}),
    "a part that is gone": Carried(shorten={"m0": {(3,): ((0, 2),)}}),
    "a cut of nobody": Carried(shorten={"nobody": {(0,): ((0, 2),)}}),
    "a span behind the end": Carried(shorten={"m0": {(0,): ((0, 100_000),)}}),
    "a call whose result stays": Carried(drop={"c": "context-shift"}),
}


@pytest.mark.parametrize("which", LOST)
def test_an_edit_that_does_not_stand_on_the_messages_is_not_taken_over(which: str) -> None:
    call = {"id": "c", "role": "assistant", "tool_calls": [{"id": "x", "name": "f", "arguments": {}}]}
    answer = {"id": "r", "role": "tool", "tool_call_id": "x", "content": "found"}
    setup, decoded = opened_parts([*talk(6), call, answer, turn("u")], options(200))
    held = HeldConversation(setup, decoded, carried=LOST[which])
    assert held.carried is NOTHING
    assert held.fit().fit.tokens_after <= 200


def test_a_late_result_of_a_call_that_left_before_the_edit_was_taken_over_discards_it() -> None:
    call = {"id": "c", "role": "assistant", "tool_calls": [{"id": "x", "name": "f", "arguments": {}}]}
    chat = [turn("s", "system", "Be brief."), call, *talk(20)[1:]]
    held = hold(chat, count(chat) // 2)
    held.fit()
    assert "c" in held.carried.drop
    restored = HeldConversation(held.setup, held.decoded, carried=held.carried)
    say(restored, {"id": "r", "role": "tool", "tool_call_id": "x", "content": "late"}, turn("u"))
    assert restored.carried is NOTHING


def test_what_cannot_fit_leaves_the_conversation_as_it_was() -> None:
    held = over()
    held.fit()
    carried = held.carried
    trial = held.fork()
    say(trial, turn("a", "assistant"), turn("u", "user", "word " * 5_000))
    with pytest.raises(TokenBudgetExceededError):
        trial.fit()
    assert held.carried is carried
    assert "u" not in held.ids


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(neutral_chats(max_size=12), st.lists(neutral_chats(max_size=5), max_size=4), st.integers(30, 600))
def test_every_message_is_sent_or_left_and_every_figure_agrees(start: Chat, turns: list[Chat], limit: int) -> None:
    held = hold(start, limit)
    for number, fresh in enumerate(turns):
        say(held, *({**one, "id": f"t{number}-{one['id']}"} for one in fresh))
        try:
            made = held.fit()
        except TokenBudgetExceededError:
            continue
        check(held, made)


def check(held: HeldConversation, made: HeldFit) -> None:
    texts = {one.message.id for one in made.inserted}
    here = {one.id for one in made.messages}
    assert here - texts | made.left.keys() == set(held.ids)
    assert here.isdisjoint(made.left)
    report = made.fit
    assert dict(made.left) == {entry.id: entry.reason for entry in report.excluded}
    assert made.cuts.keys() == {entry.id for entry in report.truncated}
    assert [one.message.id for one in made.inserted] == [entry.id for entry in report.inserted]
    entries = [*report.kept, *report.truncated, *report.inserted, *report.excluded]
    assert all(made.costs[entry.id].tokens == entry.tokens for entry in entries)
    assert report.overhead + sum(made.costs[name].tokens for name in here) == report.tokens_after


def test_a_setup_made_without_an_input_is_the_one_that_an_input_gives() -> None:
    body = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "Hi."}],
        "tools": [TOOL],
        "max_completion_tokens": 300,
    }
    given = replace(options(4_000, format="chat-completions"), reserve=None)
    read = open_conversation(body, given).setup
    made = make_setup(given, codec=read.codec, tools=[TOOL], max_output_tokens=300).setup
    assert made.budget == read.budget
    assert made.budget.reserve == 300
    assert made.overhead == read.overhead
    assert made.counting == read.counting
    assert made.rule == read.rule


def test_a_setup_takes_tools_once_and_only_what_makes_sense() -> None:
    codec = hold([], 1_000).setup.codec
    with pytest.raises(InvalidRequestError, match="once"):
        make_setup(options(1_000, tools=[TOOL]), codec=codec, tools=[TOOL])
    with pytest.raises(InvalidRequestError, match="list"):
        make_setup(options(1_000), codec=codec, tools="look")
    with pytest.raises(InvalidBudgetError):
        make_setup(options(1_000), codec=codec, max_output_tokens=-1)
    opened = make_setup(options(1_000), codec=codec, tools=[{"name": "\ud83d"}])
    assert [one.code for one in opened.notes] == ["wire-rule"]


def test_a_count_key_differs_with_model_tokenizer_and_codec_and_with_nothing_else() -> None:
    def key(**given: Any) -> str:
        return count_key(hold([], 1_000, **given).setup)

    base = key()
    assert base == count_key(over(strategy="summarize").setup)
    assert len({base, key(model="gpt-4o"), key(model="gpt-4"), key(format="chat-completions")}) == 4
    long = trimtab.Config(models={"m" * 190: {"encoding": "o200k_base", "context_limit": 900}})
    assert 20 < len(key(model="m" * 190, config=long)) <= 200
