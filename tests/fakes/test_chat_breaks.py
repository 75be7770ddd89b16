"""Each way to fail is what the official client, or bare HTTP, takes it for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import openai
import pytest

from fakes.chat_clients import USER, body_with, chunks_of, client_of, post, text_of_chunks
from fakes.chat_server import (
    CUT,
    REFUSALS,
    RESET,
    STALL,
    ChatServer,
    Part,
    endless,
    huge_line,
    mid_character,
    mid_frame,
    page,
    raw,
    redirect,
    refusal_with,
    stream_error,
)

EXCEPTIONS: dict[str, type[openai.APIStatusError]] = {
    "bad-request": openai.BadRequestError,
    "context": openai.BadRequestError,
    "auth": openai.AuthenticationError,
    "permission": openai.PermissionDeniedError,
    "model": openai.NotFoundError,
    "timeout": openai.APIStatusError,
    "conflict": openai.ConflictError,
    "too-large": openai.APIStatusError,
    "unprocessable": openai.UnprocessableEntityError,
    "rate-limit": openai.RateLimitError,
    "quota": openai.RateLimitError,
    "server": openai.InternalServerError,
    "overloaded": openai.InternalServerError,
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def received(server: ChatServer) -> tuple[bytes, Exception | None]:
    """Ask by bare HTTP; give the bytes of the body and what ended them."""
    body = b""
    try:
        with httpx.stream("POST", f"{server.base_url}/chat/completions", json=body_with(), timeout=10) as answer:
            for piece in answer.iter_raw():
                body += piece
    except httpx.HTTPError as error:
        return body, error
    return body, None


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_refusal_is_the_exception_of_its_class(server: ChatServer, kind: str) -> None:
    server.refuse(kind)
    with pytest.raises(EXCEPTIONS[kind]) as caught:
        chunks_of(server.base_url)
    assert caught.value.status_code == REFUSALS[kind].status
    assert caught.value.code == REFUSALS[kind].code
    assert server.faults == []


def test_a_refusal_says_when_to_come_again(server: ChatServer) -> None:
    server.refuse("rate-limit", retry_after=2, retry_after_ms=1500, should_retry=False)
    headers = post(server.base_url, body_with()).headers
    assert headers["retry-after"] == "2"
    assert headers["retry-after-ms"] == "1500"
    assert headers["x-should-retry"] == "false"


def test_the_client_obeys_and_succeeds_the_second_time(server: ChatServer) -> None:
    server.refuse("overloaded", retry_after_ms=1)
    server.say("Now.")
    with openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=1) as client:
        assert client.chat.completions.create(model="m", messages=[USER]).choices[0].message.content == "Now."
    assert len(server.requests) == 2


def test_an_error_inside_a_stream_follows_its_text(server: ChatServer) -> None:
    server.say("Hel", stream_error("Sorry.", code="server_is_overloaded"), "lo")
    with client_of(server.base_url) as client:
        stream = client.chat.completions.create(model="m", messages=[USER], stream=True)
        assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "Hel"]
        with pytest.raises(openai.APIError) as caught:
            next(stream)
    assert caught.value.code == "server_is_overloaded"


@pytest.mark.parametrize("part", [CUT, RESET, mid_frame("lo"), mid_character("lö")], ids=str)
def test_a_broken_connection_is_a_connection_error(server: ChatServer, part: Part) -> None:
    server.say("Hel", part)
    with pytest.raises(openai.APIConnectionError):
        chunks_of(server.base_url)
    assert server.requests[0].done.happened
    assert server.requests[0].fate == "cut"


def test_a_frame_is_cut_in_its_middle(server: ChatServer) -> None:
    server.say(mid_frame("Hello"))
    body, error = received(server)
    assert isinstance(error, httpx.RemoteProtocolError)
    start = body.rindex(b"data: ")
    assert not body.endswith(b"\n\n")
    assert len(body) - start > 20


def test_a_character_is_cut_in_its_middle(server: ChatServer) -> None:
    server.say(mid_character("Grüß dich"))
    body, error = received(server)
    assert isinstance(error, httpx.RemoteProtocolError)
    assert body.endswith("Grü".encode() + b"\xc3")


def test_a_character_of_one_byte_cannot_be_cut() -> None:
    with pytest.raises(ValueError, match="several bytes"):
        mid_character("plain")


def test_a_cut_after_the_head_leaves_a_status_and_no_body(server: ChatServer) -> None:
    server.say(CUT)
    body, error = received(server)
    assert body == b""
    assert isinstance(error, httpx.RemoteProtocolError)


@pytest.mark.parametrize("part", [CUT, RESET], ids=str)
def test_a_cut_before_the_head_is_no_answer_at_all(server: ChatServer, part: Part) -> None:
    server.say("Hello", before_head=[part])
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        post(server.base_url, body_with())


def test_a_json_answer_is_cut_in_its_middle_too(server: ChatServer) -> None:
    server.say("Hello", CUT)
    with client_of(server.base_url) as client, pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(model="m", messages=[USER])


@pytest.mark.parametrize(("finish", "done"), [("stop", False), (None, True), (None, False)])
def test_an_end_is_left_out_where_the_script_says_so(server: ChatServer, finish: str | None, done: bool) -> None:
    server.say("Hello", finish=finish, done=done)
    body, error = received(server)
    assert error is None
    assert body.endswith(b"data: [DONE]\n\n") == done
    assert (b'"finish_reason":"stop"' in body) == (finish is not None)


def test_bytes_that_are_no_json_arrive_as_they_are(server: ChatServer) -> None:
    server.say(raw(b"data: {oops\n\n"))
    with pytest.raises(json.JSONDecodeError):
        chunks_of(server.base_url)


def test_a_page_has_status_200(server: ChatServer) -> None:
    server.reply(page())
    answer = post(server.base_url, body_with())
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_a_redirect_names_its_place(server: ChatServer) -> None:
    server.reply(redirect("http://127.0.0.1:1/"))
    answer = post(server.base_url, body_with())
    assert (answer.status_code, answer.headers["location"]) == (307, "http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("body", "text"), [({"detail": "No."}, '{"detail": "No."}'), ("No.", "No."), (b"\xff", None)]
)
def test_a_refusal_of_any_shape_is_possible(server: ChatServer, body: object, text: str | None) -> None:
    server.reply(refusal_with(599, body))
    answer = post(server.base_url, body_with())
    assert answer.status_code == 599
    assert answer.content == (b"\xff" if text is None else text.encode())


def test_a_stream_can_be_answered_with_json(server: ChatServer) -> None:
    server.say("Hello", as_json=True)
    answer = post(server.base_url, body_with())
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"


def test_a_body_without_chunks_ends_with_its_connection(server: ChatServer) -> None:
    server.say("Hello", chunked=False)
    assert text_of_chunks(chunks_of(server.base_url)) == "Hello"
    server.wait_until(lambda: server.open_connections == 0)


@pytest.mark.parametrize(
    "part", [STALL, endless(), endless(b"x" * 100_000, every_ms=0)], ids=["stall", "life", "flood"]
)
def test_what_never_ends_ends_when_the_client_leaves(server: ChatServer, part: Part) -> None:
    server.say("Hello", part)
    with httpx.stream("POST", f"{server.base_url}/chat/completions", json=body_with()) as answer:
        assert b"Hello" in b"".join(_until(answer.iter_raw(), b"Hello"))
    server.closed_early.wait()
    assert server.requests[0].fate == "closed by client"


def _until(pieces: Iterator[bytes], wanted: bytes) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        if wanted in piece:
            return


def test_a_huge_line_has_the_size_asked_for(server: ChatServer) -> None:
    server.say(huge_line(3_000_000), done=False, finish=None)
    body, error = received(server)
    assert error is None
    assert len(max(body.split(b"\n"), key=len)) >= 3_000_000
