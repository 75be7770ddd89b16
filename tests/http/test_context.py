"""Audits and previews over HTTP, and what the server has."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from fakes.chat_server import ChatServer
from http_helpers import DRY, asgi_client, make_app, problem_of
from turns.turn_helpers import config_of

pytestmark = pytest.mark.anyio
LONG = [
    {"role": role, "content": f"{number} " + "word " * 60} for number in range(6) for role in ("user", "assistant")
]


async def preview(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/api/v2/context-preview", json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_a_preview_shows_what_the_next_turn_would_send_and_stores_nothing(client: httpx.AsyncClient) -> None:
    chat = (
        await client.post(
            "/api/v2/chats", json={**DRY, "messages": LONG, "contextSettings": {"contextLimit": 400}}
        )
    ).json()
    told = await preview(client, chatId=chat["id"], input="And now?")

    assert told["messages"][-1] == {"role": "user", "content": "And now?"}
    assert told["recount"] == told["snapshot"]["estimatedInputTokens"] <= told["budget"]["available"]
    assert {one["reason"] for one in told["leftOut"]} == {"context-shift"}
    assert (await client.get(f"/api/v2/chats/{chat['id']}")).json() == chat
    assert (await client.get(f"/api/v2/chats/{chat['id']}/context-audit")).json() is None


async def test_a_conversation_in_the_body_is_fitted_the_same_way(client: httpx.AsyncClient) -> None:
    settings = {**DRY, "contextSettings": {"contextLimit": 400}}
    asked = [*LONG, {"role": "user", "content": "And now?"}]
    chat = (await client.post("/api/v2/chats", json={**settings, "messages": LONG})).json()

    own = await preview(client, **settings, messages=asked)
    stored = await preview(client, chatId=chat["id"], input="And now?")

    assert own["messages"] == stored["messages"]
    assert own["recount"] == stored["recount"]
    assert (await client.get("/api/v2/chats")).json()["chats"] == [chat]


async def test_what_must_stay_and_is_too_much_is_told_with_its_weights(client: httpx.AsyncClient) -> None:
    body = {**DRY, "contextSettings": {"contextLimit": 20}, "messages": LONG}
    problem = problem_of(await client.post("/api/v2/context-preview", json=body), 422, "TOKEN_BUDGET_EXCEEDED")

    assert problem["needed"] > problem["allowed"]
    assert problem["protected"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "INVALID_REQUEST"),
        ([], 400, "INVALID_REQUEST"),
        ({"chatId": "c"}, 404, "CHAT_NOT_FOUND"),
        ({"chatId": "c", "input": "  "}, 400, "INVALID_REQUEST"),
        ({"chatId": "c", "messages": []}, 400, "INVALID_REQUEST"),
        ({**DRY, "messages": LONG, "contextStrategy": "nothing"}, 422, "UNKNOWN_STRATEGY"),
        ({**DRY, "provider": "nobody", "messages": LONG}, 422, "UNKNOWN_PROVIDER"),
        ({**DRY, "model": "nothing", "messages": LONG}, 422, "UNKNOWN_MODEL"),
        ({**DRY, "provider": "openai-compatible", "messages": LONG}, 422, "CONFIG_INVALID"),
        ({**DRY, "provider": "openai", "messages": LONG}, 422, "PROVIDER_KEY_MISSING"),
        ({**DRY, "messages": [1]}, 422, "UNKNOWN_FORMAT"),
        ({**DRY, "messages": LONG, "options": {"loud": True}}, 422, "INVALID_REQUEST"),
        ({**DRY, "messages": LONG, "tools": [{"name": "a b"}]}, 422, "INVALID_REQUEST"),
    ],
)
async def test_a_preview_that_cannot_be_made_says_why(
    client: httpx.AsyncClient, body: Any, status: int, code: str
) -> None:
    problem = problem_of(await client.post("/api/v2/context-preview", json=body), status, code)

    assert "<" not in problem.get("path", "")


async def test_providers_are_listed_without_their_keys(place: str) -> None:
    config = {"providers": {"local": {"driver": "openai-compatible", "base_url": "http://127.0.0.1:1/v1"}}}
    app = make_app(place, config=config, environ={"OPENAI_API_KEY": "sk-a-real-key"})
    async with asgi_client(app) as client:
        answer = await client.get("/api/v2/providers")

    assert "sk-a-real-key" not in answer.text
    told = {one["name"]: one for one in answer.json()["providers"]}
    assert (told["openai"]["key"], told["openai"]["mode"], told["openai"]["usable"]) == (
        "present",
        "responses",
        True,
    )
    assert (told["anthropic"]["key"], told["anthropic"]["usable"]) == ("missing", False)
    assert "ANTHROPIC_API_KEY" in told["anthropic"]["reason"]
    assert (told["dry-run"]["key"], told["dry-run"]["usable"]) == ("not-needed", True)
    assert (told["local"]["driver"], told["local"]["configured"]) == ("openai-compatible", True)
    assert told["chatgpt"]["usable"] is False


async def test_the_mode_of_a_provider_is_that_of_its_settings(place: str) -> None:
    config = {
        "providers": {
            "claude": {"driver": "anthropic", "key_variable": "KEY", "settings": {"threads": True}},
            "private": {"driver": "openai", "key_variable": "KEY", "retention": 0},
        }
    }
    async with asgi_client(make_app(place, config=config, environ={"KEY": "k"})) as client:
        told = {one["name"]: one for one in (await client.get("/api/v2/providers")).json()["providers"]}

    assert (told["claude"]["mode"], told["private"]["mode"]) == ("threads", "stateless-loop")


async def test_strategies_plugins_and_models_are_listed(client: httpx.AsyncClient) -> None:
    strategies = (await client.get("/api/v2/strategies")).json()["strategies"]
    assert [one["name"] for one in strategies] == ["manual", "summarize", "truncate", "vector-recall"]
    plugins = (await client.get("/api/v2/plugins")).json()["plugins"]
    assert {"strategy", "provider", "codec", "tokenizer"} <= {one["kind"] for one in plugins}
    models = (await client.get("/api/v2/models", params={"filter": "GPT-4o-mini"})).json()
    assert models["total"] == len(models["models"]) >= 1
    assert models["models"][0]["contextLimit"] == 128_000


async def test_the_figures_have_no_ids_and_no_models(client: httpx.AsyncClient) -> None:
    chat = (await client.post("/api/v2/chats", json={**DRY, "model": "secret-model"})).json()
    await client.get(f"/api/v2/chats/{chat['id']}")
    await client.get("/api/v2/nowhere/at/all")

    answer = await client.get("/api/v2/metrics")

    assert answer.headers["content-type"].startswith("text/plain")
    assert (
        'trimtab_http_requests_total{method="GET",route="/api/v2/chats/{chatId}",status="200"} 1.0' in answer.text
    )
    assert 'route="none",status="404"' in answer.text
    assert "trimtab_turns_running 0.0" in answer.text
    assert chat["id"] not in answer.text
    assert "secret-model" not in answer.text


async def test_tokens_that_a_provider_reports_are_figures(place: str) -> None:
    with ChatServer() as provider:
        provider.say("Seven.")
        async with asgi_client(make_app(place, config=config_of(provider))) as client:
            chat = (await client.post("/api/v2/chats", json={**DRY, "provider": "local"})).json()
            turn = (await client.post(f"/api/v2/chats/{chat['id']}/turns", json={"input": "Hello."})).text
            figures = (await client.get("/api/v2/metrics")).text

    assert "turn_completed" in turn
    assert re.search(r'^trimtab_tokens_total\{kind="input",provider="local"\} [1-9]', figures, re.MULTILINE)
    assert re.search(r'^trimtab_tokens_total\{kind="output",provider="local"\} [1-9]', figures, re.MULTILINE)
    assert re.search(r'^trimtab_usage_ratio\{provider="local"\} [0-9.]+$', figures, re.MULTILINE)
