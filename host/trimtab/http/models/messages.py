"""Messages of a chat."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from trimtab.http.models.base import ONLY_OBJECTS, Body, JsonObject, Revision, Shape

Part: TypeAlias = Annotated[
    JsonObject,
    Field(
        description="A part: `kind` (text, image, file, audio, toolCall, toolResult, …) and its fields.",
        examples=[{"kind": "text", "text": "How many kettles are left?"}],
    ),
]


class MetaPatch(Body):
    """The one key of a message's `meta` that a caller may set: whether it is left out by hand."""

    manual_excluded: bool


class MessagePatch(Body):
    """What shall change of a message; at least one of them. All of it happens, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "examples": [
                {"text": "How many pots are left?"},
                {"pinned": True},
                {"meta": {"manualExcluded": True}},
                {"parts": [{"kind": "text", "text": "How many pots are left?"}]},
            ],
        }
    )

    text: str = Field(default_factory=str, min_length=1, description="Another text in place of its text.")
    parts: Annotated[list[Part], ONLY_OBJECTS] = Field(
        default_factory=list, min_length=1, description="Other parts in place of all."
    )
    pinned: bool = Field(default_factory=bool)
    meta: MetaPatch = Field(default_factory=lambda: MetaPatch.model_validate({"manualExcluded": False}))
    revision: Annotated[Revision | None, Field(description="The chat's revision that this is meant for.")] = None


class Message(Shape):
    """A message of a chat. `seq` grows along the branch that is active."""

    id: str
    seq: int
    role: Annotated[str, Field(examples=["user", "assistant", "system", "tool"])]
    source: Annotated[str, Field(examples=["history", "input", "system", "persona", "lorebook"])]
    name: str | None
    parts: list[dict[str, Any]]
    text: Annotated[str, Field(description="What the parts say, as plain text.")]
    pinned: bool
    required: bool
    ephemeral: bool
    relevance: float | None
    meta: dict[str, Any]
    status: Annotated[str, Field(examples=["complete", "incomplete"])]
    revision: Annotated[int, Field(description="1, and one more with each edit of its parts.")]
    parent: str | None
    turn_id: str | None
    has_full_text: Annotated[bool, Field(description="Whether the whole text of a shortened tool result is kept.")]
    tokens: Annotated[int | None, Field(description="What it costs in a request, where that was counted.")]
    created_at: float


class MessagePage(Shape):
    """Messages in order. Ask for those behind `nextAfter` next; null at the end."""

    messages: list[Message]
    next_after: int | None


class FullText(Shape):
    """The whole text of a message. `shortened`: the chat holds a shortened form of it."""

    id: str
    text: str
    shortened: bool
