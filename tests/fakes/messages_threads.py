"""The threads that a Messages server keeps: in memory, for five minutes, each to be continued once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fakes.chat_replies import Json
from fakes.interactions_store import HandClock

THREADS = "message-threads-2026-08-12"
KEPT_SECONDS = 300
_OF_THREAD = ("system", "tools")
_SAME = ("model", "thinking", "output_config")
"""What a request that continues may not change; which fields these are in truth is not told by the API."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a thread is not continued. `is_fault` when the client should have known better."""

    code: str
    message: str
    status: int = 400
    is_fault: bool = False


@dataclass(slots=True)
class Thread:
    """What is kept behind an answer: the request as it was with all before it, and the answer."""

    body: Json
    kept_at: float
    is_continued: bool = False


class ThreadStore:
    """Threads by the id of their last answer. `keeps` is False for a server that stores none of them."""

    def __init__(self, clock: HandClock) -> None:
        self.keeps = True
        self._clock = clock
        self._threads: dict[str, Thread] = {}

    def forget_all(self) -> None:
        """Lose all threads, as a server that starts again does."""
        self._threads.clear()

    def ids(self) -> list[str]:
        """Give the ids of what is kept, oldest first."""
        return list(self._threads)

    def joined(self, body: Json) -> Json | Lost:
        """Give a request as it is with all that its thread has, without the field `thread`."""
        asked = body["thread"]
        rest = {key: value for key, value in body.items() if key != "thread"}
        if asked["type"] == "create":
            return rest
        wrong = [key for key in _OF_THREAD if key in body]
        if wrong:
            return Lost("", f"{wrong[0]}: must not be given when a thread is continued", is_fault=True)
        thread = self._threads.get(asked["previous_message_id"])
        if thread is None or self._clock() - thread.kept_at > KEPT_SECONDS:
            return Lost("thread_not_found", "The thread was not found or has expired.", status=404)
        if thread.is_continued:
            return Lost("thread_already_continued", "The thread was continued from this message before.")
        changed = [key for key in _SAME if body.get(key) != thread.body.get(key)]
        if changed:
            return Lost("thread_fingerprint_mismatch", f"{changed[0]} differs from the stored value.")
        head = {key: thread.body[key] for key in _OF_THREAD if key in thread.body}
        return {**rest, **head, "messages": [*thread.body["messages"], *body["messages"]]}

    def use(self, body: Json) -> None:
        """Note that a request was answered, so that the thread it continues is continued no more."""
        if body["thread"]["type"] == "continue":
            self._threads[body["thread"]["previous_message_id"]].is_continued = True

    def keep(self, body: Json, answer: Json, *, is_whole: bool) -> None:
        """Keep what a request and its answer came to, so that the answer can be continued."""
        if self.keeps and is_whole and answer["content"] and answer["stop_reason"] != "refusal":
            said = {"role": "assistant", "content": answer["content"]}
            whole = {**body, "messages": [*_unmarked(body["messages"]), said]}
            self._threads[answer["id"]] = Thread(whole, self._clock())


def _unmarked(messages: Sequence[Json]) -> list[Json]:
    """Give messages without the marks of their request, which hold for that alone."""
    return [
        {**message, "content": [_without_mark(block) for block in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _without_mark(block: Json) -> Json:
    return {key: value for key, value in block.items() if key != "cache_control"}
