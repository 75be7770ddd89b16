"""The servers that the turns of cases are sent to: one for each format of requests."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from case_files import Json
from case_formats import FORMAT_OF, WIRES
from case_turns_clock import Clock
from case_viewers import head_views, views_of
from case_views import View
from fakes.chat_judge import Wrong
from fakes.chat_loopback import LoopbackServer
from fakes.chat_requests import Request
from fakes.chat_server import (
    CUT,
    STALL,
    ChatServer,
    Gate,
    Part,
    Reply,
    ask,
    refusal,
    refusal_with,
    reply,
    stream_error,
    thought,
)
from fakes.deepseek_rules import DeepSeekJudge
from fakes.interactions_server import InteractionsServer
from fakes.messages_loopback import MessagesServer
from fakes.responses_server import RESPONSES_REFUSALS, ResponsesServer

_READ = frozenset({"status", "id", "text", "reasoning", "tool_calls", "error", "stream", "finish", "then", "ts"})
_ENDS = {"cut": CUT, "stall": STALL}
_OLDER_MODELS = frozenset({"deepseek-reasoner", "deepseek-chat"})
# What the model sees of reasoning, the server shows unsealed.
_SEALED = {"summary": [], "encrypted_content": "sealed"}
CURSOR_KEYS = ("previous_response_id", "previous_interaction_id")
"""The fields of a body that name what the server holds."""


@dataclass(frozen=True)
class Sent:
    """A request as it came: its format, its body as JSON and in bytes.

    In `body` a cursor has the name that the case gave to that answer. `seen` is what the model would see of it:
    what the server holds, with the messages of the request behind that; None when the server refused the request.
    """

    form: str
    body: Json
    raw: bytes
    seen: Sequence[Json] | None

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get(WIRES[self.form].list_key, ()))

    @property
    def head(self) -> Json:
        """The system text that stands in a field of its own, None where there is none."""
        return self.body.get(WIRES[self.form].head_key)

    @property
    def has_cursor(self) -> bool:
        return any(key in self.body for key in CURSOR_KEYS)

    @property
    def whole(self) -> list[Json]:
        """The messages that the model would see; of a request that was refused, those it holds itself."""
        return self.messages if self.seen is None else list(self.seen)

    @property
    def views(self) -> list[View]:
        """What the model is told with this request, the head first, also what the server held already."""
        return [*head_views(self.head), *views_of(self.whole, self.form)]


class Fake(Protocol):
    """A provider's server that answers what a case says."""

    @property
    def base_url(self) -> str:
        """Where it is."""
        ...

    @property
    def sent(self) -> Sequence[Sent]:
        """All requests so far."""
        ...

    @property
    def faults(self) -> Sequence[str]:
        """What was wrong with requests."""
        ...

    @property
    def left(self) -> int:
        """How many replies were not asked for."""
        ...

    @property
    def answers(self) -> Mapping[str, str]:
        """The ids that the server gave to answers, each with its name in the case."""
        ...

    def script(self, replies: Sequence[Json]) -> None:
        """Add replies, in the words of a case."""
        ...

    def gate(self) -> Gate:
        """Give a gate that the next reply waits at, with its head sent and nothing of the answer."""
        ...

    def middle_gate(self) -> Gate:
        """Give a gate to be put between the chunks of a reply's `stream`."""
        ...

    def forget(self) -> None:
        """Lose all conversations that are held."""
        ...

    def rotate_keys(self) -> None:
        """Refuse from now on what was sealed or signed before."""
        ...


MakeFake: TypeAlias = Callable[[Clock], AbstractContextManager[Fake]]
"""Opens a server that goes by a clock, and sets it where a reply of the case says a time."""


class _Scripted(ABC):
    """What all servers have in common: replies in the words of a case, one after another."""

    form: ClassVar[str]
    server: LoopbackServer

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._replies: deque[Json] = deque()
        self._gates: deque[Gate] = deque()
        self._answers: dict[str, str] = {}
        self._unnamed = ""

    @property
    def base_url(self) -> str:
        return self.server.base_url

    @property
    def faults(self) -> list[str]:
        return self.server.faults

    @property
    def left(self) -> int:
        return len(self._replies)

    @property
    def answers(self) -> Mapping[str, str]:
        if self._unnamed:
            self._answers[self._last_id()] = self._unnamed
            self._unnamed = ""
        return self._answers

    @property
    def sent(self) -> list[Sent]:
        return [self._sent(request) for request in self.server.requests]

    def script(self, replies: Sequence[Json]) -> None:
        for one in replies:
            unread = one.keys() - _READ
            if unread:
                raise KeyError(f"a reply with {sorted(unread)}")
        self._replies.extend(replies)

    def gate(self) -> Gate:
        gate = self.server.gate("reply")
        self._gates.append(gate)
        return gate

    def middle_gate(self) -> Gate:
        return self.server.gate("middle")

    def forget(self) -> None:
        raise KeyError(f"a server of {self.form} holds nothing")

    def rotate_keys(self) -> None:
        raise KeyError(f"a server of {self.form} seals nothing")

    @abstractmethod
    def _seen(self, request: Request) -> Sequence[Json] | None:
        """Give what the model would see of a request."""

    def _last_id(self) -> str:
        """Give the server's id of its newest answer; only servers that hold conversations have any."""
        return ""

    def _refusal(self, told: Mapping[str, Json]) -> Reply:
        return refusal_with(told["status"], {"error": told["error"]})

    def _sent(self, request: Request) -> Sent:
        named = {key: request.body[key] for key in CURSOR_KEYS if key in request.body}
        body = request.body | {key: self.answers.get(value, value) for key, value in named.items()}
        return Sent(self.form, body, request.raw, self._seen(request))

    def _answer(self, _: object) -> Reply:
        assert self.answers is not None
        if not self._replies:
            self.server.faults.append("a request that the case has no reply for")
            return refusal("bad-request", message="no reply is left")
        told = self._replies.popleft()
        if "ts" in told:
            self._clock.set(told["ts"])
        gates = [self._gates.popleft()] if self._gates else []
        if told.get("status", 200) >= 400:
            return self._refusal(told)
        self._unnamed = told.get("id", "")
        return _reply(told, gates)


class _ChatFake(_Scripted):
    form = FORMAT_OF["chat-completions"]

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.server = self._serve()

    def _serve(self) -> ChatServer:
        return ChatServer(self._answer, extra_keys={"reasoning_content"})

    @property
    def answers(self) -> Mapping[str, str]:
        return {}

    def _seen(self, request: Request) -> Sequence[Json] | None:
        return list(request.messages)


class _DeepSeekFake(_ChatFake):
    def _serve(self) -> ChatServer:
        return ChatServer(self._answer, judge=_JudgeOfGenerations())


class _JudgeOfGenerations(DeepSeekJudge):
    """Judges each body by the rule of the model that it names."""

    def __init__(self) -> None:
        super().__init__()
        self._older = DeepSeekJudge("r1")

    def faults(self, body: Json) -> list[Wrong]:
        return self._older.faults(body) if body["model"] in _OLDER_MODELS else super().faults(body)


class _ResponsesFake(_Scripted):
    form = FORMAT_OF["openai-responses"]
    server: ResponsesServer

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.server = ResponsesServer(self._answer, now=clock)

    def forget(self) -> None:
        self.server.forget_all()

    def rotate_keys(self) -> None:
        self.server.rotate_keys()

    def _last_id(self) -> str:
        return self.server.last_id

    def _seen(self, request: Request) -> Sequence[Json] | None:
        try:
            items = self.server.view(request.number).items
        except KeyError:
            return None
        return [item | _SEALED if item["type"] == "reasoning" else item for item in items]

    def _refusal(self, told: Mapping[str, Json]) -> Reply:
        """A cursor that is gone is refused in the words of the server, whatever the case has for them."""
        if told["error"].get("code") == "previous_response_not_found":
            return refusal("cursor", kinds=RESPONSES_REFUSALS)
        return super()._refusal(told)


class _MessagesFake(_Scripted):
    form = FORMAT_OF["anthropic-messages"]
    server: MessagesServer

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.server = MessagesServer(self._answer)

    def rotate_keys(self) -> None:
        self.server.rotate_keys()

    def _seen(self, request: Request) -> Sequence[Json] | None:
        return list(request.messages)


class _InteractionsFake(_Scripted):
    form = FORMAT_OF["gemini-interactions"]
    server: InteractionsServer

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.server = InteractionsServer(self._answer, clock=clock)

    def forget(self) -> None:
        self.server.forget_all()

    def rotate_keys(self) -> None:
        self.server.rotate_keys()

    def _last_id(self) -> str:
        return self.server.last_id

    def _seen(self, request: Request) -> Sequence[Json] | None:
        try:
            return self.server.view(request.number).steps
        except KeyError:
            return None


def _reply(told: Mapping[str, Json], gates: Sequence[Gate]) -> Reply:
    thoughts = [thought(told["reasoning"])] if "reasoning" in told else []
    calls = [ask(one["name"], _arguments(one), call_id=one["id"]) for one in told.get("tool_calls", ())]
    parts: list[Part] = [*gates, *thoughts, *_texts(told), *calls]
    if "then" in told:
        return reply(*parts, _ENDS[told["then"]])
    return reply(*parts, finish=told.get("finish", "auto"))


def _texts(told: Mapping[str, Json]) -> Iterator[Part]:
    if told.get("text"):
        yield told["text"]
    for chunk in told.get("stream", ()):
        if isinstance(chunk, str | Gate):
            yield chunk
        elif "text" in chunk:
            yield chunk["text"]
        else:
            yield stream_error("it broke", code=chunk["error"].get("code"), type=chunk["error"]["type"])


def _arguments(call: Mapping[str, Json]) -> str:
    arguments = call["arguments"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _opens(kind: Callable[[Clock], _Scripted]) -> MakeFake:
    @contextmanager
    def opened(clock: Clock) -> Iterator[Fake]:
        fake = kind(clock)
        with fake.server:
            yield fake

    return opened


FAKES: Mapping[str, MakeFake] = {
    **{kind.form: _opens(kind) for kind in (_ChatFake, _ResponsesFake, _MessagesFake, _InteractionsFake)},
    "deepseek": _opens(_DeepSeekFake),
}
"""Format of the requests, or name of further rules → the server that takes them."""
