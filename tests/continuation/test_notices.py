"""What people are told."""

from __future__ import annotations

from typing import get_args

import pytest

from factories import message
from trimtab.continuation import (
    ABORT_SENTENCES,
    SENTENCES,
    AbortCode,
    ContinuationDegraded,
    ContinuationTransition,
    DegradeReason,
    FallbackNotice,
    history_hash,
)
from trimtab_sdk import Message

EVENT = ContinuationDegraded("model_changed", "openai", "gpt-6-astra")


def test_every_reason_and_every_abort_has_one_plain_sentence() -> None:
    assert {*SENTENCES} == {reason for part in get_args(DegradeReason) for reason in get_args(part)}
    assert {*ABORT_SENTENCES} == {*get_args(AbortCode)}
    sentences = [*SENTENCES.values(), *ABORT_SENTENCES.values()]
    assert len({*sentences}) == len(sentences)
    assert all(sentence.endswith(".") and "_" not in sentence for sentence in sentences)


def test_the_event_holds_its_reason_and_the_sentence() -> None:
    assert EVENT.to_dict() == {
        "kind": "continuation_degraded",
        "reason": "model_changed",
        "provider": "openai",
        "modelName": "gpt-6-astra",
        "message": "This chat goes on with another model, so the whole conversation is sent again.",
    }


def test_the_notice_on_the_stream_says_the_same() -> None:
    assert FallbackNotice(EVENT).to_dict() == EVENT.to_dict() | {"kind": "fallback_notice"}


def test_the_notice_in_the_chat_turns_recovered_when_the_replay_succeeded() -> None:
    notice = ContinuationTransition(EVENT)
    assert notice.as_part().kind == "continuation_transition"
    assert notice.as_part().data["recovered"] is False
    assert notice.recover().as_part().data == {**notice.as_part().data, "recovered": True}
    assert notice.as_part().data["reason"] == "model_changed"


@pytest.mark.parametrize("recovered", [False, True])
def test_the_notice_in_the_chat_does_not_change_its_history(recovered: bool) -> None:
    talk = [message("u1"), message("a1", "assistant")]
    notice = Message("n1", "system", (ContinuationTransition(EVENT, recovered).as_part(),))
    assert history_hash([talk[0], notice, talk[1]]) == history_hash(talk)
