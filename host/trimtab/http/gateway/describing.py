"""What the description of the API says of the gateway's answers."""

from __future__ import annotations

from typing import Any, Final

from trimtab.http.models.gateway import ChatCompletion, OpenAIProblem
from trimtab.http.sse import MEDIA_TYPE

_ERRORS: Final = {
    400: "The request cannot be read or carried, or what must stay is over the budget: context_length_exceeded.",
    401: "No token, or one that is not known: invalid_api_key.",
    403: "A web page of another origin: ORIGIN_NOT_ALLOWED; a plugin that nobody trusts: PLUGIN_NOT_TRUSTED.",
    404: "There is no such model or chat: model_not_found, CHAT_NOT_FOUND.",
    408: "The body did not arrive in time: REQUEST_TIMEOUT.",
    409: "The chat is busy, or another one than the request believes: TURN_IN_PROGRESS, TURN_STATE, CHAT_CHANGED.",
    413: "The body is too large: BODY_TOO_LARGE.",
    415: "The body is no JSON: UNSUPPORTED_MEDIA_TYPE.",
    421: "The request names another host: HOST_NOT_ALLOWED.",
    429: "Too much at once: rate_limit_exceeded, insufficient_quota.",
    431: "The headers are too large: HEADERS_TOO_LARGE.",
    500: "A fault of Trimtab itself: INTERNAL_ERROR.",
    502: "The provider failed, or cannot be reached: PROVIDER_….",
    503: "Not now: server_is_overloaded, HOST_STOPPING.",
    504: "The provider did not answer in time: PROVIDER_TIMEOUT.",
}
_ALWAYS: Final = (400, 401, 403, 421, 431, 500, 503)
_HEADERS: Final = {
    "x-trimtab-tokens-before": "What the conversation would have cost, in tokens, by our own count.",
    "x-trimtab-tokens-after": "What the request costs that was sent.",
    "x-trimtab-limit": "The model's window; the budget where the window is not known.",
    "x-trimtab-excluded": "How many messages were left out.",
    "x-trimtab-truncated": "How many messages were shortened.",
    "x-trimtab-inserted": "How many texts were added, as a summary.",
    "x-trimtab-strategy": "The strategy of the context.",
    "x-trimtab-left-out": "Fields of the request that the provider has no place for.",
    "x-trimtab-chat": "The chat that was gone on with.",
    "x-trimtab-turn": "Its turn.",
}
_STREAM: Final = """\
data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt-4o","choices":[…]}

: trimtab {"tokensBefore":9100,"tokensAfter":6100,"excluded":[{"id":"m3","reason":"context-shift"}]}

data: [DONE]

"""


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Give the errors of a route: those of every route, and these."""
    wanted = sorted({*_ALWAYS, *statuses})
    return {status: {"description": _ERRORS[status], "model": OpenAIProblem} for status in wanted}


ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The answer; with `stream`, chunks, a comment with the account, and `[DONE]`.",
        "model": ChatCompletion,
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "examples": {"stream": {"value": _STREAM}}}},
        "headers": {name: {"description": text, "schema": {"type": "string"}} for name, text in _HEADERS.items()},
    },
    **refusals(*_ERRORS),
}
