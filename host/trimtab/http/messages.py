"""The messages of a chat: list, edit, pin, leave out, delete, and the whole text of what was shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from trimtab.host import Host
from trimtab.http.access import Owner
from trimtab.http.answers import json_answer, message_dict, problems
from trimtab.http.chats import ChatId
from trimtab.http.inputs import read_parts
from trimtab.http.models.base import MOST_NUMBER
from trimtab.http.models.messages import FullText, Message, MessagePage, MessagePatch
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab.store.protocol import Change, EditParts, SetExcluded, SetPinned, StoredMessage
from trimtab_sdk.errors import InvalidRequestError, NotFoundError
from trimtab_sdk.messages import Part, Text, ToolResult, plain_text

router = APIRouter(prefix="/api/v2/chats/{chatId}/messages", route_class=StrictRoute, tags=["messages"])

MessageId = Annotated[str, Path(alias="messageId", min_length=1, max_length=255)]


@router.get(
    "",
    operation_id="listMessages",
    summary="List the messages of a chat",
    response_model=MessagePage,
    responses=problems(404),
)
async def list_messages(
    chat_id: ChatId,
    owner: Owner,
    service: Serving,
    after: Annotated[int, Query(ge=0, le=MOST_NUMBER, description="Those behind this `seq`.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Give one page of the active branch, in order."""
    found = await service.host.messages(chat_id, owner=owner, after=after, limit=limit + 1)
    page = found[:limit]
    more = page[-1].seq if len(found) > limit else None
    return json_answer({"messages": [message_dict(one) for one in page], "nextAfter": more})


@router.patch(
    "/{messageId}",
    operation_id="updateMessage",
    summary="Edit, pin or leave out a message",
    response_model=Message,
    responses=problems(404, 409, body=True),
)
async def update_message(
    chat_id: ChatId, message_id: MessageId, body: MessagePatch, owner: Owner, service: Serving
) -> Response:
    """Make all the changes that are named, or none. While a turn runs or is paused nothing can be changed."""
    host = service.host
    changes = _changes(await _message(host, chat_id, message_id, owner=owner), body)
    await host.change(chat_id, *changes, owner=owner, revision=body.revision)
    return json_answer(message_dict(await _message(host, chat_id, message_id, owner=owner)))


@router.delete(
    "/{messageId}",
    operation_id="deleteMessage",
    summary="Take a message out for good",
    status_code=204,
    response_class=Response,
    responses=problems(404, 409),
)
async def delete_message(chat_id: ChatId, message_id: MessageId, owner: Owner, service: Serving) -> Response:
    """Delete a message with its older revisions. The one behind it follows the one before it."""
    await service.host.remove(chat_id, message_id, owner=owner)
    return Response(status_code=204)


@router.get(
    "/{messageId}/full-text",
    operation_id="getFullText",
    summary="Read the whole text of a message",
    response_model=FullText,
    responses=problems(404),
)
async def full_text(chat_id: ChatId, message_id: MessageId, owner: Owner, service: Serving) -> Response:
    """Give the text of a tool result as the tool gave it, also where the chat holds a shortened form."""
    whole = await service.host.full_text(chat_id, message_id, owner=owner)
    if whole is not None:
        return json_answer({"id": message_id, "text": whole, "shortened": True})
    stored = await _message(service.host, chat_id, message_id, owner=owner)
    return json_answer({"id": message_id, "text": plain_text(stored.message), "shortened": False})


async def _message(host: Host, chat_id: str, message_id: str, *, owner: str) -> StoredMessage:
    for stored in await host.messages(chat_id, owner=owner):
        if stored.message.id == message_id:
            return stored
    raise NotFoundError("message", message_id)


def _changes(stored: StoredMessage, body: MessagePatch) -> list[Change]:
    named = body.model_fields_set
    name = stored.message.id
    if {"text", "parts"} <= named:
        raise InvalidRequestError("give `text` or `parts`, not both", path="text")
    changes: list[Change] = []
    if "text" in named:
        changes.append(EditParts(name, _with_text(stored.message.parts, body.text)))
    if "parts" in named:
        changes.append(EditParts(name, read_parts(body.parts, path="parts")))
    if "pinned" in named:
        changes.append(SetPinned(name, body.pinned))
    if "meta" in named:
        changes.append(SetExcluded(name, body.meta.manual_excluded))
    if not changes:
        raise InvalidRequestError("name what shall change: text, parts, pinned or meta")
    return changes


def _with_text(parts: Sequence[Part], text: str) -> tuple[Part, ...]:
    """Give the parts with another text: a tool result keeps its call, and calls stay beside the text."""
    if len(parts) == 1 and isinstance(parts[0], ToolResult):
        return (replace(parts[0], content=text),)
    at = next((at for at, part in enumerate(parts) if isinstance(part, Text)), 0)
    rest = [part for part in parts if not isinstance(part, Text)]
    before = sum(1 for part in parts[:at] if not isinstance(part, Text))
    return (*rest[:before], Text(text), *rest[before:])
