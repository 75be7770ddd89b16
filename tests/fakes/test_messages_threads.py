"""The fake Messages server keeps threads as the API does; the official client uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from fakes.messages_clients import MODEL, body_with, client_of, post, user
from fakes.messages_server import CUT, Json, MessagesServer, declined
from fakes.messages_threads import THREADS

BEGIN: Json = {"type": "create"}
BETA = {"anthropic-beta": THREADS}


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as running:
        yield running


def continued(answer: Json) -> Json:
    return {"type": "continue", "previous_message_id": answer["id"]}


def asked(server: MessagesServer, *messages: Json, **keys: Json) -> Json:
    return post(server.base_url, body_with(*messages, **keys), **BETA).json()


def error_in(answer: Json) -> str:
    return str(answer["error"].get("details", {}).get("error_code", answer["error"]["message"]))


def test_the_official_client_begins_a_thread_and_goes_on_with_it(server: MessagesServer) -> None:
    server.say("Seven.")
    server.say("Yes.")
    client = client_of(server.base_url)
    common: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "betas": [THREADS]}
    first = client.beta.messages.create(messages=[user("How many?")], system="Brief.", thread=BEGIN, **common)

    client.beta.messages.create(messages=[user("Sure?")], thread=continued({"id": first.id}), **common)

    assert [turn["role"] for turn in server.view(2).messages] == ["user", "assistant", "user"]
    assert "Brief." in server.view(2).text
    assert server.faults == []


def test_the_official_client_names_a_thread_that_is_lost(server: MessagesServer) -> None:
    client = client_of(server.base_url)
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.beta.messages.create(
            model=MODEL, max_tokens=9, messages=[user("a")], thread=continued({"id": "msg_0"}), betas=[THREADS]
        )
    assert "thread_not_found" in str(caught.value.body)


def test_a_thread_is_continued_once(server: MessagesServer) -> None:
    server.say("a")
    server.say("b")
    first = asked(server, user("a"), thread=BEGIN)
    asked(server, user("b"), thread=continued(first))

    assert error_in(asked(server, user("c"), thread=continued(first))) == "thread_already_continued"


def test_a_thread_lasts_five_minutes_after_its_last_answer(server: MessagesServer) -> None:
    for text in "abc":
        server.say(text)
    answer = asked(server, user("a"), thread=BEGIN)
    for _ in range(2):
        server.clock.advance(seconds=300)
        answer = asked(server, user("b"), thread=continued(answer))
    server.clock.advance(seconds=301)

    assert error_in(asked(server, user("c"), thread=continued(answer))) == "thread_not_found"


def test_what_is_cut_or_refused_is_not_kept(server: MessagesServer) -> None:
    server.say("a", declined("cyber"))
    refused = asked(server, user("a"), thread=BEGIN)
    server.say("Hal", CUT)
    cut = client_of(server.base_url).beta.messages.stream(
        model=MODEL, max_tokens=9, messages=[user("a")], thread=BEGIN, betas=[THREADS]
    )
    # Whatever the client's transport says of a cut.
    with cut as stream, pytest.raises((anthropic.APIError, httpx2.TransportError)):
        stream.get_final_message()
    assert server.kept == []
    assert error_in(asked(server, user("b"), thread=continued(refused))) == "thread_not_found"


@pytest.mark.parametrize("key", ["system", "tools"])
def test_what_a_thread_has_is_not_sent_again(server: MessagesServer, key: str) -> None:
    server.say("a")
    first = asked(server, user("a"), thread=BEGIN)
    given: Json = {"system": "Brief.", "tools": [{"name": "f", "input_schema": {"type": "object"}}]}

    assert key in error_in(asked(server, user("b"), thread=continued(first), **{key: given[key]}))
    assert len(server.faults) == 1


def test_other_thinking_is_another_fingerprint(server: MessagesServer) -> None:
    server.say("a")
    first = asked(server, user("a"), thread=BEGIN)

    refused = asked(server, user("b"), thread=continued(first), thinking={"type": "adaptive"})

    assert error_in(refused) == "thread_fingerprint_mismatch"


def test_threads_need_their_beta(server: MessagesServer) -> None:
    refused = post(server.base_url, body_with(user("a"), thread=BEGIN)).json()

    assert error_in(refused) == "thread: Extra inputs are not permitted"


def test_a_server_may_take_no_marks_in_threads() -> None:
    with MessagesServer(threads_refuse=("cache_control",)) as server:
        refused = asked(server, user("a"), thread=BEGIN, cache_control={"type": "ephemeral"})

        assert error_in(refused) == "thread_unsupported_request"
        assert server.faults == []
