"""Tests wait for what happens at the server, from threads and coroutines, and never sleep."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading

import httpx
import pytest
import trustme

from fakes.chat_clients import USER, async_client_of, body_with, post
from fakes.chat_process import chat_server_process
from fakes.chat_server import ChatServer, Moment, agent, echo

CHATS = 200


def test_a_gate_holds_the_answer_until_it_is_opened() -> None:
    with ChatServer() as server:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        heard: list[bytes] = []
        asking = threading.Thread(target=lambda: heard.append(post(server.base_url, body_with()).content))
        asking.start()
        gate.reached.wait()
        assert heard == []
        assert server.open_connections == 1
        assert [request.fate for request in server.requests] == ["answering"]
        gate.open()
        asking.join(10)
        assert b"[DONE]" in heard[0]
        assert [request.fate for request in server.requests] == ["answered"]


def test_a_gate_before_the_head_holds_even_the_status() -> None:
    async def story(server: ChatServer) -> None:
        gate = server.gate("the head")
        server.say("Hello", before_head=[gate])
        async with httpx.AsyncClient() as client:
            url = f"{server.base_url}/chat/completions"
            asking = asyncio.create_task(client.post(url, json=body_with()))
            await gate.reached.wait_async()
            assert not asking.done()
            gate.open()
            assert (await asking).status_code == 200

    with ChatServer() as server:
        asyncio.run(story(server))


def test_a_cancelled_task_is_seen_as_a_client_that_left_early() -> None:
    async def story(server: ChatServer) -> None:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        async with async_client_of(server.base_url) as client:

            async def listen() -> None:
                async for _ in await client.chat.completions.create(model="m", messages=[USER], stream=True):
                    pass

            listening = asyncio.create_task(listen())
            await gate.reached.wait_async()
            assert not server.closed_early.happened
            listening.cancel()
            await server.closed_early.wait_async()
            await server.wait_until_async(lambda: server.open_connections == 0)
        assert server.requests[0].fate == "closed by client"

    with ChatServer() as server:
        asyncio.run(story(server))


def test_a_client_that_leaves_at_once_is_noticed_even_behind_a_gate() -> None:
    body = json.dumps(body_with()).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    with ChatServer() as server:
        server.say(server.gate(), "Hello")
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head.encode() + b"\r\n\r\n" + body)
        server.closed_early.wait()
        assert server.wait_for_request().fate == "closed by client"


def test_a_client_that_hears_everything_has_not_left_early() -> None:
    with ChatServer(echo()) as server:
        post(server.base_url, body_with())
        server.wait_until(lambda: server.open_connections == 0)
        assert not server.closed_early.happened


def test_requests_are_waited_for_by_number() -> None:
    async def story(server: ChatServer) -> None:
        async with httpx.AsyncClient() as client:
            url = f"{server.base_url}/chat/completions"
            asking = [asyncio.create_task(client.post(url, json=body_with())) for _ in range(2)]
            assert (await server.wait_for_request_async(2)).number == 2
            await asyncio.gather(*asking)
        assert server.wait_for_request(1).body == body_with()

    with ChatServer(echo()) as server:
        asyncio.run(story(server))


def test_waiting_has_a_deadline_and_says_for_what() -> None:
    with ChatServer(echo()) as server:
        with pytest.raises(TimeoutError, match="request 1"):
            server.wait_for_request(seconds=0)
        with pytest.raises(TimeoutError, match="request 1"):
            asyncio.run(server.wait_for_request_async(seconds=0))


def test_a_moment_that_lies_behind_is_not_waited_for() -> None:
    moment = Moment("it")
    moment.happen()
    moment.happen()
    moment.wait(0)
    asyncio.run(moment.wait_async(0))


def test_a_server_that_closes_breaks_off_what_runs() -> None:
    with ChatServer() as server:
        gate = server.gate()
        server.say("Hel", gate)
        ends: list[Exception] = []

        def ask() -> None:
            try:
                post(server.base_url, body_with())
            except httpx.HTTPError as error:
                ends.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        gate.reached.wait()
    asking.join(10)
    assert len(ends) == 1
    assert server.requests[0].fate == "server closed"
    assert server.open_connections == 0


def test_a_port_that_is_taken_is_an_error_at_the_start() -> None:
    with ChatServer() as server, pytest.raises(OSError, match="in use"):
        ChatServer(port=server.port).start()


def test_two_hundred_streams_stand_open_at_once_and_all_end_well() -> None:
    async def story(server: ChatServer) -> list[str]:
        gate = server.gate()
        for number in range(CHATS):
            server.say(f"{number} ", gate, "done")
        limits = httpx.Limits(max_connections=CHATS)
        async with httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as client:
            url = f"{server.base_url}/chat/completions"
            asking = [asyncio.create_task(client.post(url, json=body_with())) for _ in range(CHATS)]
            await server.wait_for_request_async(CHATS)
            assert server.open_connections == CHATS
            gate.open()
            return [answer.text for answer in await asyncio.gather(*asking)]

    with ChatServer() as server:
        texts = asyncio.run(story(server))
        assert all('"done"' in text and text.endswith("[DONE]\n\n") for text in texts)
        assert server.faults == []
        assert {request.fate for request in server.requests} == {"answered"}


def test_it_speaks_tls() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with ChatServer(echo(), tls=context) as server:
        url = f"{server.base_url}/chat/completions"
        assert url.startswith("https://127.0.0.1:")
        assert httpx.post(url, json=body_with(), verify=trusting).status_code == 200
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.post(url, json=body_with())


def test_what_is_no_http_is_refused_and_named() -> None:
    with ChatServer(echo()) as server:
        answer = httpx.post(f"{server.base_url}/chat/completions", content=iter([b"{}"]))
        assert answer.status_code == 400
        assert server.faults == ["no HTTP: a chunked request"]


def test_as_a_process_it_prints_its_address_and_tells_what_it_saw() -> None:
    with chat_server_process("--agent", "--judge") as base_url:
        assert post(base_url, body_with()).status_code == 200
        assert post(base_url, body_with() | {"messages": []}).status_code == 400
        seen = httpx.get(base_url.removesuffix("/v1") + "/seen").json()
        assert seen["requests"] == 2
        assert len(seen["faults"]) == 1


def test_handlers_may_be_asked_by_many_at_once() -> None:
    async def story(server: ChatServer) -> set[int]:
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"{server.base_url}/chat/completions"
            asking = [client.post(url, json=body_with()) for _ in range(30)]
            return {answer.status_code for answer in await asyncio.gather(*asking)}

    with ChatServer(agent()) as server:
        assert asyncio.run(story(server)) == {200}
