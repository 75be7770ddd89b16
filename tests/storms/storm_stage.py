"""What the fake model says in the storms: it calls a tool, then answers, and can be stopped on the way."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from fakes.chat_handlers import last_user_text
from fakes.chat_moments import Gate
from fakes.chat_replies import ChatReply, Json, Part, ask, reply

Stop: TypeAlias = Literal["", "call", "text", "end"]
TOKEN: Final = re.compile(r"<[^<>]+>")


class Stage:
    """Answers every request for a chat. A user's message is answered with a call, a result with text.

    `stop` says where the next answer stops, at `gate`: within a call, within a text, or before the end of a text.
    """

    def __init__(self) -> None:
        self.stop: Stop = ""
        self.gate = Gate()
        self.tool = "stock"

    def stop_at(self, stop: Stop) -> Gate:
        """Let the answers to come stop there, and give the gate they stop at."""
        self.stop, self.gate = stop, Gate(stop)
        return self.gate

    def __call__(self, body: Json) -> ChatReply:
        if body["messages"][-1]["role"] == "user":
            return reply("Let me ", *self._stop("call"), "see. ", ask(self.tool, {"article": "kettle"}))
        said = token_of(last_user_text(body))
        return reply(f"About {said}: ", *self._stop("text"), "six ", "are ", *self._stop("end"), "left.")

    def _stop(self, here: Stop) -> tuple[Part, ...]:
        return (self.gate,) if self.stop == here else ()


def token_of(text: str) -> str:
    """Give the mark in a user's text that tells it from all others, empty when there is none."""
    found = TOKEN.search(text)
    return found.group() if found is not None else ""
