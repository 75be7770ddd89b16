"""The fault behind an error of Anthropic's server, before or inside of a stream.

An error has a type, a sentence, and at times a finer code among its details. The type goes before the status, for
an error inside of a stream comes with status 200.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from trimtab_plugins.providers import chat_faults
from trimtab_plugins.providers.chat_faults import read_complaint
from trimtab_sdk import CursorFault, Fault, FaultCode, clean_word

_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_SPENT = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
_NO_CREDIT = re.compile(r"credit balance is too low|reached your specified .{0,40}usage limits")
_FILTERED = re.compile(r"blocked by content filtering policy")
_STALE = re.compile(
    r"invalid signature in thinking block|thinking(?: or redacted_thinking)? blocks?\b.{0,120}cannot be modified"
    r"|thinking(?:\.\w+)*\.signature: field required|content\.\d+(?:\.\w+)*\.signature: field required",
    re.DOTALL,
)
_OVERFLOW = re.compile(
    r"input length and max_tokens exceed context limit: (\d{1,12}) \+ (\d{1,12}) > (\d{1,12})",
)
_MOST_READ = 2_000
_LOST_THREADS: Mapping[str, CursorFault] = {
    "thread_not_found": "cursor_expired",
    "thread_already_continued": "cursor_expired",
    "thread_continue_in_flight": "cursor_expired",
    "thread_fingerprint_mismatch": "cursor_invalid",
}
_NO_THREADS = "thread_unsupported_request"


def fault_of(status: int, body: object) -> Fault:
    """Name the fault behind an answer with a status of 400 or more."""
    fault = _fault(status, body)
    code = _detail(body)
    return replace(fault, upstream_code=code) if code else fault


def fault_within(error: object) -> Fault:
    """Name the fault behind an error that came inside of a stream."""
    kind = error.get("type") if isinstance(error, dict) else None
    status = _STATUS.get(kind) if isinstance(kind, str) else None
    return chat_faults.fault_within(error) if status is None else fault_of(status, {"error": error})


def _fault(status: int, body: object) -> Fault:
    usual = chat_faults.fault_of(status, body)
    lost = _LOST_THREADS.get(_detail(body))
    if lost is not None:
        return replace(_changed(usual, "PROVIDER_CURSOR_LOST"), cursor=lost)
    if _detail(body) == _NO_THREADS:
        return replace(_changed(usual, "PROVIDER_REQUEST_REFUSED"), unkept=True)
    sentence = read_complaint(body).sentence[:_MOST_READ].lower().replace("`", "")
    if _detail(body) in _SPENT:
        return _changed(usual, "PROVIDER_QUOTA_EXHAUSTED")
    if status >= 500 or status == 429:
        return usual
    if (overflow := _OVERFLOW.search(sentence)) is not None:
        read, room, allowed = map(int, overflow.groups())
        return replace(_changed(usual, "PROVIDER_CONTEXT_LENGTH"), allowed=allowed or None, needed=read + room)
    if _STALE.search(sentence) is not None:
        return replace(_changed(usual, "PROVIDER_REQUEST_REFUSED"), stale_reasoning=True)
    if _NO_CREDIT.search(sentence) is not None:
        return _changed(usual, "PROVIDER_QUOTA_EXHAUSTED")
    return _changed(usual, "PROVIDER_CONTENT_REFUSED") if _FILTERED.search(sentence) is not None else usual


def _changed(fault: Fault, code: FaultCode) -> Fault:
    return Fault(code=code, upstream_code=fault.upstream_code, param=fault.param)


def _detail(body: object) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return clean_word(details.get("error_code")) if isinstance(details, dict) else ""
