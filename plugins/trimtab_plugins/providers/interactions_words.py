"""The words in errors of Google's servers, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_sdk import FaultCode

BY_WORD: Mapping[str, FaultCode] = {
    **dict.fromkeys(
        (
            *("api_key_invalid", "invalid_api_key", "api_key_expired", "unauthenticated", "permission_denied"),
            *("api_key_service_blocked", "api_key_ip_address_blocked", "api_key_http_referrer_blocked"),
        ),
        "PROVIDER_AUTHENTICATION",
    ),
    **dict.fromkeys(("quota_exceeded", "insufficient_quota", "billing_disabled"), "PROVIDER_QUOTA_EXHAUSTED"),
    **dict.fromkeys(("rate_limit_exceeded", "resource_exhausted", "too_many_requests"), "PROVIDER_RATE_LIMITED"),
    **dict.fromkeys(("service_unavailable", "unavailable", "overloaded"), "PROVIDER_OVERLOADED"),
    **dict.fromkeys(("deadline_exceeded", "gateway_timeout"), "PROVIDER_TIMEOUT"),
    **dict.fromkeys(
        ("safety", "content_blocked", "prohibited_content", "blocklist", "spii"), "PROVIDER_CONTENT_REFUSED"
    ),
    **dict.fromkeys(
        ("internal", "internal_error", "internal_server_error", "unknown", "aborted", "cancelled"),
        "PROVIDER_FAILED",
    ),
    "model_not_found": "PROVIDER_MODEL_NOT_FOUND",
}
BY_STATUS: Mapping[int, FaultCode] = {
    401: "PROVIDER_AUTHENTICATION",
    402: "PROVIDER_QUOTA_EXHAUSTED",
    403: "PROVIDER_AUTHENTICATION",
    408: "PROVIDER_TIMEOUT",
    409: "PROVIDER_FAILED",
    429: "PROVIDER_RATE_LIMITED",
    499: "PROVIDER_FAILED",
    503: "PROVIDER_OVERLOADED",
    504: "PROVIDER_TIMEOUT",
}
STATUS_OF: Mapping[str, int] = {
    **dict.fromkeys(("invalid_request", "invalid_argument", "failed_precondition", "out_of_range"), 400),
    **dict.fromkeys(("api_key_invalid", "unauthenticated"), 401),
    "permission_denied": 403,
    "not_found": 404,
    "aborted": 409,
    "cancelled": 499,
    "unimplemented": 501,
    **dict.fromkeys(("rate_limit_exceeded", "quota_exceeded", "resource_exhausted", "too_many_requests"), 429),
    **dict.fromkeys(("internal", "internal_error", "internal_server_error", "unknown"), 500),
    **dict.fromkeys(("service_unavailable", "unavailable", "overloaded"), 503),
    **dict.fromkeys(("deadline_exceeded", "gateway_timeout"), 504),
}
"""The status that a word goes with, for errors inside of a stream, which have none."""
