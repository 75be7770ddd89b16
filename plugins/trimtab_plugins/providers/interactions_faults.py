"""The fault behind an error of Google's Interactions API."""

from __future__ import annotations

from dataclasses import replace

from trimtab_plugins.providers.chat_overflow import figures_of, says_too_long
from trimtab_plugins.providers.interactions_complaints import Complaint, read_complaint
from trimtab_plugins.providers.interactions_sentences import (
    cursor_fault,
    is_bad_key,
    is_lasting,
    is_of_model,
    is_of_other_schema,
    is_of_signature,
)
from trimtab_plugins.providers.interactions_words import BY_STATUS, BY_WORD, STATUS_OF
from trimtab_sdk import Fault, FaultCode

_PASSING = frozenset({"PROVIDER_RATE_LIMITED", "PROVIDER_OVERLOADED", "PROVIDER_FAILED", "PROVIDER_TIMEOUT"})
_LATER = frozenset({408, 409, 429})
_NEVER = frozenset({501, 505})
_OF_A_REQUEST = frozenset({400, 403, 404, 410, 413, 422})
_TOO_LONG = frozenset({400, 413, 422})


def fault_of(status: int, body: object) -> Fault:
    """Name the fault behind an answer with a status of 400 or more."""
    return _fault(status, read_complaint(body))


def fault_within(error: object) -> Fault:
    """Name the fault behind an error inside of a stream, which has no status but what its words tell."""
    complaint = read_complaint({"error": error})
    told = next((STATUS_OF[word] for word in complaint.words if word in STATUS_OF), None)
    status = complaint.status or told
    if status is not None:
        return _fault(status, complaint)
    # A sentence may still say what is wrong with the request; where it does not, nobody knows who failed.
    fault = _fault(400, complaint)
    known = fault.code != "PROVIDER_REQUEST_REFUSED" or fault.stale_reasoning
    return fault if known else replace(fault, code="PROVIDER_FAILED")


def _fault(status: int, complaint: Complaint) -> Fault:
    text = complaint.sentence.lower()
    fault = _fault_of_request(status, complaint, text) or _fault_of_code(status, complaint, text)
    return replace(fault, upstream_code=complaint.word, param=complaint.param)


def _fault_of_request(status: int, complaint: Complaint, text: str) -> Fault | None:
    """What a sentence says to be wrong with the history that was sent."""
    if status not in _OF_A_REQUEST or is_of_other_schema(text):
        return None
    if cursor := cursor_fault(status, complaint, text):
        return Fault(code="PROVIDER_CURSOR_LOST", cursor=cursor)
    if is_of_signature(text):
        return Fault(code="PROVIDER_REQUEST_REFUSED", stale_reasoning=True)
    if status in _TOO_LONG and says_too_long(text):
        allowed, needed = figures_of(text)
        return Fault(code="PROVIDER_CONTEXT_LENGTH", allowed=allowed, needed=needed)
    return None


def _fault_of_code(status: int, complaint: Complaint, text: str) -> Fault:
    code = _code_of(status, complaint, text)
    retryable = code in _PASSING and (status in _LATER or (status >= 500 and status not in _NEVER))
    return Fault(code=code, retryable=retryable, retry_after=complaint.retry_after if retryable else None)


def _code_of(status: int, complaint: Complaint, text: str) -> FaultCode:
    if status in _OF_A_REQUEST and is_bad_key(text):
        return "PROVIDER_AUTHENTICATION"
    by_word = next((BY_WORD[word] for word in complaint.words if word in BY_WORD), None)
    if by_word == "PROVIDER_RATE_LIMITED" or (by_word is None and status == 429):
        lasting = is_lasting(f"{text} {complaint.quotas.lower()}")
        return "PROVIDER_QUOTA_EXHAUSTED" if lasting else "PROVIDER_RATE_LIMITED"
    if by_word is not None:
        return by_word
    if status == 404 and is_of_model(text):
        return "PROVIDER_MODEL_NOT_FOUND"
    usual: FaultCode = "PROVIDER_FAILED" if status >= 500 else "PROVIDER_REQUEST_REFUSED"
    return BY_STATUS.get(status, usual)
