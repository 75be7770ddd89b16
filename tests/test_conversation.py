"""A conversation fitted turn after turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import judge
import trimtab
from benchmarks import prefix
from conversations import neutral_chats
from factories import Strategy
from talks import Chat, codes, count, ids, talk, turn
from trimtab_sdk import (
    MARKER,
    Edit,
    Insert,
    InvalidBudgetError,
    InvalidRequestError,
    Request,
    Services,
    TokenBudgetExceededError,
    plain_text,
)


def conversation(chat: object, limit: int, **options: Any) -> trimtab.Conversation:
    given = {"model": "gpt-4.1", "format": "neutral", "context_limit": limit, "reserve": 0, **options}
    return trimtab.Conversation(chat, **given)


def sent(result: trimtab.Fit) -> list[str]:
    return [one["id"] for one in result.messages]  # type: ignore[index]


def test_over_budget_it_cuts_down_to_the_target_and_under_it_keeps_everything() -> None:
    chat = talk(30)
    whole = count(chat)
    assert conversation(chat, whole).fit().excluded == ()
    result = conversation(chat, whole - 1).fit()
    assert result.tokens_after <= 0.75 * (whole - 1)
    assert result.tokens_after > 0.65 * (whole - 1)


def test_the_next_request_is_the_former_one_with_the_new_messages_behind_it() -> None:
    chat = talk(30)
    talking = conversation(chat, count(chat) // 2)
    calls_until_cut = 0
    before = talking.fit().messages
    for at in range(4):
        fresh = [turn(f"a{at}", "assistant", "Yes."), turn(f"u{at}", "user", "And then?")]
        talking.append(*fresh)
        after = talking.fit().messages
        assert after == [*before, *fresh]
        assert all(one is other for one, other in zip(before, after, strict=False))
        before = after
        calls_until_cut += 1
    assert calls_until_cut == 4


def test_while_the_carried_edit_fits_the_strategy_is_not_called_again() -> None:
    def drop_old(request: Request, services: Services) -> Edit:
        free = [one.id for one in request.messages if one.id not in request.protected]
        return Edit(drop=dict.fromkeys(free[: len(free) // 2], "context-shift"))

    strategy = Strategy(drop_old)
    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", strategy)
    chat = talk(30)
    talking = conversation(chat, count(chat) - 10, strategy="mine", registry=registry)
    talking.fit()
    for at in range(5):
        talking.append(turn(f"a{at}", "assistant"), turn(f"u{at}"))
        talking.fit()
    assert len(strategy.requests) == 1


def test_a_summary_is_carried_and_merged_into_the_next_one() -> None:
    def summarize(request: Request, services: Services) -> Edit:
        free = [one.id for one in request.messages if one.id not in request.protected]
        gone = free[: len(free) // 2 + 1]
        return Edit(drop=dict.fromkeys(gone, "summarized"), insert=[Insert("Crates.", covers=gone)])

    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", Strategy(summarize))
    chat = talk(20)
    talking = conversation(chat, count(chat) - 10, strategy="mine", registry=registry)
    first = talking.fit()
    assert len(first.inserted) == 1
    talking.append(turn("x", "assistant", "Yes."), turn("y", "user", "And?"))
    second = talking.fit()
    assert second.messages[: len(first.messages)] == first.messages
    for at in range(12):
        talking.append(turn(f"a{at}", "assistant"), turn(f"u{at}"))
    third = talking.fit()
    assert len(third.inserted) == 1
    reasons = {entry.id: entry.reason for entry in third.excluded}
    assert set(reasons.values()) == {"summarized"}
    assert reasons.keys() >= {entry.id for entry in second.excluded}
    assert third.tokens_after == judge.request_tokens(third.messages)  # type: ignore[arg-type]


def test_a_message_that_was_cut_again_is_sent_the_same_on_the_next_turn() -> None:
    def keep_the_second_half(request: Request, services: Services) -> Edit:
        texts = {one.id: plain_text(one) for one in request.messages if one.id not in request.protected}
        return Edit(shorten={(name, (0,)): [(len(text) // 2, len(text))] for name, text in texts.items()})

    registry = trimtab.ContextStrategyRegistry()
    strategy = Strategy(keep_the_second_half)
    registry.register("mine", strategy)
    chat = talk(30)
    talking = conversation(chat, int(count(chat) * 0.7), strategy="mine", registry=registry)
    talking.fit()
    whole = {one["id"]: one["content"] for one in chat}
    cut_again = 0
    for at in range(12):
        calls = len(strategy.requests)
        before = talking.fit().messages
        assert len(strategy.requests) == calls
        talking.append(turn(f"a{at}", "assistant"), turn(f"u{at}"))
        result = talking.fit()
        if len(strategy.requests) == calls:
            assert result.messages[: len(before)] == before
        else:
            cut_again += 1
        for entry in result.truncated:
            if entry.id in whole:
                (text,) = (one["content"] for one in result.messages if one["id"] == entry.id)  # type: ignore[index]
                assert text.count(MARKER) == 1
                assert whole[entry.id].endswith(text.removeprefix(MARKER))
    assert cut_again >= 3


def test_what_is_carried_is_reported_on_every_turn() -> None:
    chat = talk(20)
    talking = conversation(chat, count(chat) // 2)
    gone = ids(talking.fit().excluded)
    talking.append(turn("x", "assistant", "Yes."), turn("y", "user", "And?"))
    result = talking.fit()
    assert ids(result.excluded) == gone
    assert {entry.reason for entry in result.excluded} == {"context-shift"}
    indexes = [entry.index for entry in (*result.kept, *result.excluded)]
    assert sorted(indexes) == list(range(len(talking)))  # type: ignore[type-var]


def test_the_edit_is_discarded_when_everything_fits_again() -> None:
    chat = talk(10)
    talking = conversation(chat, count(chat) - 1)
    assert talking.fit().excluded
    talking.remove("m5")
    assert talking.fit().excluded == ()


def test_pins_and_edits_of_what_left_discard_the_edit() -> None:
    chat = talk(20)
    talking = conversation(chat, count(chat) // 2)
    gone = ids(talking.fit().excluded)
    talking.pin(gone[0])
    assert gone[0] in sent(talking.fit())
    talking.unpin(gone[0])
    assert gone[0] not in sent(talking.fit())
    talking.edit(gone[0], turn(gone[0], "user", "Shorter now."))
    assert talking.fit().tokens_before == count([*chat[:1], turn(gone[0], "user", "Shorter now."), *chat[2:]])


def test_an_edited_message_is_sent_in_its_place() -> None:
    chat = talk(6)
    talking = conversation(chat, 10_000)
    talking.fit()
    talking.edit(2, turn("m1", "assistant", "Changed."))
    result = talking.fit()
    assert result.messages == [*chat[:2], turn("m1", "assistant", "Changed."), *chat[3:]]
    assert result.tokens_after == count(result.messages)  # type: ignore[arg-type]


def test_excluding_and_including_by_hand() -> None:
    chat = talk(6)
    talking = conversation(chat, 10_000)
    talking.exclude("m1")
    assert [(entry.id, entry.reason) for entry in talking.fit().excluded] == [("m1", "manual")]
    talking.include("m1")
    assert talking.fit().excluded == ()
    talking.exclude("s")
    with pytest.raises(InvalidRequestError, match="system"):
        talking.fit()


def test_what_is_excluded_by_hand_is_not_told_by_an_earlier_summary_any_more() -> None:
    chat = talk(20)
    chat[1]["content"] = "The secret of the lighthouse keeper is the number 48151623 in the ledger."
    talking = conversation(chat, count(chat) - 10, strategy="summarize")
    first = talking.fit()
    assert {entry.id: entry.reason for entry in first.excluded}["m0"] == "summarized"
    assert "48151623" in str(first.messages)
    talking.exclude("m0")
    second = talking.fit()
    assert {entry.id: entry.reason for entry in second.excluded}["m0"] == "manual"
    assert "48151623" not in str(second.messages)


def test_excluding_what_had_left_anyway_is_reported_and_keeps_the_prefix() -> None:
    chat = talk(20)
    talking = conversation(chat, count(chat) // 2)
    first = talking.fit()
    talking.exclude("m0")
    second = talking.fit()
    assert {entry.id: entry.reason for entry in second.excluded}["m0"] == "manual"
    assert second.messages == first.messages


def test_messages_without_ids_get_their_place_in_the_whole_conversation() -> None:
    talking = trimtab.Conversation([{"role": "user", "content": "a"}], model="gpt-4o")
    assert talking.append({"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}) == ("m1", "m2")
    talking.remove(1)
    assert talking.append({"role": "assistant", "content": "d"}) == ("m3",)
    assert talking.ids == ("m0", "m2", "m3")
    assert [entry.index for entry in talking.fit().kept] == [0, 1, 2]


def test_a_wrong_message_is_refused_and_nothing_is_added() -> None:
    talking = conversation(talk(4), 10_000)
    for wrong in ({"id": "x", "role": "wizard"}, {"id": "m1", "role": "user", "content": "twice"}, 5):
        with pytest.raises(InvalidRequestError):
            talking.append(turn("fine"), wrong)
    assert len(talking) == 5
    with pytest.raises(InvalidBudgetError):
        conversation([], 100, target=0)


def test_a_late_result_of_a_call_that_left_leaves_with_it() -> None:
    call = {
        "id": "c",
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "x", "name": "f", "arguments": {}}],
    }
    chat = [turn("s", "system"), call, *talk(20)[1:]]
    talking = conversation(chat, count(chat) // 2)
    assert "c" in ids(talking.fit().excluded)
    talking.append({"id": "r", "role": "tool", "tool_call_id": "x", "content": "late"}, turn("u", "user", "So?"))
    result = talking.fit()
    assert ("c" in sent(result)) == ("r" in sent(result))


def test_half_an_emoji_in_an_appended_message_is_named() -> None:
    talking = conversation(talk(2), 10_000)
    talking.append(turn("x", "assistant", "\ud83d"))
    assert codes(talking.fit()) == ["wire-rule"]


def test_the_wire_stays_valid_and_the_request_within_the_budget_for_a_whole_bodied_request() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "word " * 200}], "max_tokens": 10}
    talking = trimtab.Conversation(body, model="gpt-4o", context_limit=400)
    for _ in range(5):
        talking.append({"role": "assistant", "content": "word " * 60}, {"role": "user", "content": "go on"})
        result = talking.fit()
        assert result.request is not None
        assert result.request["messages"] == result.messages
        assert result.tokens_after <= 390


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(neutral_chats(max_size=12), st.lists(neutral_chats(max_size=5), max_size=5), st.integers(30, 600))
def test_every_turn_keeps_every_promise(start: Chat, turns: list[Chat], limit: int) -> None:
    talking = conversation(start, limit)
    whole = list(start)
    for number, fresh in enumerate(turns):
        named = [{**one, "id": f"t{number}-{one['id']}"} for one in fresh]
        talking.append(*named)
        whole += named
        try:
            result = talking.fit()
        except TokenBudgetExceededError:
            continue
        assert result.tokens_after <= limit
        assert result.tokens_after == judge.request_tokens(result.messages)  # type: ignore[arg-type]
        entries = [*result.kept, *result.truncated, *result.inserted]
        assert result.overhead + sum(entry.tokens for entry in entries) == result.tokens_after
        indexes = [entry.index for entry in (*result.kept, *result.excluded, *result.truncated)]
        assert sorted(indexes) == list(range(len(whole)))  # type: ignore[type-var]
        assert [one for one in whole if one["id"] in sent(result)] == result.messages


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
def test_the_carried_edit_keeps_the_prefix_that_a_cut_anew_each_turn_breaks(strategy: str) -> None:
    carried = prefix.run(strategy, carried=True, length=80)
    anew = prefix.run(strategy, carried=False, length=80)
    assert carried > 0.8
    assert carried > 1.5 * anew
