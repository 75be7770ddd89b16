"""How a turn carries on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuation.turns import INPUT, JSON, SYSTEM, TALK, TOOLS, chain, ended, facts, histories, stored
from factories import calls, message, result
from trimtab.continuation import (
    ContinueWithCursor,
    DegradeToReplay,
    StartReplay,
    TurnFacts,
    chain_history,
    decide_continuation,
    decide_turn_persistence,
    system_prompt_hash,
    toolset_hash,
)
from trimtab.continuation.words import CursorFault, DegradeReason
from trimtab_sdk import Compaction, Message, Text

EDITED = [message("u1", "user", "another question"), TALK[1], INPUT]
OTHER_SYSTEM = system_prompt_hash([message("s", "system", "Answer in Dutch.")])
OTHER_TOOLS = toolset_hash([*TOOLS, {"name": "write"}])

DIFFERENCES: list[tuple[str, dict[str, Any]]] = [
    ("provider_changed", {"provider": "gemini"}),
    ("model_changed", {"model_name": "gpt-6-luna"}),
    ("system_prompt_changed", {"system_prompt_hash": OTHER_SYSTEM}),
    ("toolset_changed", {"toolset_hash": OTHER_TOOLS}),
    ("history_changed", {"history": chain_history(EDITED)}),
    ("cursor_expired", {"cursor_age": 3601.0, "retention": 3600.0}),
]


def test_a_turn_goes_on_from_the_cursor_with_only_what_is_new() -> None:
    decision = decide_continuation(stored(), facts())
    assert decision == ContinueWithCursor("resp_1", held=2, delta=(INPUT,))


def test_everything_added_at_the_end_is_sent_in_order() -> None:
    failed = [message("u2"), calls("a2", "c1"), result("r2", "c1")]
    decision = decide_continuation(stored(), facts([*TALK, *failed, message("u3")]))
    assert isinstance(decision, ContinueWithCursor)
    assert [one.id for one in decision.delta] == ["u2", "a2", "r2", "u3"]


@pytest.mark.parametrize("nothing", [None, "null"])
def test_nothing_stored_is_a_plain_replay(nothing: object) -> None:
    assert decide_continuation(nothing, facts()) == StartReplay("nothing_stored")
    assert decide_continuation(nothing, facts(mode="stateless-loop")) == StartReplay("stateless")


def test_a_fallback_provider_replays_whatever_is_stored() -> None:
    for state in (None, stored(), "{"):
        assert decide_continuation(state, facts(is_fallback=True)) == StartReplay("fallback_provider")


def test_what_cannot_be_read_is_replayed_with_its_fault() -> None:
    assert decide_continuation("{", facts()) == DegradeToReplay("envelope_malformed", "not-json")
    later = json.loads(stored()) | {"schemaVersion": 2}
    assert decide_continuation(later, facts()) == DegradeToReplay("envelope_malformed", "schemaVersion")


@pytest.mark.parametrize(("reason", "change"), DIFFERENCES, ids=[reason for reason, _ in DIFFERENCES])
def test_each_difference_has_its_reason(reason: str, change: dict[str, Any]) -> None:
    decision = decide_continuation(stored(), facts(**change))
    assert isinstance(decision, DegradeToReplay)
    assert decision.reason == reason


@pytest.mark.parametrize("first", range(len(DIFFERENCES)))
def test_of_several_differences_the_first_in_order_is_said(first: int) -> None:
    together: dict[str, Any] = {}
    for _, change in DIFFERENCES[first:]:
        together |= change
    decision = decide_continuation(stored(), facts(**together))
    assert decision == DegradeToReplay(DIFFERENCES[first][0])  # type: ignore[arg-type]


def test_a_fit_that_moved_the_context_goes_before_expiry_and_behind_a_changed_toolset() -> None:
    shifted: dict[str, Any] = {"history": chain_history([TALK[1], INPUT]), "edited": False}
    old = shifted | {"cursor_age": 2.0, "retention": 1.0}
    assert decide_continuation(stored(), facts(**old)) == DegradeToReplay("context_shifted")
    tools = shifted | {"toolset_hash": OTHER_TOOLS}
    assert decide_continuation(stored(), facts(**tools)) == DegradeToReplay("toolset_changed")


def test_the_words_hold_every_reason_and_no_other() -> None:
    reasons = {reason for part in get_args(DegradeReason) for reason in get_args(part)}
    known = {reason for reason, _ in DIFFERENCES} | {"envelope_malformed", "context_shifted"}
    assert reasons == known | set(get_args(CursorFault))
    assert len(reasons) == 9


@pytest.mark.parametrize(
    "now",
    [
        EDITED,
        [TALK[0], INPUT],
        [TALK[1], INPUT],
        [INPUT],
        [TALK[1], TALK[0], INPUT],
        [TALK[0], message("a1b", "assistant", "a1"), INPUT],
        [TALK[0]],
        [],
    ],
    ids=["edited", "answer gone", "input gone", "all gone", "reordered", "another branch", "retried", "empty"],
)
def test_a_changed_beginning_is_never_continued(now: list[Message]) -> None:
    assert decide_continuation(stored(), facts(now)) == DegradeToReplay("history_changed")


def test_a_message_that_the_fit_left_out_or_shortened_shifts_the_context() -> None:
    short = replace(TALK[0], parts=(Text("u"),))
    for now in ([TALK[1], INPUT], [short, TALK[1], INPUT], [message("sum", "system"), *TALK, INPUT]):
        turn = facts(now, edited=False)
        assert decide_continuation(stored(), turn) == DegradeToReplay("context_shifted")


def test_an_edit_is_an_edit_also_when_the_fit_shifts_the_context() -> None:
    turn = facts(EDITED[1:], edited=True)
    assert decide_continuation(stored(), turn) == DegradeToReplay("history_changed")


def test_a_fit_that_treats_the_old_messages_as_the_last_one_did_keeps_the_cursor() -> None:
    summary = message("sum", "system", "They talked of crates.", source="summary")
    state = stored([summary, *TALK])
    assert isinstance(decide_continuation(state, facts([summary, *TALK, INPUT])), ContinueWithCursor)


def test_the_same_provider_in_another_mode_is_another_provider() -> None:
    stateless = facts(mode="stateless-loop")
    assert decide_continuation(stored(), stateless) == DegradeToReplay("provider_changed")


def test_a_stateless_turn_never_continues() -> None:
    for provider in ("openai", "openai-compatible"):
        turn = facts(provider=provider, mode="stateless-loop")
        assert not isinstance(decide_continuation(stored(), turn), ContinueWithCursor)


def test_leaving_a_provider_degrades_once_and_then_nothing_more_is_said() -> None:
    visitor = facts(provider="openai-compatible", mode="stateless-loop", model_name="local")
    assert decide_continuation(stored(), visitor) == DegradeToReplay("provider_changed")
    left = decide_turn_persistence(ended(turn=visitor, cursor=None))
    assert getattr(left, "stored", None) is None
    assert decide_continuation(None, visitor) == StartReplay("stateless")
    assert decide_continuation(None, facts()) == StartReplay("nothing_stored")


def test_a_changed_prompt_is_seen_only_in_what_is_sent() -> None:
    pinned = [replace(TALK[0], pinned=True), TALK[1], INPUT]
    assert isinstance(decide_continuation(stored(), facts(pinned)), ContinueWithCursor)


def test_an_ephemeral_message_inside_the_history_is_a_plain_replay() -> None:
    turn = facts(ephemeral_inside=("e",))
    assert decide_continuation(stored(), turn) == StartReplay("ephemeral_in_history")
    changed = replace(turn, model_name="other")
    assert decide_continuation(stored(), changed) == DegradeToReplay("model_changed")


def test_a_turn_without_anything_new_replays() -> None:
    assert decide_continuation(stored(), facts(TALK)) == StartReplay("nothing_new")


@pytest.mark.parametrize(
    ("age", "kept", "used"),
    [(None, 10.0, True), (10.0, None, True), (10.0, 10.0, True), (10.1, 10.0, False), (-5.0, 10.0, True)],
)
def test_a_cursor_is_used_as_long_as_the_provider_keeps_it(
    age: float | None, kept: float | None, used: bool
) -> None:
    decision = decide_continuation(stored(), facts(cursor_age=age, retention=kept))
    assert decision == (ContinueWithCursor("resp_1", 2, (INPUT,)) if used else DegradeToReplay("cursor_expired"))


def test_a_pin_on_what_the_provider_compacted_ends_the_chain() -> None:
    compacted = Message("k", "assistant", (Compaction("openai", "opaque", covers=("u1",)),))
    talk = [*TALK, compacted]
    assert isinstance(decide_continuation(stored(talk), facts([*talk, INPUT])), ContinueWithCursor)
    pinned = facts([*talk, INPUT], protected=frozenset({"u1", "u2"}))
    assert decide_continuation(stored(talk), pinned) == DegradeToReplay("context_shifted")


def test_a_decision_tells_an_audit_all_but_the_cursor() -> None:
    going = decide_continuation(stored(), facts())
    assert going.to_dict() == {"decision": "continue_with_cursor", "held": 2, "sent": ["u2"]}
    assert "resp_1" not in repr(going)
    assert DegradeToReplay("model_changed").to_dict() == {
        "decision": "degrade_to_replay",
        "reason": "model_changed",
    }
    assert DegradeToReplay("envelope_malformed", "keys").to_dict()["detail"] == "keys"
    assert StartReplay("nothing_stored").to_dict() == {"decision": "start_replay", "cause": "nothing_stored"}


def test_a_poisoned_state_in_a_message_changes_nothing() -> None:
    poison = {"providerState": {"schemaVersion": 1, "cursor": "resp_evil"}, "lastProviderState": stored()}
    poisoned = [replace(one, meta=poison) for one in (*TALK, INPUT)]
    decision = decide_continuation(stored(), facts(poisoned))
    assert isinstance(decision, ContinueWithCursor)
    assert decision.cursor == "resp_1"
    assert decide_continuation(None, facts(poisoned)) == StartReplay("nothing_stored")
    assert stored(poisoned[:2]) == stored()


TURNS = st.builds(
    TurnFacts,
    provider=st.sampled_from(["openai", "gemini"]),
    mode=st.sampled_from(["responses", "interactions", "stateless-loop"]),
    model_name=st.sampled_from(["gpt-6-astra", "", "other"]),
    system_prompt_hash=st.sampled_from([system_prompt_hash(SYSTEM), OTHER_SYSTEM, ""]),
    toolset_hash=st.sampled_from([toolset_hash(TOOLS), OTHER_TOOLS]),
    history=st.sampled_from([chain(), chain("u1"), chain_history(TALK), chain_history([*TALK, INPUT])]),
    edited=st.booleans(),
    protected=st.sampled_from([frozenset(), frozenset({"u1"})]),
    ephemeral_inside=st.sampled_from([(), ("e",)]),
    is_fallback=st.booleans(),
    cursor_age=st.none() | st.floats(),
    retention=st.none() | st.floats(),
)
STATES = st.one_of(
    JSON,
    JSON.map(json.dumps),
    st.text(),
    st.sampled_from([stored(), json.loads(stored()), stored([INPUT]), stored(mode="interactions")]),
)


@given(STATES, TURNS)
def test_every_state_and_every_turn_have_a_decision(state: object, turn: TurnFacts) -> None:
    decision = decide_continuation(state, turn)
    assert decision == decide_continuation(state, turn)
    if isinstance(decision, ContinueWithCursor):
        assert turn.mode != "stateless-loop"
        assert turn.history.messages[decision.held :] == decision.delta != ()
    assert decision.to_dict()["decision"] == decision.word


@given(histories(min_size=1), histories(min_size=1), st.data())
def test_a_cursor_never_brings_back_what_is_not_sent(
    then: list[Message], more: list[Message], data: st.DataObject
) -> None:
    """Whatever was left out, put in or changed: the messages held and those sent are the history of now."""
    added = [replace(one, id=f"n{one.id}") for one in more]
    kept = [one for one in then if data.draw(st.booleans())]
    turn = facts([*kept, *added])
    decision = decide_continuation(stored(then), turn)
    if kept == then:
        assert decision == ContinueWithCursor("resp_1", len(then), tuple(added))
    else:
        assert decision == DegradeToReplay("history_changed")
