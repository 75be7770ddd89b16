"""Whatever comes in: a coded error, nothing stored, never a 500."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import httpx
import pytest

from http_helpers import DRY, problem_of

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
LONG = "x" * (128 << 10)
MANY: list[object] = [{"kind": "text", "text": "x"}, *[1] * 1000]


def with_system(text: str) -> bytes:
    return b'{"provider": "dry-run", "model": "gpt-4o", "system": %s}' % text.encode("utf-8", "surrogatepass")


BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"provider": "\xff"}',
    "UTF-16": '{"provider": "dry-run"}'.encode("utf-16"),
    "a mark in front": b"\xef\xbb\xbf{}",
    "half an emoji": with_system('"\\ud83d"'),
    "the other half": with_system('"\\ude00 hello"'),
    "half an emoji in a key": b'{"\\ud83d": 1}',
    "NUL": with_system('"a\\u0000b"'),
    "a raw surrogate": with_system('"\ud83d"'),
    "a list": b"[]",
    "a text": b'"hello"',
    "null": b"null",
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 500 + b"1" + b"}" * 500,
    "deep options": b'{"provider":"dry-run","model":"gpt-4o","options":{"a":' + b"[" * 80 + b"]" * 80 + b"}}",
    "one key twice": b'{"provider": "dry-run", "provider": "dry-run", "model": "gpt-4o"}',
    "NaN": b'{"provider": "dry-run", "model": "gpt-4o", "options": {"temperature": NaN}}',
    "infinity": b'{"provider": "dry-run", "model": "gpt-4o", "options": {"temperature": -Infinity}}',
    "a float beyond all": b'{"provider": "dry-run", "model": "gpt-4o", "options": {"temperature": 1e999}}',
    "a huge int": b'{"provider": "dry-run", "model": "gpt-4o", "maxSteps": 1' + b"0" * 10_000 + b"}",
    "an int of 65 bits": b'{"provider": "dry-run", "model": "gpt-4o", "options": {"seed": 18446744073709551616}}',
    "a number for a text": b'{"provider": "dry-run", "model": 4}',
    "a text for a number": b'{"provider": "dry-run", "model": "gpt-4o", "maxSteps": "3"}',
    "true for a number": b'{"provider": "dry-run", "model": "gpt-4o", "maxSteps": true}',
    "too many steps": b'{"provider": "dry-run", "model": "gpt-4o", "maxSteps": 1001}',
    "a share over one": b'{"provider": "dry-run", "model": "gpt-4o", "contextSettings": {"target": 2}}',
    "a line break in a name": b'{"provider": "dry-run\\n", "model": "gpt-4o"}',
    "no model": b'{"provider": "dry-run"}',
}


UNKEPT = {
    "half an emoji",
    "the other half",
    "half an emoji in a key",
    "NUL",
    "deep lists",
    "deep objects",
    "deep options",
    "a float beyond all",
    "a huge int",
    "an int of 65 bits",
}
"""The bodies that are JSON, and cannot be kept."""


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_cannot_be_read_or_kept_stores_nothing(client: httpx.AsyncClient, name: str) -> None:
    answer = await client.post("/api/v2/chats", content=BODIES[name], headers=JSON)

    problem = problem_of(answer, 422 if name in UNKEPT else 400, "INVALID_REQUEST")
    assert "\ud83d" not in problem["detail"]
    assert (await client.get("/api/v2/chats")).json()["chats"] == []


async def test_a_chat_is_not_poisoned_by_texts_that_are_none(client: httpx.AsyncClient) -> None:
    chat = (await client.post("/api/v2/chats", json={**DRY, "system": "Be brief."})).json()
    path = f"/api/v2/chats/{chat['id']}"
    message = (await client.get(f"{path}/messages")).json()["messages"][0]["id"]
    for text in ("\\ud83d", "\\u0000"):
        for method, where, body in [
            ("PATCH", "", f'{{"title": "{text}"}}'),
            ("PATCH", f"/messages/{message}", f'{{"text": "{text}"}}'),
            ("PATCH", f"/messages/{message}", f'{{"parts": [{{"kind": "text", "text": "{text}"}}]}}'),
            ("POST", "/branch", f'{{"leaf": "{text}"}}'),
        ]:
            answer = await client.request(method, path + where, content=body.encode(), headers=JSON)
            problem_of(answer, 422, "INVALID_REQUEST")
    preview = f'{{"chatId": "{chat["id"]}", "input": "\\ud83d"}}'
    problem_of(await client.post("/api/v2/context-preview", content=preview, headers=JSON), 422, "INVALID_REQUEST")

    assert (await client.get(path)).json() == chat
    assert (await client.get(f"{path}/messages")).json()["messages"][0]["text"] == "Be brief."


async def test_whole_emojis_written_as_escapes_are_kept(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v2/chats", content=with_system('"\\ud83d\\ude00"'), headers=JSON)
    path = f"/api/v2/chats/{answer.json()['id']}/messages"

    assert (await client.get(path)).json()["messages"][0]["text"] == "\U0001f600"


@pytest.mark.parametrize(
    ("body", "path", "said"),
    [
        ({"modle": "gpt-4o"}, "", "there is no field 'modle'; there are provider, model,"),
        ({"contextSettings": {"limit": 5}}, "contextSettings", "no field 'limit'; there are strategy, "),
        ({"fallbacks": [{"provider": "x", "name": "y"}]}, "fallbacks[0]", "there are provider, model"),
        ({"context_strategy": "manual"}, "", "contextStrategy"),
    ],
    ids=str,
)
async def test_an_unknown_field_is_refused_and_the_known_ones_are_named(
    client: httpx.AsyncClient, body: dict[str, Any], path: str, said: str
) -> None:
    answer = await client.post("/api/v2/chats", json={**DRY, **body})
    problem = problem_of(answer, 400, "INVALID_REQUEST")

    assert said in problem["detail"]
    assert path == problem["path"]


async def test_a_whole_number_may_be_written_with_a_point(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v2/chats", json={**DRY, "maxSteps": 3.0, "maxOutputTokens": 50.0})

    assert (answer.json()["maxSteps"], answer.json()["maxOutputTokens"]) == (3, 50)


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/xml", "application/x-www-form-urlencoded", "application/json; charset=latin1"],
)
async def test_a_body_of_another_kind_is_refused(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post("/api/v2/chats", content=json.dumps(DRY), headers={"Content-Type": kind})

    problem_of(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=UTF-8", "application/foo+json"])
async def test_json_by_any_name_is_taken(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post("/api/v2/chats", content=json.dumps(DRY), headers={"Content-Type": kind})

    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("path", "code", "status"),
    [
        ("/api/v2/chats?limit=0", "INVALID_REQUEST", 400),
        ("/api/v2/chats?limit=x", "INVALID_REQUEST", 400),
        ("/api/v2/chats?limit=1&limit=2", "INVALID_REQUEST", 400),
        ("/api/v2/chats?owner=bob", "INVALID_REQUEST", 400),
        ("/api/v2/chats?cursor=%00", "INVALID_REQUEST", 400),
        ("/api/v2/health?x=1", "INVALID_REQUEST", 400),
        ("/api/v2/models?filter=%00", "INVALID_REQUEST", 400),
        ("/api/v2/chats/%00", "CHAT_NOT_FOUND", 404),
        ("/api/v2/chats/%FF", "CHAT_NOT_FOUND", 404),
        ("/api/v2/chats/%ED%A0%80", "CHAT_NOT_FOUND", 404),
        ("/api/v2/chats/" + "x" * 256, "INVALID_REQUEST", 400),
        ("/api/v2/chats/x/messages/%00/full-text", "CHAT_NOT_FOUND", 404),
        ("/api/v2/chats/", "ROUTE_NOT_FOUND", 404),
        ("/api/v2/chats/x/messages?after=-1", "INVALID_REQUEST", 400),
        ("/api/v2/chats/x/messages?after=99999999999999999999", "INVALID_REQUEST", 400),
    ],
)
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
async def test_odd_paths_and_queries_are_told_apart(
    client: httpx.AsyncClient, path: str, code: str, status: int
) -> None:
    problem_of(await client.get(path), status, code)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
async def test_the_largest_number_is_behind_all_messages(client: httpx.AsyncClient) -> None:
    chat = (await client.post("/api/v2/chats", json={**DRY, "system": "Be brief."})).json()
    page = await client.get(f"/api/v2/chats/{chat['id']}/messages", params={"after": 2**31 - 1})

    assert page.json() == {"messages": [], "nextAfter": None}


async def test_a_long_key_is_not_spelled_out_for_each_value_below_it(client: httpx.AsyncClient) -> None:
    key = "k" * 20_000
    body = f'{{"{key}": [{"0, " * 50_000}"\\u0000"]}}'.encode()

    tracemalloc.start()
    try:
        problem = problem_of(
            await client.post("/api/v2/chats", content=body, headers=JSON), 422, "INVALID_REQUEST"
        )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert problem["path"] == "k" * 200
    assert most < 100 * len(body)


async def test_a_key_that_stands_twice_is_told_by_its_beginning(client: httpx.AsyncClient) -> None:
    key = "k" * 20_000
    answer = await client.post("/api/v2/chats", content=f'{{"{key}": 1, "{key}": 2}}', headers=JSON)

    assert problem_of(answer, 400, "INVALID_REQUEST")["path"] == "k" * 200
    assert len(answer.content) < 2000


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/api/v2/chats", {**DRY, "tools": ["a", *[1] * 1000]}, "tools[1]"),
        ("/api/v2/chats/x/turns", {"input": MANY}, "input[1]"),
        ("/api/v2/chats/x/messages/y", {"parts": MANY}, "parts[1]"),
        ("/api/v2/turns/x/tool-results", {"results": [{"callId": "c", "content": MANY}]}, "results[0].content[1]"),
        ("/api/v2/context-preview", {"chatId": "x", "input": MANY}, "input[1]"),
        ("/v1/chat/completions", {"model": "gpt-4o", "messages": MANY}, "messages[1]"),
        ("/v1/chat/completions", {"model": "gpt-4o", "messages": [{}], "tools": MANY}, "tools[1]"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_a_list_of_what_it_cannot_hold_is_refused_at_the_first(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], where: str
) -> None:
    answer = await client.request("PATCH" if "messages/" in path else "POST", path, json=body)
    told = answer.json()
    errors = told["error"]["trimtab"]["details"]["errors"] if "error" in told else told["errors"]

    assert answer.status_code == 400
    # Of a text, a list or an object each one is told.
    assert len(errors) <= 3
    assert where in [one["path"] for one in errors]


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"options": {"a": LONG}}, "options"),
        ({"responseFormat": {"a": LONG}}, "responseFormat"),
        ({"contextSettings": {"strategy": {"a": LONG}}}, "contextSettings.strategy"),
        ({"tools": ["a"] * 1025}, "tools"),
        ({"tools": ["a" * 257]}, "tools[0]"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_a_chat_keeps_no_settings_that_would_make_a_list_of_chats_endless(
    client: httpx.AsyncClient, settings: dict[str, Any], path: str
) -> None:
    chat = (await client.post("/api/v2/chats", json=DRY)).json()
    for answer in (
        await client.post("/api/v2/chats", json={**DRY, **settings}),
        await client.patch(f"/api/v2/chats/{chat['id']}", json=settings),
    ):
        assert problem_of(answer, 400, "INVALID_REQUEST")["path"] == path

    assert (await client.get("/api/v2/chats")).json()["chats"] == [chat]


async def test_a_large_body_is_read_as_strictly_as_a_small_one(client: httpx.AsyncClient) -> None:
    large = "word " * 100_000
    broken = f'{{"provider": "dry-run", "model": "gpt-4o", "title": "a\\ud83d", "system": "{large}"}}'
    headers = {"content-type": "application/json"}

    problem_of(await client.post("/api/v2/chats", content=broken, headers=headers), 422, "INVALID_REQUEST")
    whole = await client.post("/api/v2/chats", json={**DRY, "system": large})
    assert whole.status_code == 201
