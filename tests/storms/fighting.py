"""Several processes that work in the same chats, and what must hold all the same."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from fakes.chat_replies import ChatReply, Json
from fakes.chat_requests import Request
from fakes.chat_server import ChatServer
from storms.storm_child import Child, Said
from storms.storm_hosts import host_on, new_chat
from storms.storm_rows import count_of, faults_at_rest, rows
from storms.storm_stage import Stage, token_of
from trimtab.store.stored_form import load_message
from trimtab_sdk.messages import plain_text

_INTERRUPTED = "SELECT count(*) FROM turns WHERE error LIKE '%TURN_INTERRUPTED%'"


@dataclass(frozen=True, slots=True)
class Fight:
    """What came of it: what was done how often, requests made, seconds, what was wrong."""

    done: Counter[str]
    requests: int
    seconds: float
    faults: list[str]


class Watch:
    """Answers as a stage does, and notes each request that comes while another one of its chat is open."""

    def __init__(self) -> None:
        self.server: ChatServer | None = None
        self.pairs: list[tuple[Request, str]] = []
        self._stage = Stage()

    def __call__(self, body: Json) -> ChatReply:
        assert self.server is not None
        chat = chat_of(body)
        for other in self.server.requests:
            if other.fate == "answering" and chat_of(other.body) == chat:
                self.pairs.append((other, chat))
        return self._stage(body)

    def faults(self) -> list[str]:
        """Name the chats with two requests at once.

        A client that leaves is seen a moment later than the next one that comes: that is no second request.
        """
        return [
            f"{chat} had two requests at once" for other, chat in self.pairs if other.fate != "closed by client"
        ]


def chat_of(body: Json) -> str:
    """Give the system text, which names the chat."""
    return str(body["messages"][0]["content"])


def fight(place: str, *, processes: int, chats: int, actions: int, fighters: int = 6, deaths: int = 0) -> Fight:
    """Let processes of some fighters each do so many things in the same chats.

    So many more processes as `deaths` says are killed while they fight, one every half second.
    """
    watch = Watch()
    with ChatServer(watch) as server:
        watch.server = server
        ids = asyncio.run(_new_chats(place, server.base_url, chats))
        order = {
            "place": place,
            "url": server.base_url,
            "chats": ids,
            "actions": actions,
            "fighters": fighters,
        }
        started = time.perf_counter()
        names = "abcdefgh"[: processes + deaths]
        said = _run([{**order, "name": name} for name in names], deaths=deaths)
        seconds = time.perf_counter() - started
        asyncio.run(_end_what_was_left(place, server.base_url))
        faults = [error for one in said for error in one["errors"]]
        faults += [*watch.faults(), *server.faults, *faults_at_rest(place)]
        faults += _history_faults(place, server.requests, [token for one in said for token in one["inputs"]])
        done: Counter[str] = sum((Counter(one["done"]) for one in said), Counter())
        done["TURN_INTERRUPTED"] = count_of(place, _INTERRUPTED)
        return Fight(done, len(server.requests), seconds, faults)


async def _new_chats(place: str, url: str, chats: int) -> list[str]:
    async with host_on(place, url) as host:
        return [await new_chat(host, f"f{at}") for at in range(chats)]


async def _end_what_was_left(place: str, url: str) -> None:
    async with host_on(place, url):
        pass


def _run(orders: Sequence[dict[str, object]], *, deaths: int) -> list[Said]:
    with ExitStack() as stack:
        children = [stack.enter_context(Child("fighting_child.py", order, patience=300)) for order in orders]
        for child in children:
            child.go()
        for child in children[:deaths]:
            time.sleep(0.5)
            child.kill()
        return [child.hear("fought") for child in children[deaths:]]


def _history_faults(place: str, requests: Sequence[Request], told: Sequence[str]) -> Iterator[str]:
    """Name forks, lost inputs and requests that did not go on from what was stored.

    Nobody chooses a branch here, so each input stands on the one active branch, in the order of its number.
    """
    branches: dict[str, list[str]] = {}
    query = "SELECT chat_id, body, active FROM messages ORDER BY chat_id, seq"
    for chat, body, active in rows(place, query):
        message = load_message("", body)
        if message.role == "user":
            branches.setdefault(str(chat), []).append(token_of(plain_text(message)))
            if not active:
                yield f"the input {branches[str(chat)][-1]} is on no branch"
    counted = Counter(token for branch in branches.values() for token in branch)
    yield from (f"the input {token} is stored {number} times" for token, number in counted.items() if number > 1)
    yield from (f"the input {token} is lost" for token in told if token not in counted)
    yield from _request_faults(branches, requests)


def _request_faults(branches: dict[str, list[str]], requests: Sequence[Request]) -> Iterator[str]:
    by_last = {token: branch for branch in branches.values() for token in branch}
    for request in requests:
        asked = [token_of(str(one["content"])) for one in request.messages if one["role"] == "user"]
        branch = by_last[asked[-1]]
        if asked != branch[: len(asked)]:
            yield f"request {request.number} said {asked} where {branch[: len(asked)]} is stored"
        yield from _answer_faults(request)


def _answer_faults(request: Request) -> Iterator[str]:
    """Name answers that follow another input than the one they are to."""
    token = ""
    for message in request.messages:
        if message["role"] == "user":
            token = token_of(str(message["content"]))
        elif message["role"] == "assistant" and token_of(str(message["content"])) not in ("", token):
            yield f"request {request.number} has an answer to {message['content']!r} behind {token}"
