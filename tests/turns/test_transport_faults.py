"""The sentences of faults, and the words that servers give."""

from __future__ import annotations

import pickle
from typing import get_args

import pytest

from trimtab.turns.faults import checked_fault, provider_error
from trimtab_sdk import Fault, FaultCode, clean_word


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_each_fault_has_a_sentence_that_says_what_to_do(code: FaultCode) -> None:
    error = provider_error(Fault(code=code), provider="here", model="m-1", variable="THE_KEY")
    assert error.code == code
    assert "{" not in str(error)
    assert ";" in str(error)
    bare = str(provider_error(Fault(code=code), provider="here"))
    assert "''" not in bare
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_refused_key_is_told_by_its_variable_and_a_missing_one_by_the_line_to_add() -> None:
    fault = Fault(code="PROVIDER_AUTHENTICATION")
    assert "the key in THE_KEY; check it" in str(provider_error(fault, provider="here", variable="THE_KEY"))
    assert "as key_variable of the endpoint" in str(provider_error(fault, provider="here"))


def test_a_model_with_an_odd_name_cannot_break_a_line() -> None:
    fault = Fault(code="PROVIDER_MODEL_NOT_FOUND")
    assert "\n" not in str(provider_error(fault, provider="here", model="m\n[ERROR] {provider}", status=404))


@pytest.mark.parametrize("word", ["context_length_exceeded", "messages[3].content", "a:b-c", "x" * 100])
def test_a_machine_word_stays_as_it_is(word: str) -> None:
    assert clean_word(word) == word


@pytest.mark.parametrize("word", ["", "two words", "line\n", "x" * 101, "naïve", "<b>", None, 7, ["a"], b"a"])
def test_anything_else_is_no_word(word: object) -> None:
    assert clean_word(word) == ""


def test_a_fault_of_a_driver_is_cleaned() -> None:
    odd = Fault(
        code="PROVIDER_CONTEXT_LENGTH",
        cursor="cursor_expired",
        upstream_code="sk-1",
        param="a sentence",
        allowed=-1,
        needed=True,
    )
    assert checked_fault(odd, secret="sk-1") == Fault(code="PROVIDER_CONTEXT_LENGTH")
    sound = Fault(code="PROVIDER_CURSOR_LOST", cursor="cursor_expired", upstream_code="gone", retryable=True)
    assert checked_fault(sound, secret="sk-1") == sound


@pytest.mark.parametrize(
    "fault",
    [
        None,
        "PROVIDER_FAILED",
        Fault(code="OWN"),  # type: ignore[arg-type]
        Fault(code=[]),  # type: ignore[arg-type]
        Fault(code="PROVIDER_CURSOR_LOST", cursor="lost"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_fault_is_told_apart(fault: object) -> None:
    assert checked_fault(fault) is None
