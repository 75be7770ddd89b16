"""Stored things as the API shows them, and the errors that every route may answer with."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Response

from trimtab.audits.parts import part_to_dict
from trimtab.http.kinds import PROBLEM_TYPE
from trimtab.http.models.base import Problem
from trimtab.store.protocol import StoredChat, StoredMessage
from trimtab.turns.settings import ChatSettings
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import plain_text

_TEXTS: Final[Mapping[int, str]] = {
    400: "The request cannot be read: INVALID_REQUEST.",
    401: "No token, or one that is not known: UNAUTHENTICATED.",
    403: "A web page of another origin: ORIGIN_NOT_ALLOWED; a plugin that nobody trusts: PLUGIN_NOT_TRUSTED.",
    404: "There is no such thing of this owner: CHAT_NOT_FOUND, MESSAGE_NOT_FOUND, TURN_NOT_FOUND.",
    406: "The header Accept rules out what this answers with: NOT_ACCEPTABLE.",
    408: "The body did not arrive in time: REQUEST_TIMEOUT.",
    409: "Something is in the way: TURN_IN_PROGRESS, TURN_STATE, TURN_LOST, CHAT_CHANGED.",
    413: "The body is too large: BODY_TOO_LARGE.",
    415: "The body is no JSON: UNSUPPORTED_MEDIA_TYPE.",
    421: "The request names another host: HOST_NOT_ALLOWED.",
    422: "It can be read and cannot be done: INVALID_REQUEST, TOKEN_BUDGET_EXCEEDED, UNKNOWN_…, CONFIG_INVALID.",
    429: "Too much at once: TOO_MANY_STREAMS, PROVIDER_RATE_LIMITED, PROVIDER_QUOTA_EXHAUSTED.",
    431: "The headers are too large: HEADERS_TOO_LARGE.",
    502: "A provider, a plugin or a tool failed: PROVIDER_…, PLUGIN_…, TOOL_FAILED.",
    503: "Not now: STORE_UNAVAILABLE, SERVER_BUSY, HOST_STOPPING, PROVIDER_OVERLOADED.",
    504: "Something did not answer in time: PROVIDER_TIMEOUT, PLUGIN_TIMEOUT.",
    500: "A fault of Trimtab itself: INTERNAL_ERROR. The log has it under the request's id.",
}
_ALWAYS: Final = (400, 401, 403, 421, 431, 500, 503)
_WITH_BODY: Final = (408, 413, 415, 422)


def problems(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Give the error responses of a route for its `responses`: those of every route, and these."""
    wanted = sorted({*_ALWAYS, *statuses, *(_WITH_BODY if body else ())})
    return {
        status: {
            "description": _TEXTS[status],
            "model": Problem,
            "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in wanted
    }


def json_answer(value: object, status: int = 200) -> Response:
    """Give JSON as it is. For answers of thousands of parts, which need not be validated once more."""
    return Response(json.dumps(value, ensure_ascii=False).encode(), status, media_type="application/json")


def chat_dict(chat: StoredChat) -> dict[str, object]:
    """Give a chat as JSON values."""
    settings = ChatSettings(**chat.settings).model_dump(mode="json", by_alias=True)
    return {
        "id": chat.id,
        "title": chat.title,
        **settings,
        "revision": chat.revision,
        "turnId": chat.turn_id,
        "lastContextState": None if chat.last_context_state is None else dict(chat.last_context_state),
        "createdAt": chat.created_at,
        "updatedAt": chat.updated_at,
    }


def message_dict(stored: StoredMessage) -> dict[str, object]:
    """Give a message as JSON values."""
    message = stored.message
    return {
        "id": message.id,
        "seq": stored.seq,
        "role": message.role,
        "source": message.source,
        "name": message.name,
        "parts": [part_to_dict(part) for part in message.parts],
        "text": plain_text(message),
        "pinned": message.pinned,
        "required": message.required,
        "ephemeral": message.ephemeral,
        "relevance": message.relevance,
        "meta": dict(message.meta),
        "status": stored.status,
        "revision": stored.revision,
        "parent": stored.parent,
        "turnId": stored.turn_id,
        "hasFullText": stored.has_full,
        "tokens": None if stored.counted is None else stored.counted.cost.tokens,
        "createdAt": stored.created_at,
    }


def write_cursor(chat: StoredChat) -> str:
    """Give the cursor of the page that begins behind a chat."""
    said = json.dumps([chat.updated_at, chat.id])
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[float, str]:
    """Read a cursor. Raises InvalidRequestError for anything that `write_cursor` does not give."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        updated_at, chat_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise _no_cursor() from error
    if type(updated_at) is not float or type(chat_id) is not str or not 0 <= updated_at < 1e15:
        raise _no_cursor()
    return updated_at, chat_id


def _no_cursor() -> InvalidRequestError:
    return InvalidRequestError("`cursor` is none that this server gave; begin without one", path="query.cursor")
