"""Each way to fail of the fake Interactions server is what bare HTTP, or Google's client, takes it for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from google.genai import _interactions_errors as errors

from fakes.interactions_clients import MODEL, body_with, client_of, post
from fakes.interactions_server import (
    CUT,
    REFUSALS,
    RESET,
    STALL,
    InteractionsServer,
    Part,
    endless,
    event_faults,
    huge_line,
    mid_character,
    mid_frame,
    page,
    raw,
    redirect,
    refusal_with,
    stream_error,
    thought,
)

EXCEPTIONS: dict[int, type[errors.APIStatusError]] = {
    400: errors.BadRequestError,
    401: errors.AuthenticationError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    429: errors.RateLimitError,
    500: errors.InternalServerError,
    503: errors.InternalServerError,
    504: errors.InternalServerError,
}


@pytest.fixture
def server() -> Iterator[InteractionsServer]:
    with InteractionsServer() as server:
        yield server


def received(server: InteractionsServer) -> tuple[bytes, Exception | None]:
    """Ask by bare HTTP for a stream; give the bytes of the body and what ended them."""
    body = b""
    url = f"{server.base_url}/v1/interactions"
    try:
        with httpx.stream("POST", url, json=body_with(stream=True), timeout=10) as answer:
            for piece in answer.iter_raw():
                body += piece
    except httpx.HTTPError as error:
        return body, error
    return body, None


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_refusal_is_the_exception_of_its_class(server: InteractionsServer, kind: str) -> None:
    server.refuse(kind)
    row = REFUSALS[kind]
    expected = EXCEPTIONS.get(row.status, errors.APIStatusError)
    with client_of(server.base_url) as client, pytest.raises(expected) as caught:
        client.interactions.create(model=MODEL, input="hi")
    assert caught.value.status_code == row.status
    assert row.message in str(caught.value)
    assert len(server.requests) == 1
    assert server.faults == []


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_refusal_has_both_shapes(server: InteractionsServer, kind: str) -> None:
    server.refuse(kind, retry_after=2)
    server.refuse(kind, retry_after=2, legacy=True)
    row = REFUSALS[kind]
    new, old = post(server.base_url, body_with()), post(server.base_url, body_with())
    assert new.headers["retry-after"] == "2"
    assert new.json() == {"error": {"code": row.code, "message": row.message}}
    error = old.json()["error"]
    assert "retry-after" not in old.headers
    assert (error["code"], error["status"], error["message"]) == (row.status, row.word, row.message)
    assert error["details"] == [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}]


def test_an_error_inside_a_stream_follows_its_text_and_ends_it(server: InteractionsServer) -> None:
    server.say("Hel", stream_error("Interaction v1_lost was not found.", code="not_found"), "lo")
    body, error = received(server)
    frames = [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: ")]
    assert error is None
    assert frames[-1]["error"] == {"code": "not_found", "message": "Interaction v1_lost was not found."}
    assert frames[-1]["event_type"] == "error"
    assert frames[-2]["delta"]["text"] == "Hel"
    assert event_faults(frames[-1]) == []


@pytest.mark.parametrize("part", [CUT, RESET, mid_frame("lo"), mid_character("lö")], ids=str)
def test_a_broken_connection_is_a_connection_error(server: InteractionsServer, part: Part) -> None:
    server.say(thought("Hm."), "Hel", part)
    with client_of(server.base_url) as client, pytest.raises(errors.APIConnectionError):
        list(client.interactions.create(model=MODEL, input="hi", stream=True))
    assert server.requests[0].fate == "cut"


def test_a_frame_and_a_character_are_cut_in_their_middle(server: InteractionsServer) -> None:
    server.say(mid_frame("Hello"))
    server.say(mid_character("Grüß dich"))
    frame, error = received(server)
    assert isinstance(error, httpx.RemoteProtocolError)
    assert not frame.endswith(b"\n\n")
    assert received(server)[0].endswith("Grü".encode() + b"\xc3")


def test_a_cut_after_the_head_leaves_no_body(server: InteractionsServer) -> None:
    server.say(CUT)
    body, error = received(server)
    assert body == b""
    assert isinstance(error, httpx.RemoteProtocolError)


@pytest.mark.parametrize("part", [CUT, RESET], ids=str)
def test_a_cut_before_the_head_is_no_answer_at_all(server: InteractionsServer, part: Part) -> None:
    server.say("Hello", before_head=[part])
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        post(server.base_url, body_with())


def test_a_json_answer_is_cut_in_its_middle_too(server: InteractionsServer) -> None:
    server.say("Hello", CUT)
    with pytest.raises(httpx.RemoteProtocolError):
        post(server.base_url, body_with())


@pytest.mark.parametrize(("finish", "done"), [("auto", False), (None, True), (None, False)])
def test_an_end_is_left_out_where_the_script_says_so(
    server: InteractionsServer, finish: str | None, done: bool
) -> None:
    server.say("Hello", finish=finish, done=done)
    body, error = received(server)
    assert error is None
    assert body.endswith(b"event: done\ndata: [DONE]\n\n") == done
    assert (b"interaction.completed" in body) == (finish is not None)


def test_bytes_that_are_no_json_arrive_as_they_are(server: InteractionsServer) -> None:
    server.say(raw(b"data: {oops\n\n"))
    assert received(server)[0].startswith(b"data: {oops\n\n")


def test_pages_redirects_and_refusals_of_any_shape_are_possible(server: InteractionsServer) -> None:
    server.reply(page(), redirect("http://127.0.0.1:1/"), refusal_with(599, "No."))
    answers = [post(server.base_url, body_with()) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 307, 599]
    assert answers[0].headers["content-type"].startswith("text/html")


def test_a_stream_can_be_answered_with_json(server: InteractionsServer) -> None:
    server.say("Hello", as_json=True)
    answer = post(server.base_url, body_with(stream=True))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["steps"][0]["content"][0]["text"] == "Hello"


@pytest.mark.parametrize("part", [STALL, endless()], ids=["stall", "life"])
def test_what_never_ends_ends_when_the_client_leaves(server: InteractionsServer, part: Part) -> None:
    server.say("Hello", part)
    url = f"{server.base_url}/v1/interactions"
    with httpx.stream("POST", url, json=body_with(stream=True)) as answer:
        assert any("Hello" in line for line in answer.iter_lines())
    server.closed_early.wait()
    assert server.answer(1).status == "cancelled"


def test_a_huge_line_has_the_size_asked_for(server: InteractionsServer) -> None:
    server.say(huge_line(1_000_000), done=False, finish=None)
    assert len(max(received(server)[0].split(b"\n"), key=len)) >= 1_000_000


def test_parts_of_other_servers_are_a_fault(server: InteractionsServer) -> None:
    from fakes.chat_replies import Special

    server.say(Special())
    assert post(server.base_url, body_with()).status_code == 500
    assert len(server.faults) == 1
