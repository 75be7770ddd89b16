"""Errors as clients of OpenAI know them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.responses import JSONResponse, Response

from trimtab.http.errors import HttpError
from trimtab.http.problems import RETRY_SECONDS, shown, status_for
from trimtab_sdk.errors import ChatChangedError, ProviderError, TrimtabError

PATH: Final = "/v1/chat/completions"

_CODES: Final[Mapping[str, str]] = {
    "TOKEN_BUDGET_EXCEEDED": "context_length_exceeded",
    "PROVIDER_CONTEXT_LENGTH": "context_length_exceeded",
    "UNKNOWN_MODEL": "model_not_found",
    "PROVIDER_MODEL_NOT_FOUND": "model_not_found",
    "PROVIDER_RATE_LIMITED": "rate_limit_exceeded",
    "TOO_MANY_STREAMS": "rate_limit_exceeded",
    "PROVIDER_QUOTA_EXHAUSTED": "insufficient_quota",
    "PROVIDER_OVERLOADED": "server_is_overloaded",
    "SERVER_BUSY": "server_is_overloaded",
    "PROVIDER_CONTENT_REFUSED": "content_policy_violation",
    "UNAUTHENTICATED": "invalid_api_key",
    "INVALID_REQUEST": "invalid_value",
}
_PARAMS: Final[Mapping[str, str]] = {"context_length_exceeded": "messages", "model_not_found": "model"}
_MISSING: Final = frozenset({"UNKNOWN_MODEL"})
_ASKED_AGAIN: Final = frozenset({408, 409, 429})
_WAITS: Final = frozenset({429, 503})


class TurnToldError(TrimtabError):
    """How a turn of a chat failed, as its last event tells it."""

    def __init__(self, code: str, message: str, *, details: Mapping[str, object], retryable: bool) -> None:
        super().__init__(message)
        self.code = code
        self.told = dict(details)
        self.retryable = retryable

    def _details(self) -> dict[str, object]:
        return dict(self.told)

    @property
    def retry_after(self) -> float | None:
        """After how many seconds to try again, where the provider said it."""
        after = self.told.get("retryAfter")
        return after if isinstance(after, int | float) else None


@dataclass(frozen=True, slots=True)
class OpenAIError:
    """An error in OpenAI's dialect: the status, the body `{"error": …}`, and headers."""

    status: int
    body: dict[str, object]
    headers: dict[str, str] = field(default_factory=dict)

    def frame(self) -> bytes:
        """Give the error as an event in the middle of a stream."""
        return b"data: " + json.dumps(self.body).encode() + b"\n\n"


def openai_error(error: BaseException, *, param: str | None = None) -> OpenAIError:
    """Give any error as a client of OpenAI reads it.

    Beside OpenAI's own four members stands `trimtab`, with our code and the data of the error.
    """
    told = shown(error)
    status = 404 if told.code in _MISSING else status_for(error, path=PATH)
    code = _CODES.get(told.code, told.code)
    where = param or _PARAMS.get(code) or told.details.get("path") or told.details.get("param") or None
    where = where.removeprefix("options.") if isinstance(where, str) else None
    body: dict[str, object] = {
        "error": {
            "message": told.message,
            "type": _type_of(status, code),
            "param": where,
            "code": code,
            "trimtab": {"code": told.code, "details": dict(told.details)},
        }
    }
    retryable = error.retryable if isinstance(error, TurnToldError) else told.retryable
    return OpenAIError(status, body, _headers(error, status, retryable=retryable))


def openai_response(error: BaseException, *, param: str | None = None) -> Response:
    """Give the response for any error."""
    told = openai_error(error, param=param)
    return JSONResponse(told.body, told.status, told.headers)


def _type_of(status: int, code: str) -> str:
    if code == "insufficient_quota":
        return code
    if status == 401:
        return "authentication_error"
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def _headers(error: BaseException, status: int, *, retryable: bool) -> dict[str, str]:
    headers = dict(error.headers) if isinstance(error, HttpError) else {}
    after = error.retry_after if isinstance(error, ProviderError | TurnToldError) else None
    if after is not None:
        headers["Retry-After"] = str(max(1, round(after)))
        headers["Retry-After-Ms"] = str(max(1, round(after * 1000)))
    elif status in _WAITS:
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    if status in _ASKED_AGAIN or status >= 500:
        # The official clients ask these again by themselves, unless they are told not to.
        again = (retryable or isinstance(error, HttpError)) and not isinstance(error, ChatChangedError)
        headers["X-Should-Retry"] = "true" if again else "false"
    return headers
