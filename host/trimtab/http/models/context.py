"""Audits and previews: what a model was given or would be given, message by message."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag

from trimtab.http.models.base import Body, Id, JsonObject, JsonObjects, Shape
from trimtab.http.models.chats import ChatSettingsBody, ContextSnapshot, Messages

UserInput: TypeAlias = Annotated[
    Annotated[str, Field(pattern=r"\S")]
    | Annotated[JsonObjects, Field(min_length=1)]
    | Annotated[JsonObject, Field(min_length=1)],
    Field(
        description="What the user says: a text, parts (`kind`), or user messages in any format.",
        examples=["How many kettles are left?", [{"kind": "text", "text": "And pots?"}]],
    ),
]
Tools: TypeAlias = Annotated[
    JsonObjects,
    Field(
        max_length=1024,
        description="Tools that the caller runs: `name`, `description`, `parameters`; or as a wire has them.",
        examples=[[{"name": "ask_user", "description": "Ask the user.", "parameters": {"type": "object"}}]],
    ),
]


class ChatPreviewBody(Body):
    """Ask what the next turn of a chat would send."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"chatId": "8c5431b3ea2447af98fff494a9b0667b", "input": "And pots?"}]}
    )

    chat_id: Id
    input: UserInput | None = None
    tools: Tools = Field(default_factory=list)


class MessagesPreviewBody(ChatSettingsBody):
    """Ask what a conversation that is stored nowhere would be made into."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "provider": "dry-run",
                    "model": "gpt-4o",
                    "contextSettings": {"contextLimit": 500},
                    "messages": [{"role": "user", "content": "How many kettles are left?"}],
                }
            ]
        }
    )

    messages: Messages
    format: str | None = None
    tools: Tools = Field(default_factory=list)


def _which(value: object) -> str:
    named = value if isinstance(value, dict) else {}
    return "<chat>" if "chatId" in named else "<messages>"


PreviewBody: TypeAlias = Annotated[
    Annotated[ChatPreviewBody, Tag("<chat>")] | Annotated[MessagesPreviewBody, Tag("<messages>")],
    Discriminator(_which),
]


class Tokenizer(Shape):
    """How the count was made, and which parts of it are approximate."""

    profile: str
    version: str
    approximate: bool
    framing: Annotated[str, Field(examples=["exact", "approximate"])]
    images: Annotated[str, Field(examples=["none", "exact", "approximate"])]


class Budget(Shape):
    """What a request may cost, in tokens."""

    context_limit: int | None
    max_input: int | None
    reserve: int
    margin: int
    available: int


class Block(Shape):
    """A message of the prompt as it is sent, and why it is in."""

    model_config = ConfigDict(extra="allow")

    id: str
    revision: int | None
    role: str
    source: str
    tokens: int
    reason: Annotated[str, Field(examples=["system", "pinned", "current-input", "recent"])]


class LeftOut(Shape):
    """A message that is not sent, and why it left."""

    id: str
    revision: int | None
    role: str
    tokens: int
    reason: Annotated[str, Field(examples=["context-shift", "manual", "summarized"])]


class Diagnostic(Shape):
    """Something to know: a repair, a refused edit, a note."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class PluginCall(Shape):
    """One call of a plugin."""

    model_config = ConfigDict(extra="allow")

    plugin: str
    hook: str
    built_in: bool
    confined: bool
    milliseconds: float
    dropped: int
    shortened: int
    inserted: int
    insert_tokens: int


class CallRecord(Shape):
    """One call to a provider, when it is over."""

    model_config = ConfigDict(extra="allow")

    step: int
    provider: str
    model: str
    estimated_input_tokens: int
    milliseconds: float
    attempts: int


class _Context(Shape):
    chat_id: str
    created_at: float
    provider: str
    model: str
    strategy: str
    format: Annotated[str, Field(description="The wire format of the provider.")]
    continuation: dict[str, Any]
    tools: list[str]
    tokenizer: Tokenizer
    budget: Budget
    tokens_before: Annotated[int, Field(description="What the whole conversation would cost.")]
    recount: Annotated[int, Field(description="What the request costs: the blocks and the overhead.")]
    overhead: int
    blocks: Annotated[list[Block], Field(description="Everything in the prompt, in its order.")]
    left_out: list[LeftOut]
    plugin_calls: list[PluginCall]
    diagnostics: list[Diagnostic]


class PromptContextAudit(_Context):
    """The record of what a model was given in the chat's last generation; of a tool loop, in its last call."""

    generation_id: str
    turn_id: str
    status: Annotated[str, Field(examples=["prepared", "completed", "failed", "cancelled"])]
    error_code: Annotated[str, Field(description="Empty unless it failed.")]
    step: int
    calls: list[CallRecord]
    request_digest: str
    prompt_digest: str
    usage: dict[str, Any] | None = None


class Preview(_Context):
    """What the next turn would send. Nothing is stored, and no provider is asked."""

    messages: Annotated[list[Any], Field(description="The final messages, in the provider's own format.")]
    request: Annotated[dict[str, Any] | None, Field(description="The whole request body, where it is one.")] = None
    snapshot: ContextSnapshot
