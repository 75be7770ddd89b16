"""A fake of OpenAI's Responses API with real cursors: a server on a loopback socket that follows a script.

It is scripted and watched as `fakes.chat_server` is; see there. Beyond that it keeps answers, follows
`previous_response_id`, checks what must stand together, drops reasoning whose prefix has changed, compacts, and
tells what the model would have seen.

A chat of two turns, the second by a cursor:

    with ResponsesServer() as server:
        server.say("Hello.")
        server.say(thought("Hm."), "Three.")
        ...  # ask server.base_url twice
        assert server.requests[1].body["previous_response_id"] == server.kept[0]
        assert "secret" not in server.view(2).text
        assert server.faults == []

A cursor that is lost, in either wording; encrypted reasoning that cannot be read any more:

    server.forget(server.last_id)
    server.switches.cursor_errors = "terse"
    server.rotate_keys()

Other ends of an answer:

    server.say("Hel", failure("Sorry.", code="server_error"))    # also stream_error, nested_error
    server.say("Hel", finish="length")                           # response.incomplete
    server.say("Hel", finish=None)                               # no end at all

As a rule a fault is a request that no good client sends. A cursor that is gone is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from fakes.chat_handlers import Handler
from fakes.chat_loopback import LoopbackServer
from fakes.chat_moments import Gate, Moment
from fakes.chat_prices import Count, rough_tokens
from fakes.chat_refusals import page, redirect, refusal, refusal_with
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
from fakes.responses_answering import ResponsesAnswerer
from fakes.responses_bodies import ResponsesJudge
from fakes.responses_context import Switches, View
from fakes.responses_handlers import agent, echo
from fakes.responses_items import Item
from fakes.responses_parts import commentary, compacted, event, failure, item, nested_error, refused
from fakes.responses_refusals import RESPONSES_REFUSALS
from fakes.responses_store import ResponseStore

if TYPE_CHECKING:
    import ssl

THIRTY_DAYS = 30 * 24 * 3600.0


class ResponsesServer(LoopbackServer):
    """The server; `with ResponsesServer() as server` starts and ends it.

    - `handler` is asked for a reply when no scripted one is left; its body has what the model sees as `context`.
    - `judge`: False lets every body through that can be read. `extra_keys`: see ResponsesJudge.
    - `count` gives the tokens of one item as the model sees it; above `max_context` a request is refused.
    - `api_key`: what a client must send; `tls`: what to speak instead of plain HTTP. `record`: as LoopbackServer.
    - `now` gives seconds; an answer is gone after `keep_seconds`.
    - `may_repeat`: a user may say the same thing twice without a fault.
    - `switches`: what may be changed at any time, see Switches.
    """

    refusals = RESPONSES_REFUSALS

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        judge: bool = True,
        extra_keys: Collection[str] = (),
        count: Count = rough_tokens,
        max_context: int | None = None,
        api_key: str | None = None,
        tls: ssl.SSLContext | None = None,
        record: bool = True,
        port: int = 0,
        now: Callable[[], float] = time.monotonic,
        keep_seconds: float = THIRTY_DAYS,
        may_repeat: bool = False,
    ) -> None:
        faults: list[str] = []
        self.switches = Switches(may_repeat=may_repeat)
        self._store = ResponseStore(now=now, keep_seconds=keep_seconds)
        self._responses = ResponsesAnswerer(
            handler=handler,
            judge=ResponsesJudge(extra_keys=extra_keys) if judge else None,
            count=count,
            max_context=max_context,
            api_key=api_key,
            store=self._store,
            switches=self.switches,
            faults=faults,
        )
        super().__init__(self._responses, faults=faults, tls=tls, record=record, port=port)

    @property
    def last_id(self) -> str:
        """The id of the newest answer, kept or not."""
        return self._responses.made[-1]

    @property
    def kept(self) -> list[str]:
        """The ids that a cursor may name now, oldest first."""
        return self._store.ids()

    def forget(self, response_id: str) -> None:
        """Let an answer expire. Raises KeyError for one that is not there."""
        if not self._store.forget(response_id):
            raise KeyError(response_id)

    def forget_all(self) -> None:
        """Let all answers expire."""
        self._store.forget_all()

    def rotate_keys(self) -> None:
        """Make all encrypted content unreadable that clients hold. What is kept here stays as it is."""
        self._responses.seals.rotate()

    def chain(self, response_id: str) -> list[Item]:
        """Give all items behind a cursor as they were sent, the answer's own last. Raises KeyError."""
        kept = self._store.find(response_id)
        if kept is None:
            raise KeyError(response_id)
        return [piece.sent for piece in kept.chain]

    def view(self, number: int) -> View:
        """Give what the model sees for the request of that number. Raises KeyError for one that was refused."""
        return self._responses.views[number]

    def dropped(self, number: int) -> Sequence[Json]:
        """Give the reasoning that was withheld from the model, as the answer lists it."""
        return self.view(number).dropped


__all__ = [
    "CUT",
    "RESET",
    "RESPONSES_REFUSALS",
    "STALL",
    "ChatReply",
    "Gate",
    "Handler",
    "Json",
    "Moment",
    "Part",
    "PlainReply",
    "Reply",
    "Request",
    "ResponsesJudge",
    "ResponsesServer",
    "Switches",
    "View",
    "agent",
    "ask",
    "comment",
    "commentary",
    "compacted",
    "echo",
    "endless",
    "event",
    "failure",
    "huge_line",
    "item",
    "mid_character",
    "mid_frame",
    "nested_error",
    "page",
    "pause",
    "raw",
    "redirect",
    "refusal",
    "refusal_with",
    "refused",
    "reply",
    "rough_tokens",
    "stream_error",
    "thought",
]
