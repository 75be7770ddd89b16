"""Errors as HTTP responses: one table from code to status, and a body for each of the two APIs.

Under `/v1/` an error has the shape that clients of OpenAI read, anywhere else it is `application/problem+json`.
"""

from __future__ import annotations

import http
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from trimtab.http.description import methods_at
from trimtab.http.errors import STATUSES, HttpError, MalformedError
from trimtab.http.kinds import GATEWAY_PREFIX, PROBLEM_TYPE
from trimtab.turns.codes import INTERNAL_ERROR, NormalizedError, normalize_error
from trimtab_sdk.errors import ProviderError, StoreUnavailableError, TrimtabError

RETRY_SECONDS: Final = 1

_LOG = logging.getLogger("trimtab.http")
_MOST_ERRORS: Final = 20
_CODES: Final[Mapping[str, int]] = {
    "PLUGIN_NOT_TRUSTED": 403,
    "CHAT_NOT_FOUND": 404,
    "MESSAGE_NOT_FOUND": 404,
    "TURN_NOT_FOUND": 404,
    "PROVIDER_MODEL_NOT_FOUND": 404,
    "TURN_IN_PROGRESS": 409,
    "TURN_STATE": 409,
    "TURN_LOST": 409,
    "CHAT_CHANGED": 409,
    "INVALID_REQUEST": 422,
    "INVALID_BUDGET": 422,
    "UNKNOWN_FORMAT": 422,
    "UNKNOWN_MODEL": 422,
    "UNKNOWN_STRATEGY": 422,
    "UNKNOWN_PROVIDER": 422,
    "CONFIG_INVALID": 422,
    "TOKEN_BUDGET_EXCEEDED": 422,
    "PROVIDER_KEY_MISSING": 422,
    "PROVIDER_REQUEST_REFUSED": 422,
    "PROVIDER_CONTENT_REFUSED": 422,
    "PROVIDER_CONTEXT_LENGTH": 422,
    "TURN_STEPS_EXCEEDED": 422,
    "PROVIDER_RATE_LIMITED": 429,
    "PROVIDER_QUOTA_EXHAUSTED": 429,
    "TRIMTAB_ERROR": 500,
    "TURN_FAILED": 500,
    INTERNAL_ERROR: 500,
    "PLUGIN_FAILED": 502,
    "PLUGIN_LOAD_FAILED": 502,
    "PLUGIN_REJECTED": 502,
    "PROTECTED_CONTEXT_REMOVED": 502,
    "PLUGIN_CRASHED": 502,
    "TOKENIZER_SUSPECT": 502,
    "TOOL_FAILED": 502,
    "PROVIDER_AUTHENTICATION": 502,
    "PROVIDER_FAILED": 502,
    "PROVIDER_UNREACHABLE": 502,
    "PROVIDER_TLS_FAILED": 502,
    "PROVIDER_STREAM_BROKEN": 502,
    "PROVIDER_BAD_RESPONSE": 502,
    "PROVIDER_REDIRECTED": 502,
    "PROVIDER_CURSOR_LOST": 502,
    "TOOL_RESULT_CURSOR_LOSS": 502,
    "CURSOR_LOST_AGAIN": 502,
    "STORE_UNAVAILABLE": 503,
    "SERVICE_UNAVAILABLE": 503,
    "HOST_STOPPING": 503,
    "TOKENIZER_UNAVAILABLE": 503,
    "PLUGIN_BUSY": 503,
    "PLUGIN_SUSPENDED": 503,
    "PROVIDER_OVERLOADED": 503,
    "TURN_INTERRUPTED": 503,
    "PLUGIN_TIMEOUT": 504,
    "PROVIDER_TIMEOUT": 504,
    **STATUSES,
}
_TYPES: Final = frozenset({"str", "dict", "list", "constrained-str"})
_RETRIED: Final = frozenset({429, 503})
_RESERVED: Final = frozenset({"type", "title", "status", "detail", "code", "requestId"})
_OF_STARLETTE: Final = {
    404: ("ROUTE_NOT_FOUND", "there is nothing at this path; /openapi.json lists what there is"),
    405: ("METHOD_NOT_ALLOWED", "this path does not take this method"),
}


def status_of(code: str) -> int:
    """Give the HTTP status for an error's code; 500 for one that nobody knows.

    422 is for what can be read and cannot be done; what cannot even be read is a 400, `status_for` knows it.
    """
    return _CODES.get(code, 500)


def status_for(error: BaseException, *, path: str) -> int:
    """Give the HTTP status for an error at a path. Under `/v1/` there is no 422: clients of OpenAI know 400."""
    if isinstance(error, MalformedError):
        return 400
    status = status_of(normalize_error(error).code)
    return 400 if status == 422 and path.startswith(GATEWAY_PREFIX) else status


def known_codes() -> frozenset[str]:
    """Give every code that has a status of its own."""
    return frozenset(_CODES)


def shown(error: BaseException) -> NormalizedError:
    """Give an error as it may be sent to a caller, without the place of the store."""
    told = normalize_error(error)
    if isinstance(error, StoreUnavailableError):
        return NormalizedError(told.code, _STORE, {}, retryable=True)
    return told


_STORE: Final = "the store cannot be read or written now; nothing was half written, try again a little later"


def error_response(error: BaseException, *, path: str, request_id: str) -> Response:
    """Give the response for any error, in the shape that callers of this path read.

    What is no error of Trimtab becomes a 500 that tells its class alone.
    """
    if path.startswith(GATEWAY_PREFIX):
        from trimtab.http.gateway.dialect import openai_response

        return openai_response(error)
    told = shown(error)
    status = status_for(error, path=path)
    body = _problem(told, status, request_id)
    return Response(
        json.dumps(body, ensure_ascii=False).encode(),
        status,
        _headers(error, status),
        media_type=PROBLEM_TYPE,
    )


def _headers(error: BaseException, status: int) -> dict[str, str]:
    headers = dict(error.headers) if isinstance(error, HttpError) else {}
    if status in _RETRIED and "Retry-After" not in headers:
        after = error.retry_after if isinstance(error, ProviderError) else None
        headers["Retry-After"] = str(RETRY_SECONDS if after is None else max(1, round(after)))
    return headers


def _problem(told: NormalizedError, status: int, request_id: str) -> dict[str, object]:
    data = {_free(key): value for key, value in told.details.items()}
    return {
        "type": f"urn:trimtab:problem:{told.code.lower().replace('_', '-')}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": told.message,
        "code": told.code,
        "retryable": told.retryable,
        **data,
        "requestId": request_id,
    }


def _free(key: str) -> str:
    """Give a name of a problem's data that no member of its own has: a provider's status is `upstreamStatus`."""
    return f"upstream{key[:1].upper()}{key[1:]}" if key in _RESERVED else key


def request_id_of(request: Request) -> str:
    """Give the id of a request, which stands in its response, its problem and the log."""
    return str(request.scope.get("trimtab.request_id", ""))


def add_handlers(app: FastAPI) -> None:
    """Let an app answer every error as this module has it."""
    app.add_exception_handler(TrimtabError, _answer)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    app.add_exception_handler(HTTPException, _answer_plain)


async def _answer(request: Request, error: Exception) -> Response:
    if status_of(getattr(error, "code", "")) >= 500:
        _LOG.warning("request %s: %s", request_id_of(request), error)
    return error_response(error, path=request.url.path, request_id=request_id_of(request))


async def _answer_validation(request: Request, error: Exception) -> Response:
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    return await _answer(request, invalid(faults))


async def _answer_plain(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if status not in _OF_STARLETTE:
        return await _answer(request, MalformedError("this is no request that can be read"))
    code, text = _OF_STARLETTE[status]
    if status == 405:
        headers["Allow"] = ", ".join(methods_at(request.app, request.url.path)) or headers.get("Allow", "GET")
    return await _answer(request, HttpError(code, text, headers=headers))


def invalid(faults: Sequence[Mapping[str, Any]]) -> MalformedError:
    """Give the error for what pydantic found, without the values it found."""
    told = [{"path": _path(fault["loc"]), "message": _message(fault)} for fault in faults[:_MOST_ERRORS]]
    first = told[0] if told else {"path": "", "message": "the request is wrong"}
    text = f"{first['path']}: {first['message']}" if first["path"] else first["message"]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return MalformedError(f"{text}{more}", path=first["path"], errors=told)


def _path(loc: Sequence[object]) -> str:
    """Give a place as `messages[3].content`; a place outside the body begins with `query` or `path`."""
    steps = [step for step in (loc[1:] if loc and loc[0] == "body" else loc) if not _is_tag(step)]
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


def _is_tag(step: object) -> bool:
    """Whether a step says which of several models was tried, and nothing of the body."""
    return isinstance(step, str) and (step.startswith("<") or "[" in step or step in _TYPES)


def _message(fault: Mapping[str, Any]) -> str:
    return str(fault["msg"]).removeprefix("Value error, ")
