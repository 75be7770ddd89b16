"""The fault behind an error of a server that speaks Responses, before or inside of a stream.

It has the shapes and most words of Chat Completions. What is of its own: cursors, reasoning that is sealed or
stored, and the words for content it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from trimtab_plugins.providers import chat_faults
from trimtab_plugins.providers.chat_faults import Complaint, read_complaint
from trimtab_sdk import CursorFault, Fault, FaultCode

_BY_WORD: Mapping[str, FaultCode] = {
    **dict.fromkeys(
        (
            *("invalid_prompt", "bio_policy", "cyber_policy", "misalignment_policy_violation"),
            "image_content_policy_violation",
        ),
        "PROVIDER_CONTENT_REFUSED",
    ),
    **dict.fromkeys(
        (
            *("invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url"),
            *("invalid_image_mode", "image_too_large", "image_too_small", "image_parse_error"),
            *("image_file_too_large", "image_file_not_found", "unsupported_image_media_type", "empty_image_file"),
            *("failed_to_download_image", "data_residency_mismatch", "invalid_request_error"),
        ),
        "PROVIDER_REQUEST_REFUSED",
    ),
    "vector_store_timeout": "PROVIDER_TIMEOUT",
}
_LOST = "previous_response_not_found"
_CURSOR = "previous_response_id"
_UNREADABLE_CURSOR = re.compile(r"invalid [`'\"]?previous_response_id")
_UNKNOWN_CURSOR = re.compile(r"previous response\b.{0,120}(not found|cannot be used)", re.DOTALL)
_STALE_WORDS = frozenset({"invalid_encrypted_content"})
_STALE = re.compile(
    r"item with id '?rs_[^ ]* not found|encrypted content\b.{0,200}could not be (verified|decrypted)"
    r"|item '?rs_[^ ]* of type 'reasoning' was provided without|without its required 'reasoning' item",
    re.DOTALL,
)
_WAIT = re.compile(r"try again in (?:(\d{1,4})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(m?s))?")
_MOST_READ = 2_000


def fault_of(status: int, body: object) -> Fault:
    """Name the fault behind an answer with a status of 400 or more."""
    complaint = read_complaint(body)
    own = _own_fault(complaint) if status < 500 else None
    if own is not None:
        return own
    return _with_wait(chat_faults.fault_of(status, body), complaint)


def fault_within(error: object) -> Fault:
    """Name the fault behind an error that came inside of a stream, where there is no status."""
    complaint = read_complaint({"error": error})
    return _own_fault(complaint) or _with_wait(_usual_within(error, complaint), complaint)


def _usual_within(error: object, complaint: Complaint) -> Fault:
    fault = chat_faults.fault_within(error)
    by_word = _by_word(complaint)
    if fault.code != "PROVIDER_FAILED" or fault.retryable or by_word is None:
        return fault
    return replace(fault, code=by_word, retryable=by_word == "PROVIDER_TIMEOUT")


def _own_fault(complaint: Complaint) -> Fault | None:
    """Give the fault of what only this wire has; a call without its result is none of them, cursor or not."""
    cursor = _cursor_fault(complaint)
    if cursor is not None:
        return _fault("PROVIDER_CURSOR_LOST", complaint, cursor=cursor)
    if _says_stale(complaint):
        return replace(_fault("PROVIDER_REQUEST_REFUSED", complaint), stale_reasoning=True)
    if _by_word(complaint) == "PROVIDER_CONTENT_REFUSED":
        return _fault("PROVIDER_CONTENT_REFUSED", complaint)
    return None


def _fault(code: FaultCode, complaint: Complaint, *, cursor: CursorFault | None = None) -> Fault:
    return Fault(code=code, upstream_code=complaint.word, param=complaint.param, cursor=cursor)


def _cursor_fault(complaint: Complaint) -> CursorFault | None:
    sentence = _sentence(complaint)
    if _LOST in complaint.words:
        return "cursor_expired"
    if _UNREADABLE_CURSOR.match(sentence):
        return "cursor_invalid"
    named = complaint.param == _CURSOR or sentence.startswith("previous response ")
    return "cursor_expired" if named and _UNKNOWN_CURSOR.search(sentence) else None


def _says_stale(complaint: Complaint) -> bool:
    named = not _STALE_WORDS.isdisjoint(complaint.words)
    return named or _STALE.search(_sentence(complaint)) is not None


def _by_word(complaint: Complaint) -> FaultCode | None:
    return next((_BY_WORD[word] for word in complaint.words if word in _BY_WORD), None)


def _with_wait(fault: Fault, complaint: Complaint) -> Fault:
    if not fault.retryable or fault.retry_after is not None:
        return fault
    return replace(fault, retry_after=_wait_in(_sentence(complaint)))


def _wait_in(sentence: str) -> float | None:
    """Give the seconds that a sentence asks to wait, as in `try again in 1m2.5s` or `in 350ms`."""
    found = _WAIT.search(sentence)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, number, unit = found.groups()
    rest = float(number or 0) / (1000 if unit == "ms" else 1)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + rest


def _sentence(complaint: Complaint) -> str:
    return complaint.sentence[:_MOST_READ].lower()
