"""A fake OpenAI-compatible server: a real one, on a loopback socket, that says what a test wrote down for it.

It runs in a thread of its own with an event loop of its own, so that threads and coroutines use it alike. Every
request is recorded and judged by the official SDK's types and by the rules of the wire; what breaks them is
answered 400 in OpenAI's own shape and listed in `server.faults`. Nothing here sleeps unless a script says so.

A turn with a tool:

    with ChatServer() as server:
        server.call(("lookup", {"id": 3}))
        server.say("Found ", "it.")
        ...  # ask server.base_url twice
        assert server.faults == []
        assert server.requests[1].messages[-1]["role"] == "tool"

A client that leaves in the middle:

    gate = server.gate()
    server.say("Hel", gate, "lo")
    ...  # begin to ask
    await gate.reached.wait_async()
    ...  # cancel
    await server.closed_early.wait_async()

A failure, then an answer; several ways to break:

    server.refuse("overloaded", retry_after_ms=1)             # kinds: REFUSALS
    server.say("Hel", CUT)                                    # also RESET, STALL
    server.say(mid_frame("Hello"))                            # or mid_character("Grüße")
    server.say("Hel", stream_error("Sorry.", code="server_error"))
    server.say("Hello", done=False)                           # or finish=None
    server.say(before_head=[CUT])                             # no byte of an answer
    server.reply(page(), redirect("http://127.0.0.1:1/"), refusal_with(418, "I am a teapot"))
    server.say("Hello", as_json=True)                         # JSON where a stream was asked for
    server.say(raw(b"data: {oops\\n\\n"))                       # also comment(), endless(), huge_line(n)
    server.say("Grüße", cut_at="every byte")                  # or cut_at=[7, 19]

Many chats at once, with no script; a handler is any function from a body to a reply:

    with ChatServer(agent()) as server:                       # or echo()
        ...

How much of each prompt an earlier one began with, counted by a function for one message:

    with ChatServer(echo(), count=message_tokens, max_context=8000) as server:
        ...  # usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens

Outside this process: `chat_server_process("--echo")` in `fakes.chat_process`, or
`python tests/fakes/chat_server.py --port 0 --echo`, which prints its URL.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __package__ in (None, ""):  # started as a script: the package is found from the folder above
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from fakes.chat_handlers import Handler, agent, echo
from fakes.chat_judge import ChatJudge
from fakes.chat_loopback import ChatServer
from fakes.chat_moments import Gate, Moment
from fakes.chat_prices import rough_tokens
from fakes.chat_refusals import REFUSALS, error_body, page, redirect, refusal, refusal_with
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

__all__ = [
    "CUT",
    "REFUSALS",
    "RESET",
    "STALL",
    "ChatJudge",
    "ChatReply",
    "ChatServer",
    "Gate",
    "Handler",
    "Json",
    "Moment",
    "Part",
    "PlainReply",
    "Reply",
    "Request",
    "agent",
    "ask",
    "comment",
    "echo",
    "endless",
    "error_body",
    "huge_line",
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
    "stream_error",
    "thought",
]

if __name__ == "__main__":
    from fakes.chat_command import main

    main()
