"""Which view reads the messages of which format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from case_files import Json
from case_view_anthropic import anthropic_view, blocks_in
from case_view_chat import chat_view
from case_view_gemini import content_view, step_view
from case_view_responses import item_view
from case_views import View

Viewer: TypeAlias = Callable[[Json], View]

VIEWERS: Mapping[str, Viewer] = {
    "neutral": chat_view,
    "openai-chat": chat_view,
    "anthropic": anthropic_view,
    "responses": item_view,
    "gemini": content_view,
    "interactions": step_view,
}
"""`format` of a case → how one of its messages is seen."""


def views_of(messages: Sequence[Json], form: str) -> list[View]:
    """Give the view of each message of a format."""
    return [VIEWERS[form](message) for message in messages]


def head_views(head: Json) -> list[View]:
    """Give the view of a system text that stands in a field of its own; none when there is no text."""
    blocks = head.get("parts", ()) if isinstance(head, dict) else blocks_in(head)
    words = tuple(block["text"] for block in blocks)
    return [View("system", words, words)] if words else []
