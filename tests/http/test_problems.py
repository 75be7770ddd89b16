"""Every code has its status and its place in the description."""

from __future__ import annotations

import json
from typing import get_args

import pytest

import trimtab_sdk
from trimtab.continuation.words import AbortCode
from trimtab.http.errors import STATUSES, HttpError, MalformedError
from trimtab.http.problems import error_response, known_codes, status_for, status_of
from trimtab.turns import codes
from trimtab_sdk.errors import NotFoundError, ProviderError, Sought, StoreUnavailableError
from trimtab_sdk.provider import Fault, FaultCode


def all_codes() -> set[str]:
    """Every code that the sdk, the host and a driver can raise."""
    errors = [getattr(trimtab_sdk, name) for name in trimtab_sdk.__all__ if name.endswith("Error")]
    own = {
        error.code for error in errors if issubclass(error, trimtab_sdk.TrimtabError) and hasattr(error, "code")
    }
    return {
        *own,
        *(NotFoundError(kind, "x").code for kind in get_args(Sought)),
        *get_args(FaultCode),
        *(code.upper() for code in get_args(AbortCode)),
        *codes._LATER,
        codes.INTERNAL_ERROR,
    }


def test_every_code_has_a_status_of_its_own() -> None:
    assert all_codes() - known_codes() == set()


def test_no_status_is_given_to_what_does_not_exist() -> None:
    beside = {"TOKENIZER_SUSPECT"}  # a diagnostic, of which an error may be made

    assert known_codes() - all_codes() - STATUSES.keys() - beside == set()


def test_an_unknown_code_is_a_fault_of_ours() -> None:
    assert status_of("SOMETHING_NEW") == 500


def test_what_cannot_be_read_is_told_from_what_cannot_be_done() -> None:
    malformed, refused = MalformedError("no"), trimtab_sdk.InvalidRequestError("no")

    assert [status_for(one, path="/api/v2/chats") for one in (malformed, refused)] == [400, 422]
    assert [status_for(one, path="/v1/models") for one in (malformed, refused)] == [400, 400]


def test_a_problem_does_not_say_where_the_store_is() -> None:
    error = StoreUnavailableError("the file /home/ann/chats.db is out of space")
    answer = error_response(error, path="/api/v2/chats", request_id="r")

    assert b"/home" not in answer.body
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(("after", "shown"), [(None, "1"), (7.2, "7"), (0.1, "1")])
def test_a_provider_that_says_when_is_believed(after: float | None, shown: str) -> None:
    fault = Fault(code="PROVIDER_RATE_LIMITED")
    error = ProviderError("slow down", fault=fault, provider="work", status=429, retry_after=after)
    answer = error_response(error, path="/api/v2/chats", request_id="r")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, shown)
    assert b'"upstreamStatus": 429' in answer.body
    assert b'"status": 429' in answer.body


def test_clients_of_openai_get_their_shape() -> None:
    answer = error_response(HttpError("TOO_MANY_STREAMS", "later"), path="/v1/chat/completions", request_id="r")

    assert answer.media_type == "application/json"
    assert answer.status_code == 429
    assert json.loads(bytes(answer.body))["error"]["type"] == "rate_limit_error"
