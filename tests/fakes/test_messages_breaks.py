"""Streams of the fake Messages server that stop, break off or come in pieces."""

from __future__ import annotations

import threading

import httpx
import pytest

from fakes.messages_clients import ask_once, body_with, client_of, events_of, post
from fakes.messages_server import (
    CUT,
    RESET,
    Json,
    MessagesServer,
    Part,
    ask,
    echo,
    mid_character,
    mid_frame,
    thought,
)


@pytest.mark.parametrize("end", [CUT, RESET, mid_frame("lo"), mid_character("Grüße")], ids=str)
def test_a_stream_that_breaks_off_is_an_error_of_the_transport(end: Part) -> None:
    with MessagesServer() as server:
        server.say("Hel", end)
        with pytest.raises(httpx.HTTPError):
            events_of(server.base_url)
        server.requests[0].done.wait()
        assert server.requests[0].fate == "cut"
        assert server.answer(1)["content"] == [{"type": "text", "text": "Hel"}]


def test_a_break_in_the_middle_of_json_is_an_error_too() -> None:
    with MessagesServer() as server:
        server.say("Hello", CUT)
        with pytest.raises(httpx.HTTPError):
            ask_once(server.base_url)


def test_a_stream_may_lack_its_end() -> None:
    with MessagesServer() as server:
        server.say("Hel", finish=None, done=False)
        server.say("Hel", done=False)
        assert events_of(server.base_url)[-1]["type"] == "content_block_stop"
        assert events_of(server.base_url)[-1]["type"] == "message_delta"


def test_the_official_client_reads_a_stream_cut_at_every_byte() -> None:
    with MessagesServer() as server, client_of(server.base_url) as client:
        server.say(thought("Hä?"), "Grüße", ask("lookup", {"ö": "ü"}), cut_at="every byte")
        body: Json = body_with()
        with client.messages.stream(**body) as stream:
            message = stream.get_final_message()
        assert message.to_dict()["content"] == server.answer(1)["content"]


def test_the_server_stands_at_a_gate_until_it_is_opened() -> None:
    with MessagesServer() as server:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        answers: list[list[Json]] = []
        asking = threading.Thread(target=lambda: answers.append(events_of(server.base_url)))
        asking.start()
        gate.reached.wait()
        assert answers == []
        gate.open()
        asking.join()
        assert answers[0][-1]["type"] == "message_stop"


def test_a_client_that_leaves_is_noticed() -> None:
    with MessagesServer() as server:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        with httpx.Client() as client:
            body = {**body_with(), "stream": True}
            headers = {"anthropic-version": "2026-10-21"}
            with client.stream("POST", f"{server.base_url}/v1/messages", json=body, headers=headers):
                gate.reached.wait()
        server.closed_early.wait()
        assert server.requests[0].fate == "closed by client"


def test_an_answer_may_be_json_though_a_stream_was_asked_for() -> None:
    with MessagesServer() as server:
        server.say("Hi", as_json=True)
        answer = post(server.base_url, {**body_with(), "stream": True})
        assert answer.json()["content"] == [{"type": "text", "text": "Hi"}]


def test_what_a_handler_does_wrong_is_a_fault() -> None:
    with MessagesServer(lambda view: echo()(view.body)) as server:
        assert post(server.base_url, body_with()).status_code == 500
        assert "AttributeError" in server.faults[0]
