"""What a turn leaves for the next one."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuation.turns import INPUT, TALK, ended, facts, histories
from factories import message
from trimtab.continuation import (
    EMPTY_CHAIN,
    ClearState,
    ContinueWithCursor,
    KeepState,
    StateWrite,
    StoreEnvelope,
    TurnEnd,
    TurnOutcome,
    chain_history,
    decide_continuation,
    decide_turn_persistence,
    parse_envelope,
)
from trimtab_sdk import Compaction, Message


def written(**changes: Any) -> StateWrite:
    return decide_turn_persistence(ended(**changes))


def compacted(*covers: str) -> Message:
    return Message("k", "assistant", (Compaction("openai", "opaque", covers=covers),))


def test_a_completed_turn_with_a_cursor_leaves_an_envelope() -> None:
    write = written()
    assert isinstance(write, StoreEnvelope)
    assert json.loads(write.stored) == {
        "schemaVersion": 1,
        "provider": "openai",
        "mode": "responses",
        "modelName": "gpt-6-astra",
        "systemPromptHash": facts().system_prompt_hash,
        "toolsetHash": facts().toolset_hash,
        "cursor": "resp_1",
        "historyHash": chain_history(TALK).hash,
    }


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_a_turn_that_did_not_complete_leaves_what_was_there(outcome: TurnOutcome) -> None:
    assert written(outcome=outcome, cursor="resp_partial") == KeepState()


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_a_spent_cursor_is_not_tried_again(outcome: TurnOutcome) -> None:
    assert written(outcome=outcome, cursor_spent=True) == ClearState("cursor_spent")


def test_a_turn_that_replayed_after_its_cursor_was_refused_leaves_the_new_one() -> None:
    assert isinstance(written(cursor="resp_2", cursor_spent=True), StoreEnvelope)


@pytest.mark.parametrize(
    ("cause", "changes"),
    [
        ("stateless", {"turn": facts(mode="stateless-loop")}),
        ("no_cursor", {"cursor": None}),
        ("no_cursor", {"cursor": ""}),
        ("ephemeral_in_history", {"turn": facts(ephemeral_inside=("e",))}),
        ("nothing_held", {"history": EMPTY_CHAIN}),
        ("envelope_unfit", {"cursor": "resp 1"}),
        ("envelope_unfit", {"cursor": "r" * 5000}),
        ("envelope_unfit", {"turn": facts(model_name="")}),
        ("envelope_unfit", {"turn": facts(provider="Open AI")}),
    ],
)
def test_a_completed_turn_without_a_durable_envelope_clears(cause: Any, changes: dict[str, Any]) -> None:
    assert written(**changes) == ClearState(cause)


def test_a_stateless_turn_clears_even_with_something_like_a_cursor() -> None:
    assert written(turn=facts(mode="stateless-loop"), cursor="chatcmpl-1") == ClearState("stateless")


def test_a_compaction_over_a_protected_message_leaves_no_envelope() -> None:
    pinned = facts(protected=frozenset({"u1"}))
    history = chain_history([*TALK, compacted("u1", "a1")])
    assert written(turn=pinned, history=history) == ClearState("protected_compacted")
    assert isinstance(written(history=history), StoreEnvelope)


def test_a_compaction_that_does_not_say_what_it_covers_covers_all_before_it() -> None:
    late = facts(protected=frozenset({"u2"}))
    before = chain_history([*TALK, compacted(), INPUT])
    after = chain_history([*TALK, INPUT, compacted()])
    assert isinstance(written(turn=late, history=before), StoreEnvelope)
    assert written(turn=late, history=after) == ClearState("protected_compacted")


def test_the_end_of_a_turn_has_no_place_for_the_state_of_a_loop_or_of_a_message() -> None:
    assert {field.name: field.type for field in fields(TurnEnd)} == {
        "turn": "TurnFacts",
        "outcome": "TurnOutcome",
        "cursor": "str | None",
        "history": "HistoryChain",
        "cursor_spent": "bool",
    }


def test_a_poisoned_state_in_a_message_is_not_stored() -> None:
    poison = {"providerState": {"cursor": "resp_evil", "loopMessages": ["x"]}}
    poisoned = [replace(one, meta=poison) for one in TALK]
    assert written(history=chain_history(poisoned)) == written()


def test_the_end_of_a_turn_keeps_its_cursor_out_of_its_repr() -> None:
    assert "resp_1" not in repr(ended())
    assert "resp_1" not in repr(written())


def test_ten_turns_go_on_from_one_another() -> None:
    talk: list[Message] = []
    state: str | None = None
    for number in range(10):
        said = message(f"u{number}")
        turn = facts([*talk, said])
        decision = decide_continuation(state, turn)
        if number:
            assert decision == ContinueWithCursor(f"resp_{number - 1}", 2 * number, (said,))
        talk += [said, message(f"a{number}", "assistant")]
        history = chain_history(talk, known=turn.history)
        write = decide_turn_persistence(ended(turn=turn, cursor=f"resp_{number}", history=history))
        assert isinstance(write, StoreEnvelope)
        state = write.stored


@given(
    st.sampled_from(get_args(TurnOutcome)),
    st.none() | st.text() | st.from_regex(r"[!-~]{1,20}", fullmatch=True),
    st.sampled_from(["responses", "interactions", "stateless-loop"]),
    st.text(max_size=5),
    histories(),
    st.booleans(),
)
def test_only_a_readable_envelope_of_a_durable_mode_is_ever_written(
    outcome: TurnOutcome, cursor: str | None, mode: str, model: str, history: list[Message], spent: bool
) -> None:
    turn = facts(mode=mode, model_name=model)
    write = written(turn=turn, outcome=outcome, cursor=cursor, history=chain_history(history), cursor_spent=spent)
    if isinstance(write, StoreEnvelope):
        assert outcome == "completed"
        assert mode != "stateless-loop"
        assert parse_envelope(write.stored) == write.envelope
    else:
        assert isinstance(write, ClearState if outcome == "completed" or spent else KeepState)
