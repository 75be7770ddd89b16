"""Which checker says whether a server would take a request of which format."""

from __future__ import annotations

from collections.abc import Sequence

from case_files import Json
from case_viewers import views_of
from case_wire_anthropic import anthropic_faults
from case_wire_chat import chat_faults
from case_wire_gemini import contents_faults, steps_faults
from case_wire_responses import responses_faults


def faults_of(messages: Sequence[Json], form: str, head: Json = None) -> list[str]:
    """Give the faults that a server of the format would find; `neutral` has no server, only unique ids."""
    match form:
        case "openai-chat":
            return chat_faults(messages)
        case "anthropic":
            return anthropic_faults(messages, head)
        case "responses":
            return responses_faults(messages)
        case "gemini":
            return contents_faults(messages)
        case "interactions":
            return steps_faults(messages)
        case _:
            ids = [message["id"] for message in messages]
            return [] if len(set(ids)) == len(ids) else [f"an id twice in {ids}"]


def empty_contents(messages: Sequence[Json], form: str) -> list[int]:
    """Give the places of messages that say nothing: no call, no data, only blanks. Results may be empty."""
    silent = frozenset({"reasoning", "thought"})
    return [
        at
        for at, view in enumerate(views_of(messages, form))
        if view.says_nothing and messages[at].get("type") not in silent
    ]
