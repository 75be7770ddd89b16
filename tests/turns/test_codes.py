"""Errors as they may be shown: nothing of what is not known leaves, what is known leaves whole."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.turns.codes import MAX_DETAILS, fit_details, normalize_error
from trimtab_sdk import InvalidRequestError, StoreUnavailableError, TokenBudgetExceededError, TrimtabError
from trimtab_sdk.errors import CursorLostError, NotFoundError, ProviderError
from trimtab_sdk.provider import Fault

SECRET = "sk-live-9f8e7d"


class OddError(TrimtabError):
    """An error of somebody else's making, with any code, text and details."""

    def __init__(self, code: object = "ODD", message: str = "odd", details: Any = None) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[assignment]
        self.given = details

    def _details(self) -> dict[str, object]:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given or {}


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), OSError(13, SECRET), KeyError(SECRET), SystemExit(SECRET), BaseException(SECRET)]
)
def test_of_an_unknown_exception_only_the_class_is_told(error: BaseException) -> None:
    told = normalize_error(error)
    assert (told.code, told.details, told.retryable) == (
        "INTERNAL_ERROR",
        {"error": type(error).__name__},
        False,
    )
    assert SECRET not in json.dumps(told.to_dict())
    assert "log" in told.message


def test_an_error_of_ours_keeps_its_code_its_text_and_its_data() -> None:
    error = TokenBudgetExceededError(
        needed=900,
        allowed=500,
        overhead=3,
        protected={"s": 700, "m": 197},
        current_input=["m"],
        smallest_limit=900,
    )
    told = normalize_error(error)
    assert (told.code, told.message, told.details) == ("TOKEN_BUDGET_EXCEEDED", error.message, error.details)


def test_thousands_of_protected_messages_are_cut_and_the_figures_stay() -> None:
    protected = {f"message-{at:012}": 10 for at in range(5_000)}
    error = TokenBudgetExceededError(
        needed=50_000, allowed=500, overhead=3, protected=protected, smallest_limit=50_000
    )
    details: Any = normalize_error(error).details
    assert len(json.dumps(details)) <= MAX_DETAILS
    assert (details["needed"], details["allowed"], details["smallestLimit"]) == (50_000, 500, 50_000)
    assert details["cut"] is True
    assert details["protected"] == error.details["protected"][: len(details["protected"])]  # type: ignore[index]
    assert len(details["protected"]) > 100


def test_what_may_be_tried_again_says_so() -> None:
    busy = ProviderError("busy", fault=Fault(code="PROVIDER_OVERLOADED", retryable=True), provider="p")
    wrong = ProviderError("no", fault=Fault(code="PROVIDER_AUTHENTICATION"), provider="p")
    lost = CursorLostError("lost", code="CURSOR_LOST_AGAIN")
    told = [normalize_error(one).retryable for one in (busy, wrong, lost, StoreUnavailableError("locked"))]
    assert told == [True, False, True, True]
    assert not normalize_error(NotFoundError("chat", "c")).retryable
    assert not normalize_error(InvalidRequestError("wrong")).retryable


def test_control_characters_and_turned_text_go_and_letters_of_all_kinds_stay() -> None:
    told = normalize_error(OddError(message="a\x1b[31mb\x00c\u202ed é 漢 👩\u200d🚀"))
    assert told.message == "a [31mb c d é 漢 👩\u200d🚀"
    assert normalize_error(OddError(message="x" * 9_000)).message == "x" * 3_999 + "…"


@pytest.mark.parametrize("code", ["", "two words", "A" * 65, None, 7, "<b>"])
def test_a_code_that_is_none_is_not_passed_on(code: object) -> None:
    assert normalize_error(OddError(code=code)).code == "INTERNAL_ERROR"


def test_an_error_that_cannot_describe_itself_is_still_told() -> None:
    assert normalize_error(OddError(details=ValueError(SECRET))).to_dict()["details"] == {"error": "OddError"}


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20_000), st.binary(max_size=9)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=30), st.dictionaries(st.text(max_size=300), inner, max_size=9)
    ),
    max_leaves=60,
)


@given(st.dictionaries(st.text(max_size=300), JSON, max_size=6))
def test_details_are_always_clean_json_within_their_size(details: dict[str, object]) -> None:
    told = fit_details(details)
    text = json.dumps(told, allow_nan=False)
    assert len(text) <= MAX_DETAILS
    assert json.loads(text) == told
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in _texts(told))


def _texts(value: object) -> str:
    if isinstance(value, dict):
        return "".join(str(key) + _texts(one) for key, one in value.items())
    if isinstance(value, list):
        return "".join(_texts(one) for one in value)
    return value if isinstance(value, str) else ""


def test_details_without_end_are_still_cut() -> None:
    deep: dict[str, object] = {}
    inner = deep
    for _ in range(500):
        inner["a"] = {"b" * 400: ["c" * 100] * 20}
        inner = inner["a"]  # type: ignore[assignment]
    told = fit_details({"deep": deep, "many": {f"k{at}": "v" * 50 for at in range(2_000)}, "text": "é" * 50_000})
    assert len(json.dumps(told)) <= MAX_DETAILS
    assert told["cut"] is True
