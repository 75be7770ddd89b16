"""Chats: begin, list, read, change, branch, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from trimtab.http.access import Owner
from trimtab.http.answers import chat_dict, json_answer, problems, read_cursor, write_cursor
from trimtab.http.models.chats import BranchBody, Chat, ChatPage, ChatPatch, NewChatBody
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab.store.protocol import Branch
from trimtab_sdk.errors import InvalidRequestError, NotFoundError

router = APIRouter(prefix="/api/v2/chats", route_class=StrictRoute, tags=["chats"])

ChatId = Annotated[str, Path(alias="chatId", min_length=1, max_length=255)]


@router.post(
    "",
    operation_id="createChat",
    summary="Begin a chat",
    status_code=201,
    response_model=Chat,
    responses=problems(409, body=True),
)
async def create_chat(body: NewChatBody, owner: Owner, service: Serving) -> Response:
    """Store a new chat, empty or with what was said before in any format that Trimtab reads."""
    messages = body.messages
    chat = await service.host.create_chat(
        owner=owner,
        title=body.title,
        system=body.system,
        messages=messages,
        format=body.format,
        **body.settings(),
    )
    answer = json_answer(chat_dict(chat), 201)
    answer.headers["Location"] = f"/api/v2/chats/{chat.id}"
    return answer


@router.get(
    "",
    operation_id="listChats",
    summary="List the chats, last changed first",
    response_model=ChatPage,
    responses=problems(422),
)
async def list_chats(
    owner: Owner,
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None,
        Query(max_length=1000, pattern=r"^[A-Za-z0-9_-]+$", description="`nextCursor` of the page before."),
    ] = None,
) -> Response:
    """Give one page of the owner's chats."""
    before = None if cursor is None else read_cursor(cursor)
    found = await service.host.chats(owner=owner, limit=limit + 1, before=before)
    page = found[:limit]
    more = write_cursor(page[-1]) if len(found) > limit else None
    return json_answer({"chats": [chat_dict(chat) for chat in page], "nextCursor": more})


@router.get(
    "/{chatId}", operation_id="getChat", summary="Read a chat", response_model=Chat, responses=problems(404)
)
async def get_chat(chat_id: ChatId, owner: Owner, service: Serving) -> Response:
    """Give a chat with its settings and how full its window was after the last turn."""
    return json_answer(chat_dict(await service.host.chat(chat_id, owner=owner)))


@router.patch(
    "/{chatId}",
    operation_id="updateChat",
    summary="Change the title or settings of a chat",
    response_model=Chat,
    responses=problems(404, 409, body=True),
)
async def update_chat(chat_id: ChatId, body: ChatPatch, owner: Owner, service: Serving) -> Response:
    """Change what is named; the next call to a provider goes by it, also in a turn that runs."""
    title = body.title if "title" in body.model_fields_set else None
    chat = await service.host.update_chat(
        chat_id, owner=owner, title=title, revision=body.revision, **body.settings()
    )
    return json_answer(chat_dict(chat))


@router.delete(
    "/{chatId}",
    operation_id="deleteChat",
    summary="Delete a chat with everything of it",
    status_code=204,
    response_class=Response,
    responses=problems(404),
)
async def delete_chat(chat_id: ChatId, owner: Owner, service: Serving) -> Response:
    """Delete messages, turns, events and audit with the chat. A turn that runs is cancelled."""
    await service.host.delete_chat(chat_id, owner=owner)
    return Response(status_code=204)


@router.post(
    "/{chatId}/branch",
    operation_id="branchChat",
    summary="Go on from an earlier message",
    response_model=Chat,
    responses=problems(404, 409, body=True),
)
async def branch_chat(chat_id: ChatId, body: BranchBody, owner: Owner, service: Serving) -> Response:
    """Make a message the last one. What stood behind it stays on its own branch, chosen again by its last one."""
    try:
        chat = await service.host.change(chat_id, Branch(body.leaf), owner=owner, revision=body.revision)
    except NotFoundError as error:
        if error.kind != "message":
            raise
        raise InvalidRequestError(f"leaf: there is no message {body.leaf!r} in this chat", path="leaf") from error
    return json_answer(chat_dict(chat))
