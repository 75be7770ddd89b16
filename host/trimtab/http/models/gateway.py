"""The body of a Chat Completions request, and the answers, for the description of the API."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from trimtab.http.models.base import ONLY_OBJECTS

_Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]


class StreamOptions(BaseModel):
    """How a stream is written."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    include_usage: bool = False
    include_obfuscation: bool | None = None


class ChatCompletionBody(BaseModel):
    """A request of Chat Completions. Fields that steer the model stand beside these, as `temperature`."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        strict=True,
        json_schema_extra={
            "examples": [{"model": "gpt-4o", "messages": [{"role": "user", "content": "How many kettles?"}]}]
        },
    )

    model: Annotated[str, Field(min_length=1, max_length=256)]
    messages: Annotated[list[dict[str, Any]], ONLY_OBJECTS, Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[dict[str, Any]], ONLY_OBJECTS] | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: _Tokens | None = None
    max_completion_tokens: _Tokens | None = None

    @property
    def steering(self) -> dict[str, Any]:
        """The other fields, those that are null left out."""
        return {key: value for key, value in (self.model_extra or {}).items() if value is not None}


class OpenAIErrorBody(BaseModel):
    """What went wrong, as clients of OpenAI read it; `trimtab` has our own code and the data of the error."""

    model_config = ConfigDict(extra="allow")

    message: str
    type: Annotated[str, Field(examples=["invalid_request_error"])]
    param: Annotated[str | None, Field(examples=["messages"])]
    code: Annotated[str | None, Field(examples=["context_length_exceeded"])]


class OpenAIProblem(BaseModel):
    """An error of the gateway."""

    error: OpenAIErrorBody


class CalledFunction(BaseModel):
    """The function that a call is of; `arguments` is the text the model wrote."""

    name: str
    arguments: str


class Call(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(extra="allow")

    id: str
    type: Annotated[str, Field(examples=["function"])]
    function: CalledFunction


class AnswerMessage(BaseModel):
    """What the model says. `reasoning_content` is its thinking, where that is shown."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(examples=["assistant"])]
    content: str | None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None


class Choice(BaseModel):
    """The one answer."""

    index: int
    message: AnswerMessage
    finish_reason: Annotated[str, Field(examples=["stop"])]
    logprobs: None = None


class UsageBody(BaseModel):
    """What the provider says the call cost, in tokens."""

    model_config = ConfigDict(extra="allow")

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    """A whole answer."""

    id: str
    object: Annotated[str, Field(examples=["chat.completion"])]
    created: int
    model: str
    choices: list[Choice]
    usage: UsageBody | None = None


class ModelBody(BaseModel):
    """A model that can be asked for. The figures are tokens, and left out where they are not known."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: Annotated[str, Field(examples=["model"])]
    created: int
    owned_by: str
    context_length: int | None = None
    max_output: int | None = None


class ModelList(BaseModel):
    """The models that can be asked for."""

    object: Annotated[str, Field(examples=["list"])]
    data: list[ModelBody]
