"""Turns: say something, read along, bring tool results, cancel, try again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.types import Receive

from trimtab.http import sse
from trimtab.http.access import Owner
from trimtab.http.answers import json_answer, problems
from trimtab.http.errors import HttpError
from trimtab.http.inputs import read_parts, read_user_input
from trimtab.http.models.base import MOST_NUMBER
from trimtab.http.models.turns import RetryBody, ToolResultsBody, Turn, TurnBody
from trimtab.http.service import Service, Serving
from trimtab.http.strict import StrictRoute
from trimtab.turns.codes import is_retryable
from trimtab.turns.following import Following
from trimtab.turns.inputs import ResultInput
from trimtab.turns.so_far import TurnSoFar
from trimtab.turns.tool_shapes import read_tools
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import ContentPart, ToolResult

router = APIRouter(prefix="/api/v2", route_class=StrictRoute, tags=["turns"])

ChatId = Annotated[str, Path(alias="chatId", min_length=1, max_length=255)]
TurnId = Annotated[str, Path(alias="turnId", min_length=1, max_length=255)]
_Accept = Annotated[str, Header(alias="accept", include_in_schema=False)]
_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="A name for this turn of your own: asking again with it begins no second one.",
    ),
]
_LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=20,
        description="The number of the last event you have; goes before `after`.",
    ),
]
_After = Annotated[int, Query(ge=0, le=MOST_NUMBER, description="The number of the last event you have.")]
_EVENTS: Final = """\
Each event has its number as `id`, its kind as `event`, and a JSON object as `data`, with `kind` in it:
`turn_started`, `context_ready`, `continuation_degraded`, `fallback_notice`, `model_fallback`, `text_delta`,
`reasoning_delta`, `tool_call_started`, `tool_call_delta`, `tool_call_completed`, `tool_result`, `usage`, and as
the last one exactly one of `turn_completed`, `turn_failed`, `turn_cancelled` and `turn_paused`. A comment
comes after 15 silent seconds."""
_EXAMPLE: Final = """\
id: 3
event: text_delta
data: {"kind":"text_delta","text":"Seven"}

id: 4
event: turn_completed
data: {"kind":"turn_completed","turnId":"5f0c","finish":"stop","messageIds":["m1","m2"],"snapshot":{},"steps":1}

"""
_STREAM: Final[dict[str, Any]] = {
    "schema": {"type": "string", "description": _EVENTS},
    "examples": {"answer": {"value": _EXAMPLE}},
}
_STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The events of the turn; for `Accept: application/json` the turn itself once it has ended.",
        "model": Turn,
        "content": {sse.MEDIA_TYPE: _STREAM},
    }
}
_READ: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The events of the turn behind the number.", "content": {sse.MEDIA_TYPE: _STREAM}}
}


@router.post(
    "/chats/{chatId}/turns",
    operation_id="startTurn",
    summary="Say something in a chat",
    response_class=Response,
    responses={**_STREAMED, **problems(404, 406, 409, 429, body=True)},
)
async def start_turn(
    chat_id: ChatId,
    body: TurnBody,
    owner: Owner,
    service: Serving,
    request: Request,
    key: _Key = None,
    accept: _Accept = "",
) -> Response:
    """Begin a turn and give its events until the answer is stored.

    Whoever hangs up loses the events and not the turn: it goes on, unless `[server] client_gone` says otherwise,
    and its events can be read at `/api/v2/turns/{turnId}/events`, whose address is in the header `Location`.
    """
    tools = read_tools(body.tools)
    said = read_user_input(body.input)

    def begin() -> Awaitable[str]:
        return service.host.start_turn(chat_id, said, owner=owner, tools=tools, key=key or "")

    return await _answer(service, owner, begin, accept=accept, receive=request.receive)


@router.post(
    "/chats/{chatId}/retry",
    operation_id="retryTurn",
    summary="Try the last turn again",
    response_class=Response,
    responses={**_STREAMED, **problems(404, 406, 409, 429, body=True)},
)
async def retry_turn(
    chat_id: ChatId,
    owner: Owner,
    service: Serving,
    request: Request,
    body: RetryBody | None = None,
    accept: _Accept = "",
) -> Response:
    """Try the last turn again, when it failed or was cancelled: no input is stored twice, no tool runs again."""
    tools = read_tools(body.tools if body else ())

    def begin() -> Awaitable[str]:
        return service.host.start_retry(chat_id, owner=owner, tools=tools)

    return await _answer(service, owner, begin, accept=accept, receive=request.receive)


@router.post(
    "/turns/{turnId}/tool-results",
    operation_id="resumeTurn",
    summary="Bring the results that a paused turn waits for",
    response_class=Response,
    responses={**_STREAMED, **problems(404, 406, 409, 429, body=True)},
)
async def resume_turn(
    turn_id: TurnId,
    body: ToolResultsBody,
    owner: Owner,
    service: Serving,
    request: Request,
    accept: _Accept = "",
) -> Response:
    """Go on with a paused turn, in whatever process it was paused. Gives the events from here on."""
    results = _results(body)
    paused = await service.host.turn_so_far(turn_id, owner=owner)

    def begin() -> Awaitable[str]:
        return service.host.start_resume(turn_id, results, owner=owner)

    return await _answer(service, owner, begin, accept=accept, receive=request.receive, after=paused.last_event)


@router.get(
    "/turns/{turnId}",
    operation_id="getTurn",
    summary="Look at a turn",
    response_model=Turn,
    responses=problems(404),
)
async def get_turn(turn_id: TurnId, owner: Owner, service: Serving) -> Response:
    """Give a turn as it is now, with its text so far, in whatever process it runs."""
    return await _turn_answer(service, turn_id, owner)


@router.get(
    "/turns/{turnId}/events",
    operation_id="readEvents",
    summary="Read the events of a turn, from any of them on",
    response_class=Response,
    responses={**_READ, **problems(404, 406, 422, 429)},
)
async def read_events(
    turn_id: TurnId,
    owner: Owner,
    service: Serving,
    after: _After = 0,
    last_event_id: _LastEventId = None,
    accept: _Accept = "",
) -> Response:
    """Give the events behind a number, go on with those that come, and end with the last one.

    They can be read for ten minutes after the end of a turn, later there is only the last one. A turn that is
    paused ends the stream with `turn_paused`; asked for what comes behind that, it waits until the turn goes on.
    """
    _check_takes_stream(accept)
    following = service.host.follow(turn_id, owner=owner, after=_number(last_event_id, after))
    slot = service.streams.take(owner)
    try:
        await following.check()
    except BaseException:
        slot.release()
        raise
    return sse.EventStreamResponse(_frames(following), slot=slot)


@router.post(
    "/turns/{turnId}/cancel",
    operation_id="cancelTurn",
    summary="End a turn",
    response_model=Turn,
    responses=problems(404),
)
async def cancel_turn(turn_id: TurnId, owner: Owner, service: Serving) -> Response:
    """End a turn, in whatever process it runs. What had come is stored; one that has ended stays as it is.

    A turn of this process has ended when this answers; one of another process ends within moments.
    """
    await service.host.cancel(turn_id, owner=owner)
    return await _turn_answer(service, turn_id, owner)


async def _answer(
    service: Service,
    owner: str,
    begin: Callable[[], Awaitable[str]],
    *,
    accept: str,
    receive: Receive,
    after: int = 0,
) -> Response:
    """Begin a turn, and give its events or the whole of it."""
    streams = _wants_stream(accept)
    slot = service.streams.take(owner)
    try:
        turn_id = await begin()
    except BaseException:
        slot.release()
        raise
    following = service.host.follow(turn_id, owner=owner, after=after)
    headers = {"Location": f"/api/v2/turns/{turn_id}"}

    async def gone() -> None:
        if service.server.client_gone == "cancel" and not service.host.readers(turn_id):
            await service.host.cancel(turn_id, owner=owner)

    if streams:
        return sse.EventStreamResponse(_frames(following), slot=slot, gone=gone, headers=headers)
    with slot:
        if await sse.unless_gone(receive, _end(following)) is None:
            await gone()
        answer = await _turn_answer(service, turn_id, owner)
    answer.headers.update(headers)
    return answer


async def _frames(following: Following) -> AsyncGenerator[bytes, None]:
    async with following:
        yield sse.RETRY
        while not following.is_over:
            events = await following.batch(sse.HEARTBEAT_SECONDS)
            if events:
                yield b"".join(
                    sse.frame(one.event, id=one.sequence, event=str(one.event.get("kind", ""))) for one in events
                )
            elif not following.is_over:
                yield sse.KEEP_ALIVE


async def _end(following: Following) -> bool:
    async with following:
        while not following.is_over:
            await following.batch()
    return True


async def _turn_answer(service: Service, turn_id: str, owner: str) -> Response:
    return json_answer(turn_dict(await service.host.turn_so_far(turn_id, owner=owner)))


def turn_dict(so_far: TurnSoFar) -> dict[str, object]:
    """Give a turn as JSON values."""
    turn = so_far.turn
    return {
        "id": turn.id,
        "chatId": turn.chat_id,
        "state": turn.state,
        "provider": turn.provider,
        "model": turn.model,
        "generationId": turn.generation_id,
        "inputIds": list(turn.input_ids),
        "messageIds": list(so_far.message_ids),
        "text": so_far.text,
        "lastEvent": so_far.last_event,
        "pending": [one.to_dict() for one in so_far.pending],
        "finish": turn.finish,
        "usage": None if turn.usage is None else dict(turn.usage),
        "error": None if turn.error is None else _error(turn.error),
        "cancelRequested": turn.cancel_requested,
        "startedAt": turn.started_at,
        "endedAt": turn.ended_at,
    }


def _error(error: Mapping[str, object]) -> dict[str, object]:
    code = str(error.get("code", ""))
    details = error.get("details")
    return {
        "code": code,
        "message": str(error.get("message", "")),
        "details": dict(details) if isinstance(details, Mapping) else {},
        "retryable": is_retryable(code),
    }


def _results(body: ToolResultsBody) -> dict[str, ResultInput]:
    results: dict[str, ResultInput] = {}
    for at, one in enumerate(body.results):
        if one.call_id in results:
            raise InvalidRequestError(f"there are two results of {one.call_id!r}", path=f"results[{at}].callId")
        results[one.call_id] = ToolResult(
            one.call_id, _content(one.content, f"results[{at}].content"), one.is_error
        )
    return results


def _content(given: str | Sequence[object], path: str) -> str | tuple[ContentPart, ...]:
    if isinstance(given, str):
        return given
    parts = read_parts(given, path=path)
    content = tuple(part for part in parts if isinstance(part, ContentPart))
    if len(content) < len(parts):
        raise InvalidRequestError(f"{path} holds what a tool cannot answer", path=path)
    return content


def _number(last_event_id: str | None, after: int) -> int:
    """Give the number to go on behind. The header goes first: a browser sends it with its first address."""
    if not last_event_id:
        return after
    is_number = last_event_id.isascii() and last_event_id.isdecimal()
    if not is_number or int(last_event_id) > MOST_NUMBER:
        raise InvalidRequestError("Last-Event-ID must be the number of an event", path="header.Last-Event-ID")
    return int(last_event_id)


def _wants_stream(accept: str) -> bool:
    """Tell whether events are wanted, or the turn as JSON; a stream where both will do.

    Raises HttpError NOT_ACCEPTABLE.
    """
    streams, json = _weights(accept)
    if not streams and not json:
        raise _not_acceptable("text/event-stream or application/json")
    return streams >= json


def _check_takes_stream(accept: str) -> None:
    """Raise HttpError NOT_ACCEPTABLE unless events may be given."""
    streams, _ = _weights(accept)
    if not streams:
        raise _not_acceptable("text/event-stream")


def _not_acceptable(kinds: str) -> HttpError:
    return HttpError("NOT_ACCEPTABLE", f"this answers with {kinds}, which the header Accept rules out")


def _weights(accept: str) -> tuple[float, float]:
    """Give how much a stream is wanted, and how much JSON."""
    weights = {"text/event-stream": 0.0, "application/json": 0.0}
    for one in (accept or "*/*").split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        weight = next((_weight(part) for part in parameters if part.startswith("q=")), 1.0)
        for name in weights:
            if kind in (name, "*/*", f"{name.partition('/')[0]}/*"):
                weights[name] = max(weights[name], weight)
    streams, json = weights.values()
    return streams, json


def _weight(parameter: str) -> float:
    try:
        return float(parameter.removeprefix("q="))
    except ValueError:
        return 0.0
