"""Turns: what they are asked, and what they have come to."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field, JsonValue

from trimtab.http.models.base import Body, Id, JsonObject, JsonObjects, Shape

_Tools: TypeAlias = Annotated[
    JsonObjects,
    Field(
        default_factory=list,
        max_length=512,
        description="Tools that the caller runs itself, in the shape of any wire; a call pauses the turn.",
    ),
]
_ASK_USER: JsonObject = {
    "name": "ask_user",
    "description": "Ask the user.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}


class TurnBody(Body):
    """What a user says."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"input": "How many kettles are left?"},
                {
                    "input": [
                        {"kind": "text", "text": "What is in this picture?"},
                        {"kind": "image", "mediaType": "image/png", "data": "iVBORw0KGgo="},
                    ]
                },
                {"input": [{"role": "user", "content": "Which of the two?"}], "tools": [_ASK_USER]},
            ]
        }
    )

    input: Annotated[
        str | JsonObjects | JsonObject,
        Field(description="A text, parts (objects with a `kind`), or user messages in any format."),
    ]
    tools: _Tools


class RetryBody(Body):
    """How to try the last turn again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"tools": [_ASK_USER]}]})

    tools: _Tools


class ToolResultBody(Body):
    """What one call came to."""

    call_id: Id
    content: Annotated[
        str | JsonObjects,
        Field(description="A text, or parts (objects with a `kind`) of text, image or file."),
    ]
    is_error: bool = False


class ToolResultsBody(Body):
    """What the calls came to that a paused turn waits for: all of them."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"results": [{"callId": "call_1", "content": "The blue one."}]}]}
    )

    results: Annotated[list[ToolResultBody], Field(min_length=1, max_length=512)]


class Pending(Shape):
    """A call that the turn waits for. `arguments` is the text that the model wrote, mostly a JSON object."""

    call_id: str
    name: str
    arguments: str


class TurnError(Shape):
    """Why a turn failed."""

    code: Annotated[str, Field(examples=["PROVIDER_OVERLOADED"])]
    message: str
    details: dict[str, JsonValue]
    retryable: bool


class TurnUsage(Shape):
    """The tokens that the provider reported for all calls of a turn."""

    model_config = ConfigDict(extra="allow")


class Turn(Shape):
    """A turn. Times are seconds since 1970."""

    id: str
    chat_id: str
    state: Annotated[str, Field(examples=["running", "paused", "completed", "failed", "cancelled"])]
    provider: str
    model: str
    generation_id: str
    input_ids: list[str]
    message_ids: Annotated[list[str], Field(description="All messages it has stored, in order.")]
    text: Annotated[str, Field(description="What the model has said so far; steps with an empty line between.")]
    last_event: Annotated[
        int, Field(description="The number of the last event in it: `…/events?after=` it gives exactly the rest.")
    ]
    pending: Annotated[list[Pending], Field(description="The calls that a paused turn waits for.")]
    finish: Annotated[str | None, Field(examples=["stop", "length", "tool-calls", "content-filter"])]
    usage: TurnUsage | None
    error: TurnError | None
    cancel_requested: bool
    started_at: float
    ended_at: float | None
