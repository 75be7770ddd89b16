"""Chats and their settings."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

from trimtab.http.models.base import ONLY_TEXTS, Body, Id, JsonObject, Revision, Shape, whole

_Tokens: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000), BeforeValidator(whole)]
_Reserve: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(whole)]
_Steps: TypeAlias = Annotated[int, Field(ge=1, le=1000), BeforeValidator(whole)]
_Provider: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
_Model: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]
_Share: TypeAlias = Annotated[float, Field(gt=0, le=1)]
_MOST_CHARACTERS: Final = 128 << 10


def _of_a_setting(value: JsonObject) -> JsonObject:
    """Refuse what is longer than any settings are: a list of chats has those of 200."""
    if len(json.dumps(value)) > _MOST_CHARACTERS:
        raise PydanticCustomError(
            "too_much", "it has more than {most} characters as JSON", {"most": f"{_MOST_CHARACTERS:,}"}
        )
    return value


_Settings: TypeAlias = Annotated[JsonObject, AfterValidator(_of_a_setting)]
_Tools: TypeAlias = Annotated[list[Annotated[str, Field(max_length=256)]], ONLY_TEXTS, Field(max_length=1024)]
_Title: TypeAlias = Annotated[str, Field(max_length=1000)]
_Strategy: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$", examples=["summarize"])]
Messages: TypeAlias = Annotated[
    list[JsonValue] | JsonObject,
    Field(
        description="A list of messages, or a request body that holds them, in any format that Trimtab reads.",
        examples=[[{"role": "user", "content": "We are 24."}, {"role": "assistant", "content": "Noted."}]],
    ),
]


class ContextSettingsBody(Body):
    """How the context of a chat is made. What is left out is as usual."""

    strategy: _Settings = Field(default_factory=dict, description="Settings of the strategy itself.")
    context_limit: Annotated[_Tokens | None, Field(description="Tokens, in place of the catalogue's.")] = None
    reserve: _Reserve | None = None
    target: Annotated[_Share, Field(description="The share of the budget that a strategy cuts down to.")] = 0.75
    tool_result_share: _Share = 0.25
    provider_compaction_enabled: bool = True


class FallbackBody(Body):
    """Another model to ask when the chat's own is out of order."""

    provider: _Provider
    model: _Model


class ChatSettingsBody(Body):
    """What a conversation is carried on with."""

    provider: Annotated[_Provider, Field(description="A name of the configuration, or of a driver.")]
    model: _Model
    fallbacks: list[FallbackBody] = Field(default_factory=list, max_length=16)
    context_strategy: _Strategy = "truncate"
    context_settings: ContextSettingsBody = ContextSettingsBody()
    max_output_tokens: _Tokens | None = None
    options: _Settings = Field(default_factory=dict, description="The driver's own, as `temperature`.")
    response_format: Annotated[
        _Settings | None, Field(description="The shape of the answer, as Chat Completions has it.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Give the settings that were named, as the host takes them."""
        named = self.model_dump(exclude_unset=True)
        return {key: value for key, value in named.items() if key not in _BESIDE_SETTINGS}


_BESIDE_SETTINGS = frozenset({"title", "system", "messages", "format", "tools"})


class NewChatBody(ChatSettingsBody):
    """A chat to begin."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"provider": "dry-run", "model": "gpt-4o", "system": "Be brief."},
                {
                    "provider": "dry-run",
                    "model": "gpt-4o",
                    "title": "Lighthouse",
                    "contextStrategy": "summarize",
                    "contextSettings": {"contextLimit": 8000},
                    "messages": [{"role": "user", "content": "We are 24."}],
                },
            ]
        }
    )

    title: _Title = ""
    system: Annotated[str | None, Field(description="The system text, the first message.")] = None
    messages: Messages = Field(default_factory=list)
    format: Annotated[str | None, Field(description="The format of `messages`, where that is not clear.")] = None
    tools: Annotated[_Tools | None, Field(description="Which of the host's tools; null means all.")] = None
    max_steps: _Steps = 20

    def settings(self) -> dict[str, Any]:
        """Give the settings that were named, as the host takes them."""
        beside = {"tools": self.tools} if "tools" in self.model_fields_set else {}
        return super().settings() | beside


class ChatPatch(Body):
    """What shall change of a chat; what is left out stays. `revision` refuses the change at any other revision."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Lighthouses", "model": "gpt-4o-mini", "maxOutputTokens": None}]}
    )

    revision: Revision | None = None
    title: _Title = Field(default_factory=str)
    provider: _Provider = Field(default_factory=str)
    model: _Model = Field(default_factory=str)
    fallbacks: list[FallbackBody] = Field(default_factory=list, max_length=16)
    context_strategy: _Strategy = Field(default_factory=str)
    context_settings: ContextSettingsBody = Field(
        default_factory=ContextSettingsBody, description="All of them anew; what is left out is as usual."
    )
    max_output_tokens: _Tokens | None = None
    options: _Settings = Field(default_factory=dict)
    response_format: _Settings | None = None
    tools: _Tools | None = None
    max_steps: _Steps = Field(default_factory=int)

    def settings(self) -> dict[str, Any]:
        """Give the settings that were named, as the host takes them."""
        named = self.model_dump(exclude_unset=True)
        return {key: value for key, value in named.items() if key not in ("revision", "title")}


class BranchBody(Body):
    """Where the chat goes on: behind this message, or with null from nothing."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"leaf": "62a515b3ec24a1"}]})

    leaf: Id | None
    revision: Revision | None = None


class ContextSnapshot(Shape):
    """How full the window is."""

    estimated_input_tokens: int
    context_limit: int | None = None
    budget: int
    reserve: int
    estimated_usage_ratio: float
    severity: Annotated[str, Field(examples=["normal", "info", "warning", "danger", "critical"])]
    reported_input_tokens: int | None = None
    reported_output_tokens: int | None = None
    excluded: int
    approximate: bool


class ContextSettings(Shape):
    """How the context of a chat is made."""

    strategy: JsonObject
    context_limit: int | None
    reserve: int | None
    target: float
    tool_result_share: float
    provider_compaction_enabled: bool


class Fallback(Shape):
    """Another model to ask when the chat's own is out of order."""

    provider: str
    model: str


class Chat(Shape):
    """A chat. Times are seconds since 1970."""

    id: str
    title: str
    provider: str
    model: str
    fallbacks: list[Fallback]
    context_strategy: str
    context_settings: ContextSettings
    max_output_tokens: int | None
    options: JsonObject
    response_format: JsonObject | None
    tools: list[str] | None
    max_steps: int
    revision: Annotated[int, Field(description="Raised by one with each change.")]
    turn_id: Annotated[str | None, Field(description="Its turn that runs or is paused.")]
    last_context_state: ContextSnapshot | None
    created_at: float
    updated_at: float


class ChatPage(Shape):
    """Chats, last changed first. `nextCursor` leads to the page behind this one, null at the end."""

    chats: list[Chat]
    next_cursor: str | None
