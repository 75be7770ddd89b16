"""Who may call: tokens, owners, hosts and origins."""

from __future__ import annotations

import logging
import os

import httpx
import pytest

from http_helpers import ANN, BOB, ENVIRON, TOKENS, asgi_client, make_app, problem_of
from trimtab.config import Config, Server
from trimtab.http.access import Tokens
from trimtab_sdk.errors import ConfigError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer ann-has-a-long-toke"},
        {"Authorization": "Bearer ann-has-a-long-token2"},
        {"Authorization": "Basic ann-has-a-long-token"},
        {"Authorization": "ann-has-a-long-token"},
        {"X-Api-Key": "ann-has-a-long-token"},
    ],
    ids=str,
)
async def test_without_a_token_that_is_known_nothing_is_told(place: str, shown: dict[str, str]) -> None:
    async with asgi_client(make_app(place, server=Server(tokens=TOKENS)), headers=shown) as client:
        for path in ("/api/v2/chats", "/api/v2/metrics", "/api/v2/plugins", "/api/v2/nowhere"):
            answer = await client.get(path)
            problem_of(answer, 401, "UNAUTHENTICATED")
            assert answer.headers["www-authenticate"] == "Bearer"
        gateway = await client.post("/v1/chat/completions", content=b"{")
        assert (gateway.status_code, gateway.json()["error"]["type"]) == (401, "authentication_error")
        for path in ("/api/v2/health", "/api/v2/readiness", "/openapi.json"):
            assert (await client.get(path)).status_code == 200


async def test_two_headers_are_none(place: str) -> None:
    async with asgi_client(make_app(place, server=Server(tokens=TOKENS))) as client:
        both = [("Authorization", ANN["Authorization"]), ("Authorization", BOB["Authorization"])]
        problem_of(await client.get("/api/v2/chats", headers=both), 401, "UNAUTHENTICATED")


async def test_a_body_is_not_read_before_the_token(place: str) -> None:
    async def body() -> object:
        raise AssertionError("the body was read")
        yield b""

    async with asgi_client(make_app(place, server=Server(tokens=TOKENS))) as client:
        problem_of(await client.post("/api/v2/chats", content=body()), 401, "UNAUTHENTICATED")  # type: ignore[arg-type]


def test_every_token_is_compared_whichever_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    tokens = Tokens(((b"first", "ann"), (b"second", "bob"), (b"third", "cy")))

    assert [tokens.owner_of(shown) for shown in (b"first", b"third", b"none")] == ["ann", "cy", None]
    assert compared == [b"first", b"second", b"third"] * 3
    assert "first" not in repr(tokens)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.com"])
def test_whom_others_can_reach_needs_a_token(place: str, host: str) -> None:
    with pytest.raises(ConfigError, match="without a token"):
        make_app(place, server=Server(host=host))
    make_app(place, server=Server(host=host, tokens=TOKENS))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(place: str, host: str) -> None:
    make_app(place, server=Server(host=host))


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "set the environment variable ANN_TOKEN"),
        ({"ANN_TOKEN": "short", "BOB_TOKEN": ENVIRON["BOB_TOKEN"]}, "must hold 16 to"),
        ({"ANN_TOKEN": "with a blank in it, long", "BOB_TOKEN": ENVIRON["BOB_TOKEN"]}, "must hold 16 to"),
        ({"ANN_TOKEN": "one-and-the-same-token", "BOB_TOKEN": "one-and-the-same-token"}, "the same token"),
    ],
    ids=str,
)
def test_a_token_that_cannot_be_one_is_told_at_the_start(place: str, environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        make_app(place, server=Server(tokens=TOKENS), tokens=environ)
    assert not [value for value in environ.values() if value in str(caught.value)]


def test_a_token_in_the_configuration_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"server\.tokens"):
        Config(server={"tokens": {"ann": "the-token-itself-is-not-for-files"}})


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "evil.example:8420",
        "127.0.0.1.evil.example",
        "",
        "a b",
        "[::2]",
        "[::1]evil.example",
        "localhost:80@evil.example",
    ],
)
async def test_on_loopback_a_foreign_name_is_not_answered(place: str, name: str) -> None:
    async with asgi_client(make_app(place)) as client:
        problem_of(await client.get("/api/v2/health", headers={"Host": name}), 421, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize("name", ["localhost:1", "127.0.0.1", "127.0.0.1:8420", "[::1]:8420", "chat.lan:80"])
async def test_own_names_and_those_of_the_configuration_are_answered(place: str, name: str) -> None:
    async with asgi_client(make_app(place, server=Server(allowed_hosts=("chat.lan",)))) as client:
        assert (await client.get("/api/v2/health", headers={"Host": name})).status_code == 200


async def test_where_it_is_public_any_name_is_answered_unless_some_are_named(place: str) -> None:
    public = Server(host="0.0.0.0", tokens=TOKENS)
    async with asgi_client(make_app(place, server=public)) as client:
        assert (await client.get("/api/v2/health", headers={"Host": "chat.example"})).status_code == 200
    named = public.model_copy(update={"allowed_hosts": ("chat.example",)})
    async with asgi_client(make_app(place, server=named)) as client:
        problem_of(await client.get("/api/v2/health", headers={"Host": "b.example"}), 421, "HOST_NOT_ALLOWED")


async def test_a_web_page_may_not_call_unless_it_is_named(client: httpx.AsyncClient, place: str) -> None:
    page = {"Origin": "https://app.example.com"}
    problem_of(await client.post("/api/v2/chats", headers=page, json={}), 403, "ORIGIN_NOT_ALLOWED")
    asked = page | {"Access-Control-Request-Method": "POST"}
    refused = await client.options("/api/v2/chats", headers=asked)
    assert refused.status_code == 403
    assert not [name for name in refused.headers if name.startswith("access-control")]

    allowing = Server(tokens=TOKENS, cors_origins=("https://app.example.com",))
    async with asgi_client(make_app(place, server=allowing)) as other:
        preflight = await other.options("/api/v2/chats", headers=asked)
        answer = await other.get("/api/v2/chats", headers=page | ANN)
        assert preflight.headers["access-control-allow-origin"] == "https://app.example.com"
        assert answer.headers["access-control-allow-origin"] == "https://app.example.com"
        refused = await other.get("/api/v2/chats", headers=page)
        problem_of(refused, 401, "UNAUTHENTICATED")
        assert refused.headers["access-control-allow-origin"] == "https://app.example.com"
        assert answer.headers.get_list("access-control-allow-origin") == ["https://app.example.com"]
        problem_of(await other.get("/api/v2/chats", headers=ANN | {"Origin": "null"}), 403, "ORIGIN_NOT_ALLOWED")


async def test_every_answer_has_the_headers_that_keep_it_safe(ann: httpx.AsyncClient) -> None:
    for answer in [
        await ann.get("/api/v2/chats"),
        await ann.get("/api/v2/nowhere"),
        await ann.get("/api/v2/chats", headers={"Authorization": "no"}),
        await ann.get("/api/v2/health", headers={"Host": "evil.example"}),
        await ann.get("/openapi.json"),
    ]:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 16
        assert "server" not in answer.headers


async def test_the_log_has_no_token_no_query_and_no_body(
    ann: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await ann.get("/api/v2/models?filter=in-the-query")
        await ann.post("/api/v2/chats", json={"in-the-body": 1})
        await ann.get("/api/v2/line%0Abreak")
    lines = [record.getMessage() for record in caplog.records if record.name == "trimtab.http.access"]

    assert [line.split(" ")[:3] for line in lines] == [
        ["GET", "/api/v2/models", "200"],
        ["POST", "/api/v2/chats", "400"],
        ["GET", "?", "404"],
    ]
    told = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("trimtab"))
    assert not [word for word in ("in-the-query", "in-the-body", ENVIRON["ANN_TOKEN"]) if word in told]
    assert os.environ.get("ANN_TOKEN") is None
