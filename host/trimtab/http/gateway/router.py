"""The routes of the gateway."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import JSONResponse, Response

from trimtab.catalogue import Model
from trimtab.http.access import Owner
from trimtab.http.gateway.answering import GatewayAnswer, Source
from trimtab.http.gateway.asking import asked_of, is_own
from trimtab.http.gateway.chats import continued
from trimtab.http.gateway.describing import ANSWERS, refusals
from trimtab.http.gateway.targets import find_target, listed_models
from trimtab.http.gateway.writing import Writer
from trimtab.http.models.gateway import ChatCompletionBody, ModelBody, ModelList
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab_sdk.errors import UnknownModelError

_ChatId = Annotated[
    str | None,
    Header(
        alias="x-trimtab-chat",
        min_length=1,
        max_length=255,
        description="The id of a stored chat that the request goes on with.",
    ),
]

router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["gateway"])


@router.post(
    "/chat/completions",
    operation_id="chatCompletions",
    summary="Answer a conversation, fitted into the model's window",
    response_class=Response,
    responses=ANSWERS,
)
async def chat_completions(
    body: ChatCompletionBody, owner: Owner, service: Serving, chat_id: _ChatId = None
) -> Response:
    """Answer as OpenAI's Chat Completions do, whoever is behind.

    With `x-trimtab-chat` the messages behind the last one of the assistant are a turn of that chat: what the user
    says, or the results of the calls it waits for. Without it nothing is stored.
    """
    gateway, host = service.server.gateway, service.host
    source: Source
    if chat_id is not None:
        source, own = await continued(host, gateway, body, chat_id=chat_id, owner=owner), False
    else:
        source = asked_of(host, gateway, body, owner=owner)
        own = is_own(host, find_target(gateway, body.model).provider)
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    writer = Writer(own=own, with_usage=with_usage)
    slot = service.streams.take(owner) if body.stream else None
    return GatewayAnswer(source, writer, slot=slot)


@router.get(
    "/models",
    operation_id="listGatewayModels",
    summary="The models that can be asked for",
    response_class=Response,
    responses={200: {"model": ModelList}, **refusals(401)},
)
async def models(owner: Owner, service: Serving) -> Response:
    """List the aliases of the configuration, and the models that are known of the gateway's provider."""
    listed = listed_models(service.host, service.server.gateway)
    return JSONResponse({"object": "list", "data": [_model(name, *one) for name, one in listed.items()]})


@router.get(
    "/models/{model:path}",
    operation_id="getGatewayModel",
    summary="One of the models",
    response_class=Response,
    responses={200: {"model": ModelBody}, **refusals(401, 404)},
)
async def model(model: str, owner: Owner, service: Serving) -> Response:
    """Give one of the models that are listed."""
    listed = listed_models(service.host, service.server.gateway)
    if model not in listed:
        raise UnknownModelError(f"there is no model {model[:100]!r} here", name=model, known=())
    return JSONResponse(_model(model, *listed[model]))


def _model(name: str, provider: str, known: Model | None) -> dict[str, Any]:
    told: dict[str, Any] = {"id": name, "object": "model", "created": 0, "owned_by": provider}
    figures = {} if known is None else {"context_length": known.context_limit, "max_output": known.max_output}
    return told | {key: value for key, value in figures.items() if value is not None}
