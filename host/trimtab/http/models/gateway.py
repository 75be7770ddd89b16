"""The body of a Chat Completions request, and the answers, for the description of the API."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: _Tokens | None = None
    max_completion_tokens: _Tokens | None = None

    @property
    def steering(self) -> dict[str, Any]:
        """The other fields, those that are null left out."""
        return {key: value for key, value in (self.model_extra or {}).items() if value is not None}
