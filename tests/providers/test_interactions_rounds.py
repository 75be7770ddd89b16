"""The driver and its codec against a server that holds conversations and checks every signature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from fakes.interactions_clients import MODEL, said
from fakes.interactions_server import CUT, PAUSE, REFUSALS, InteractionsServer, ask, stream_error, thought
from trimtab.turns.streaming import EventStream
from trimtab_plugins.providers.gemini import Gemini
from trimtab_sdk import (
    Answer,
    Encoded,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderFaultError,
    ToolSpec,
)

DRIVER = Gemini()
LOOKUP = ToolSpec("lookup", "Look a thing up.", {"type": "object", "properties": {"id": {"type": "integer"}}})
TOOLS = tuple(DRIVER.write_tools([LOOKUP], {}))


@dataclass
class Talk:
    """A conversation by hand: what was said so far, and the cursor of the last answer."""

    server: InteractionsServer
    keep: bool
    steps: list[Any] = field(default_factory=list)
    cursor: str | None = None

    def say(self, *new: object, resume: str | None = None) -> Answer:
        """Send what is new, or all there is; take the answer up."""
        sent = [*new] if self.cursor else [*self.steps, *new]
        prompt = Encoded(sent, {"input": sent, "system_instruction": "Be brief."})
        call = ProviderCall(
            model=MODEL,
            prompt=prompt,
            tools=TOOLS,
            cursor=self.cursor,
            keep=self.keep,
            max_output_tokens=500,
            resume=resume,
        )
        *_, answer = asked(self.server, call)
        assert isinstance(answer, Answer)
        self.steps += [*new, *DRIVER.recall(list(answer.items), model=MODEL, running=True, settings={})]
        if answer.resume is None:
            self.cursor = answer.cursor
        return answer


def asked(server: InteractionsServer, call: ProviderCall) -> Iterator[ProviderEvent]:
    request = DRIVER.request(call)
    reader, stream = DRIVER.reader(call), EventStream()
    with httpx.stream("POST", f"{server.base_url}/{request.path}", json=dict(request.body)) as got:
        if got.status_code >= 400:
            got.read()
            raise ProviderFaultError(DRIVER.classify(got.status_code, got.json()))
        for piece in got.iter_raw():
            for event in stream.feed(piece):
                yield from reader.parse(event)


def fault_of(talk: Talk, *new: object) -> Fault:
    with pytest.raises(ProviderFaultError) as caught:
        talk.say(*new)
    return caught.value.fault


def results(answer: Answer) -> list[Any]:
    calls: list[Any] = [
        item for item in answer.items if isinstance(item, dict) and item["type"] == "function_call"
    ]
    return [{"type": "function_result", "call_id": call["id"], "result": "found"} for call in calls]


@pytest.mark.parametrize("keep", [True, False])
def test_a_loop_of_tools_goes_on_by_cursor_or_by_replay(keep: bool) -> None:
    with InteractionsServer() as server:
        talk = Talk(server, keep)
        server.say(thought("I look."), ask("lookup", {"id": 3}), ask("lookup", {"id": 4}))
        server.say("Found ", "both.")
        server.say("You are welcome.")

        called = talk.say(said("Where?"))
        found = talk.say(*results(called))
        last = talk.say(said("Thank you."))

        assert server.faults == []
        assert [answer.finish for answer in (called, found, last)] == ["tool-calls", "stop", "stop"]
        assert [step["type"] for step in server.view(3).steps] == [
            *("user_input", "thought", "function_call", "function_call", "function_result", "function_result"),
            *("model_output", "user_input"),
        ]
        assert server.view(3).steps == talk.steps[:-1]
        assert bool(server.kept) is keep
        assert [len(request.body["input"]) for request in server.requests] == ([1, 2, 1] if keep else [1, 6, 8])
        assert ((last.usage is not None and last.usage.input_tokens) or 0) > 0


def test_each_request_says_again_what_is_not_handed_on() -> None:
    with InteractionsServer() as server:
        talk = Talk(server, keep=True)
        server.say("Hello.")
        server.say("Again.")
        talk.say(said("hi"))
        talk.say(said("and now?"))

        for request in server.requests:
            assert request.body["system_instruction"] == "Be brief."
            assert request.body["tools"] == list(TOOLS)
            assert request.body["generation_config"] == {"max_output_tokens": 500}


@pytest.mark.parametrize("lost_status", [400, 403, 404])
def test_a_conversation_that_is_lost_is_named_so(lost_status: int) -> None:
    with InteractionsServer(lost_status=lost_status) as server:
        talk = Talk(server, keep=True)
        server.say("Hello.")
        talk.say(said("hi"))
        server.forget_all()

        got = fault_of(talk, said("Still there?"))
        assert (got.code, got.cursor) == ("PROVIDER_CURSOR_LOST", "cursor_expired")

        talk.cursor = None
        server.say("Now I am.")
        assert talk.say(said("Still there?")).finish == "stop"
        assert [step["type"] for step in server.view(3).steps] == ["user_input", "model_output", "user_input"]
        assert server.faults == []


def test_signatures_that_are_refused_are_named_so() -> None:
    with InteractionsServer() as server:
        talk = Talk(server, keep=False)
        server.say(thought("I look."), ask("lookup", {"id": 3}))
        called = talk.say(said("Where?"))
        server.rotate_keys()
        server.say("Never said.")

        got = fault_of(talk, *results(called))

        assert (got.code, got.stale_reasoning) == ("PROVIDER_REQUEST_REFUSED", True)


def test_an_open_call_is_no_lost_conversation() -> None:
    with InteractionsServer() as server:
        talk = Talk(server, keep=True)
        server.call(("lookup", {"id": 3}))
        talk.say(said("Where?"))
        server.say("Never said.")

        got = fault_of(talk, said("Forget it."))

        assert (got.code, got.cursor, got.stale_reasoning) == ("PROVIDER_REQUEST_REFUSED", None, False)


@pytest.mark.parametrize("keep", [True, False])
def test_a_long_answer_is_fetched_in_two_requests(keep: bool) -> None:
    with InteractionsServer() as server:
        talk = Talk(server, keep)
        server.say("Once upon ", PAUSE, "a time.")

        first = talk.say(said("Tell me."))
        assert first.finish == "pause"
        prompt = Encoded([said("Tell me.")])
        call = ProviderCall(model=MODEL, prompt=prompt, tools=TOOLS, keep=keep, resume=first.resume)
        *_, second = asked(server, call)

        assert isinstance(second, Answer)
        assert (second.finish, second.cursor is not None) == ("stop", keep)
        texts = [content["text"] for item in (*first.items, *second.items) for content in item["content"]]  # type: ignore[index]
        assert "".join(texts) == "Once upon a time."
        assert server.faults == []


@pytest.mark.parametrize("part", [CUT, stream_error("Overloaded.", code="service_unavailable")])
def test_an_answer_that_breaks_off_is_none(part: object) -> None:
    with InteractionsServer() as server:
        server.say("Hel", part)  # type: ignore[arg-type]
        call = ProviderCall(model=MODEL, prompt=Encoded([said("hi")]), keep=True)
        got: list[ProviderEvent] = []

        with pytest.raises((ProviderFaultError, httpx.RemoteProtocolError)):
            got.extend(asked(server, call))

        assert not any(isinstance(event, Answer) for event in got)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("bad-request", "REQUEST_REFUSED", False),
        ("legacy-schema", "REQUEST_REFUSED", False),
        ("signature", "REQUEST_REFUSED", False),
        ("context", "CONTEXT_LENGTH", False),
        ("precondition", "REQUEST_REFUSED", False),
        ("auth", "AUTHENTICATION", False),
        ("permission", "AUTHENTICATION", False),
        ("model", "MODEL_NOT_FOUND", False),
        ("cursor", "CURSOR_LOST", False),
        ("timeout", "TIMEOUT", True),
        ("conflict", "FAILED", True),
        ("too-large", "REQUEST_REFUSED", False),
        ("rate-limit", "RATE_LIMITED", True),
        ("quota", "QUOTA_EXHAUSTED", False),
        ("server", "FAILED", True),
        ("overloaded", "OVERLOADED", True),
        ("deadline", "TIMEOUT", True),
    ],
)
def test_each_refusal_has_its_fault(kind: str, code: str, retryable: bool, legacy: bool) -> None:
    assert kind in REFUSALS
    with InteractionsServer() as server:
        server.refuse(kind, legacy=legacy)

        got = fault_of(Talk(server, keep=True), said("hi"))

        assert (got.code, got.retryable) == (f"PROVIDER_{code}", retryable)


def test_an_answer_cut_by_its_limit_is_no_place_to_go_on_from() -> None:
    with InteractionsServer() as server:
        server.say("Once upon", finish="incomplete")

        answer = Talk(server, keep=True).say(said("Tell me."))

        assert (answer.finish, answer.cursor) == ("length", None)
