"""What a model was given, and what it would be given."""

from __future__ import annotations

from fastapi import APIRouter, Response

from trimtab.http.access import Owner
from trimtab.http.answers import json_answer, problems
from trimtab.http.chats import ChatId
from trimtab.http.inputs import read_user_input
from trimtab.http.models.context import ChatPreviewBody, Preview, PreviewBody, PromptContextAudit
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab.turns.tool_shapes import read_tools

router = APIRouter(prefix="/api/v2", route_class=StrictRoute, tags=["context"])


@router.get(
    "/chats/{chatId}/context-audit",
    operation_id="getContextAudit",
    summary="Read what the model was given last",
    response_model=PromptContextAudit | None,
    responses=problems(404),
)
async def context_audit(chat_id: ChatId, owner: Owner, service: Serving) -> Response:
    """Give the record of the chat's last generation, null where there was none."""
    audit = await service.host.audit(chat_id, owner=owner)
    if audit is None:
        await service.host.chat(chat_id, owner=owner)
    return json_answer(None if audit is None else audit.to_dict())


@router.post(
    "/context-preview",
    operation_id="previewContext",
    summary="See what would be sent",
    response_model=Preview,
    responses=problems(404, 409, 502, 504, body=True),
)
async def context_preview(body: PreviewBody, owner: Owner, service: Serving) -> Response:
    """Fit a chat's next turn, or a conversation of your own, by the same code as a turn.

    Nothing is stored, and no provider is asked.
    """
    host = service.host
    if isinstance(body, ChatPreviewBody):
        said = None if body.input is None else read_user_input(body.input)
        preview = await host.preview(body.chat_id, said, owner=owner, tools=read_tools(body.tools))
    else:
        preview = await host.preview_messages(
            body.messages, owner=owner, format=body.format, tools=body.tools, **body.settings()
        )
    return json_answer(preview.to_dict())
