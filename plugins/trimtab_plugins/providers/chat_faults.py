"""The fault behind an error of a server that speaks Chat Completions.

There are several shapes: an object under `error`, a text under it, `detail`, and an object of the kind `error`.
Codes go before the status, as the same status means different things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trimtab_plugins.providers.chat_overflow import figures_of, says_too_long
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import Fault, FaultCode, clean_word

_BY_WORD: Mapping[str, FaultCode] = {
    **dict.fromkeys(
        ("context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"),
        "PROVIDER_CONTEXT_LENGTH",
    ),
    **dict.fromkeys(
        (
            *(
                "insufficient_quota",
                "credit_balance_exhausted",
                "billing_hard_limit_reached",
                "billing_not_active",
            ),
            *("insufficient_balance", "insufficient_credits", "quota_exceeded", "billing_error"),
        ),
        "PROVIDER_QUOTA_EXHAUSTED",
    ),
    **dict.fromkeys(
        (
            *("invalid_api_key", "incorrect_api_key", "authentication_error", "invalid_authentication_error"),
            *("permission_error", "permission_denied", "account_deactivated"),
        ),
        "PROVIDER_AUTHENTICATION",
    ),
    **dict.fromkeys(
        ("model_not_found", "unknown_model", "invalid_model", "deploymentnotfound"), "PROVIDER_MODEL_NOT_FOUND"
    ),
    **dict.fromkeys(
        ("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked"),
        "PROVIDER_CONTENT_REFUSED",
    ),
    **dict.fromkeys(
        ("rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "slow_down", "too_many_requests"),
        "PROVIDER_RATE_LIMITED",
    ),
    **dict.fromkeys(
        (
            *("server_is_overloaded", "overloaded_error", "engine_overloaded_error", "service_unavailable_error"),
            "service_unavailable",
        ),
        "PROVIDER_OVERLOADED",
    ),
}
_BY_STATUS: Mapping[int, FaultCode] = {
    400: "PROVIDER_REQUEST_REFUSED",
    401: "PROVIDER_AUTHENTICATION",
    402: "PROVIDER_QUOTA_EXHAUSTED",
    403: "PROVIDER_AUTHENTICATION",
    408: "PROVIDER_TIMEOUT",
    409: "PROVIDER_FAILED",
    425: "PROVIDER_FAILED",
    429: "PROVIDER_RATE_LIMITED",
    451: "PROVIDER_CONTENT_REFUSED",
    503: "PROVIDER_OVERLOADED",
    504: "PROVIDER_TIMEOUT",
    524: "PROVIDER_TIMEOUT",
    529: "PROVIDER_OVERLOADED",
}
_LATER = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})
_PASSING = frozenset({"PROVIDER_RATE_LIMITED", "PROVIDER_OVERLOADED"})
_OF_SERVER = frozenset({"server_error", "internal_server_error", "internal_error", "internalservererror"})
_TOO_LONG = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Complaint:
    """What an error body says: words for machines, a sentence for people, and figures."""

    code: str = ""
    kind: str = ""
    param: str = ""
    sentence: str = ""
    allowed: int | None = None
    needed: int | None = None

    @property
    def word(self) -> str:
        """The one that tells the most: the code, unless that is only a status again."""
        return self.kind or self.code if self.code.isdecimal() else self.code or self.kind

    @property
    def words(self) -> tuple[str, ...]:
        """The code and the kind, as they are looked up."""
        return self.code.lower(), self.kind.lower()


def fault_of(status: int, body: object) -> Fault:
    """Name the fault behind an answer with a status of 400 or more."""
    complaint = read_complaint(body)
    code = _code_of(status, complaint)
    fault = Fault(
        code=code,
        retryable=_is_retryable(code, status),
        upstream_code=complaint.word,
        param=complaint.param,
    )
    return _with_figures(fault, complaint) if code == "PROVIDER_CONTEXT_LENGTH" else fault


def fault_within(error: object) -> Fault:
    """Name the fault behind an error that came inside of a stream, which has a status in its code at most."""
    complaint = read_complaint({"error": error})
    if complaint.code.isdecimal() and len(complaint.code) == 3 and complaint.code >= "400":
        return fault_of(int(complaint.code), {"error": error})
    code = _code_by_words(complaint) or ("PROVIDER_CONTEXT_LENGTH" if _is_too_long(complaint) else None)
    passing = code in _PASSING or (code is None and any(word in _OF_SERVER for word in complaint.words))
    fault = Fault(
        code=code or "PROVIDER_FAILED",
        retryable=passing,
        upstream_code=complaint.word,
        param=complaint.param,
    )
    return _with_figures(fault, complaint) if code == "PROVIDER_CONTEXT_LENGTH" else fault


def read_complaint(body: object) -> Complaint:
    """Read an error body of any shape; one that cannot be read says nothing."""
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, str):
        return Complaint(sentence=body)
    if not isinstance(body, dict):
        return Complaint()
    error = body.get("error")
    if isinstance(error, dict):
        return _from_object(error)
    if isinstance(error, str):
        return Complaint(kind=clean_word(body.get("error_type")), sentence=error)
    if body.get("detail") is not None:
        return _from_detail(body["detail"])
    return _from_object(body)


def _from_object(error: JsonObject) -> Complaint:
    return Complaint(
        _word(error.get("code")),
        _word(error.get("type")),
        _word(error.get("param")),
        _sentence(error.get("message")),
        _count(error.get("n_ctx")),
        _count(error.get("n_prompt_tokens")),
    )


def _from_detail(detail: object) -> Complaint:
    if isinstance(detail, list):
        detail = detail[0] if detail else None
    if not isinstance(detail, dict):
        return Complaint(sentence=_sentence(detail))
    if "msg" not in detail:
        return _from_object(detail)
    place = detail.get("loc")
    param = ".".join(map(str, place[:8])) if isinstance(place, list) else ""
    return Complaint("", _word(detail.get("type")), clean_word(param), _sentence(detail["msg"]))


def _word(value: object) -> str:
    return clean_word(str(value)) if type(value) is int and abs(value) < 10**9 else clean_word(value)


def _sentence(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 < value < 10**12 else None


def _code_of(status: int, complaint: Complaint) -> FaultCode:
    if status in _TOO_LONG and _is_too_long(complaint):
        return "PROVIDER_CONTEXT_LENGTH"
    by_words = _code_by_words(complaint)
    if by_words is not None:
        return by_words
    if status == 404:
        return _code_of_nothing(complaint)
    usual: FaultCode = "PROVIDER_FAILED" if status >= 500 else "PROVIDER_REQUEST_REFUSED"
    return _BY_STATUS.get(status, usual)


def _code_by_words(complaint: Complaint) -> FaultCode | None:
    return next((_BY_WORD[word] for word in complaint.words if word in _BY_WORD), None)


def _is_too_long(complaint: Complaint) -> bool:
    # Where a limit per minute is too small for a request, the sentence speaks of its length too.
    return "rate_limit_exceeded" not in complaint.words and says_too_long(complaint.sentence)


def _code_of_nothing(complaint: Complaint) -> FaultCode:
    """An unknown model and an unknown path have the same status; only the former speaks of a model."""
    speaks = "model" in complaint.sentence.lower() or complaint.param == "model"
    return "PROVIDER_MODEL_NOT_FOUND" if speaks else "PROVIDER_REQUEST_REFUSED"


def _is_retryable(code: FaultCode, status: int) -> bool:
    if code in _PASSING:
        return status in _LATER or status >= 500
    if code in ("PROVIDER_FAILED", "PROVIDER_TIMEOUT"):
        return status in _LATER or (status >= 500 and status not in _NEVER)
    return False


def _with_figures(fault: Fault, complaint: Complaint) -> Fault:
    told = figures_of(complaint.sentence)
    return replace(fault, allowed=complaint.allowed or told.allowed, needed=complaint.needed or told.needed)
