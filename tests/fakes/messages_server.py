"""A fake server of the Anthropic Messages API: a real one, on a loopback socket.

It is scripted as the fake in `fakes.chat_server` is. Every body is judged by the types of Anthropic's SDK and by
the rules of the wire, and all thinking by its signature, which knows what it was made behind; what breaks them is
answered 400 and listed in `server.faults`.

A turn with a tool:

    with MessagesServer() as server:
        server.call(("lookup", {"id": 3}))
        server.say("Found ", "it.")
        ...  # ask server.base_url twice, the second time with the answer and the result
        assert server.faults == []
        assert [turn["role"] for turn in server.view(2).messages] == ["user", "assistant", "user"]

Signatures that are refused; a cache that has run out:

    server.rotate_keys()
    server.clock.advance(seconds=301)

An answer that pauses and is sent back:

    server.say("part one", PAUSE, "part two")
"""

from __future__ import annotations

from fakes.chat_moments import Gate, Moment
from fakes.chat_prices import rough_tokens
from fakes.chat_refusals import page, redirect, refusal_with
from fakes.chat_replies import (
    CUT,
    RESET,
    STALL,
    ChatReply,
    Json,
    Part,
    PlainReply,
    Reply,
    ask,
    comment,
    endless,
    huge_line,
    mid_character,
    mid_frame,
    pause,
    raw,
    reply,
    stream_error,
    thought,
)
from fakes.chat_requests import Request
from fakes.interactions_store import HandClock
from fakes.messages_context import Cost, View
from fakes.messages_handlers import MessagesHandler, agent, echo
from fakes.messages_judge import MessagesJudge
from fakes.messages_loopback import MessagesServer
from fakes.messages_refusals import REFUSALS, error_body, refusal
from fakes.messages_replies import PAUSE, block, cited, declined, delta, event, found, ping, redacted, search
from fakes.messages_thinking import CONTROLS
from fakes.messages_types import NEW_VERSION, OLD_VERSION, event_faults, message_faults

__all__ = [
    "CONTROLS",
    "CUT",
    "NEW_VERSION",
    "OLD_VERSION",
    "PAUSE",
    "REFUSALS",
    "RESET",
    "STALL",
    "ChatReply",
    "Cost",
    "Gate",
    "HandClock",
    "Json",
    "MessagesHandler",
    "MessagesJudge",
    "MessagesServer",
    "Moment",
    "Part",
    "PlainReply",
    "Reply",
    "Request",
    "View",
    "agent",
    "ask",
    "block",
    "cited",
    "comment",
    "declined",
    "delta",
    "echo",
    "endless",
    "error_body",
    "event",
    "event_faults",
    "found",
    "huge_line",
    "message_faults",
    "mid_character",
    "mid_frame",
    "page",
    "pause",
    "ping",
    "raw",
    "redacted",
    "redirect",
    "refusal",
    "refusal_with",
    "reply",
    "rough_tokens",
    "search",
    "stream_error",
    "thought",
]
