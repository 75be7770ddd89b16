"""What a tool may know of the call it answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Which call a tool answers, and for whom.

    A parameter of a tool with this annotation is filled by the host; the model is never told of it.
    """

    chat_id: str
    turn_id: str
    owner: str
    call_id: str = ""
