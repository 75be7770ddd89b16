"""The OpenAPI description: what FastAPI makes of the routes, with errors and access told as they are."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

from trimtab.http.access import OPEN_PATHS
from trimtab.http.kinds import GATEWAY_PREFIX, PROBLEM_TYPE

_PROBLEM: Final = "#/components/schemas/Problem"
_METHODS: Final = frozenset({"get", "post", "patch", "delete", "put"})
_EVENT: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}
"""One event of a stream. Before OpenAPI 3.2 there is no word for a sequence of them."""
_OF_CHAT: Final = (
    "getChat",
    "updateChat",
    "listMessages",
    "startTurn",
    "retryTurn",
    "getContextAudit",
    "deleteChat",
)
_CHAT_ID: Final = {"chatId": "$response.body#/id"}
_LINKS: Final = {
    ("createChat", "201"): (_OF_CHAT, _CHAT_ID),
}
"""Which operation leads to which others, and where their ids stand."""
_ABOUT: Final = """\
Chats that are kept, fitted into a model's window to the token, and carried on with a provider, turn after turn.

Errors are `application/problem+json` with a stable `code`; under `/v1/` they have the shape that clients of OpenAI
read. What belongs to another owner is a 404, as is what does not exist."""
_TAGS: Final = [
    {"name": "chats", "description": "Conversations and their settings."},
    {"name": "messages", "description": "What was said, and what may change of it."},
    {"name": "turns", "description": "Say something and follow the answer, as server-sent events."},
    {"name": "context", "description": "What the model was given, and what it would be given."},
    {"name": "catalogue", "description": "Plugins, strategies, providers and models."},
    {"name": "gateway", "description": "Chat Completions for any client of OpenAI."},
    {"name": "operations", "description": "Whether it is alive, whether it can work, and how much it does."},
]


def describe(app: FastAPI, *, secured: bool) -> dict[str, Any]:
    """Give the description of an app's routes. `secured`: callers must show a token."""
    told = get_openapi(
        title="Trimtab", version=version("trimtab"), description=_ABOUT, routes=app.routes, tags=_TAGS
    )
    for path, operation in _operations(told):
        responses = operation["responses"]
        _drop_foreign(responses)
        for response in responses.values():
            _name_kind(response, path)
            _tell_of_events(response)
        _link(operation["operationId"], responses)
        if not secured or path in OPEN_PATHS:
            responses.pop("401", None)
        else:
            operation["security"] = [{"bearer": []}]
    schemas = told.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    if secured:
        told["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "description": "The token of an owner."}
        }
    return told


def methods_at(app: FastAPI, path: str) -> list[str]:
    """Give the methods that the description has for a path, in capitals."""
    return sorted(
        method.upper()
        for template, item in app.openapi()["paths"].items()
        if compile_path(template)[0].match(path)
        for method in item
        if method in _METHODS
    )


def _operations(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in told["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield path, operation


def _drop_foreign(responses: dict[str, Any]) -> None:
    """Take out the 422 of FastAPI's own, which is never answered."""
    content = responses.get("422", {}).get("content", {})
    if "HTTPValidationError" in str(content):
        del responses["422"]


def _name_kind(response: dict[str, Any], path: str) -> None:
    """Let a problem be of the one media type that it has."""
    content = response.get("content", {})
    plain = content.get("application/json", {}).get("schema", {})
    if plain.get("$ref") == _PROBLEM and not path.startswith(GATEWAY_PREFIX):
        response["content"] = {PROBLEM_TYPE: {"schema": {"$ref": _PROBLEM}}}


def _tell_of_events(response: dict[str, Any]) -> None:
    """Describe a stream by one of its events."""
    stream = response.get("content", {}).get("text/event-stream")
    if stream is not None:
        about = stream.get("schema", {}).get("description", "")
        stream["schema"] = _EVENT | ({"description": about} if about else {})
        stream.pop("examples", None)


def _link(name: str, responses: dict[str, Any]) -> None:
    for (source, status), (targets, ids) in _LINKS.items():
        if source == name:
            responses[status]["links"] = {target: {"operationId": target, "parameters": ids} for target in targets}
