"""A fake server of the Gemini Interactions API: a real one, on a loopback socket, that holds conversations.

It is scripted as the fake in `fakes.chat_server` is. Every body is judged by the types of Google's SDK and by the
rules of the wire, every context by what the server holds; what breaks them is answered 400 and listed in
`server.faults`. An id that is lost is answered 404, and no fault.

A turn with a tool, continued by the id of the answer:

    with InteractionsServer() as server:
        server.call(("lookup", {"id": 3}))
        server.say("Found ", "it.")
        ...  # ask server.base_url twice, the second time with previous_interaction_id and the result
        assert server.faults == []
        assert [step["type"] for step in server.view(2).steps] == [
            "user_input", "thought", "function_call", "function_result"
        ]

A conversation that is lost; signatures that are refused:

    server.clock.advance(days=56)     # or server.forget(server.last_id), server.forget_all()
    server.rotate_keys()

A long decode in two requests:

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
from fakes.interactions_context import View
from fakes.interactions_handlers import InteractionHandler, agent, echo
from fakes.interactions_judge import InteractionsJudge, event_faults, interaction_faults
from fakes.interactions_loopback import RETENTION, InteractionsServer
from fakes.interactions_refusals import REFUSALS, error_body, legacy_error_body, refusal
from fakes.interactions_replies import PAUSE, delta, hosted, status, step
from fakes.interactions_signatures import SENTINEL
from fakes.interactions_store import HandClock, Interaction

__all__ = [
    "CUT",
    "PAUSE",
    "REFUSALS",
    "RESET",
    "RETENTION",
    "SENTINEL",
    "STALL",
    "ChatReply",
    "Gate",
    "HandClock",
    "Interaction",
    "InteractionHandler",
    "InteractionsJudge",
    "InteractionsServer",
    "Json",
    "Moment",
    "Part",
    "PlainReply",
    "Reply",
    "Request",
    "View",
    "agent",
    "ask",
    "comment",
    "delta",
    "echo",
    "endless",
    "error_body",
    "event_faults",
    "hosted",
    "huge_line",
    "interaction_faults",
    "legacy_error_body",
    "mid_character",
    "mid_frame",
    "page",
    "pause",
    "raw",
    "redirect",
    "refusal",
    "refusal_with",
    "reply",
    "rough_tokens",
    "status",
    "step",
    "stream_error",
    "thought",
]
