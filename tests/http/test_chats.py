"""Chats over HTTP: begin, list, read, change, branch, delete."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from http_helpers import BOB, DRY, problem_of

pytestmark = pytest.mark.anyio


async def begin(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/api/v2/chats", json={**DRY, **fields})
    assert answer.status_code == 201, answer.text
    chat: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/api/v2/chats/{chat['id']}"
    return chat


async def test_a_chat_comes_back_with_its_settings(client: httpx.AsyncClient) -> None:
    made = await begin(
        client,
        title="Lighthouse",
        system="Be brief.",
        contextStrategy="summarize",
        contextSettings={"contextLimit": 8000, "target": 0.5},
        fallbacks=[{"provider": "dry-run", "model": "gpt-4o-mini"}],
        maxOutputTokens=500,
        options={},
        tools=[],
        maxSteps=3,
    )

    chat = (await client.get(f"/api/v2/chats/{made['id']}")).json()
    assert chat == made
    assert (chat["title"], chat["provider"], chat["model"]) == ("Lighthouse", "dry-run", "gpt-4o")
    assert chat["contextSettings"]["contextLimit"] == 8000
    assert chat["fallbacks"] == [{"provider": "dry-run", "model": "gpt-4o-mini"}]
    assert (chat["tools"], chat["maxSteps"], chat["turnId"], chat["lastContextState"]) == ([], 3, None, None)


async def test_a_chat_begins_with_what_was_said_elsewhere(client: httpx.AsyncClient) -> None:
    chat = await begin(
        client,
        messages={
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "How many?"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "stock", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "7"}]},
            ],
        },
        format="anthropic-messages",
    )

    messages = (await client.get(f"/api/v2/chats/{chat['id']}/messages")).json()["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "tool"]
    assert messages[2]["parts"] == [{"kind": "toolCall", "callId": "c1", "name": "stock", "arguments": "{}"}]


async def test_chats_are_listed_page_by_page_last_changed_first(client: httpx.AsyncClient) -> None:
    made = [(await begin(client, title=f"{number}"))["id"] for number in range(5)]
    await client.patch(f"/api/v2/chats/{made[1]}", json={"title": "changed"})
    seen, cursor = [], None
    for _ in range(3):
        page = (
            await client.get("/api/v2/chats", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [chat["id"] for chat in page["chats"]]
        cursor = page["nextCursor"]

    assert seen == [made[1], made[4], made[3], made[2], made[0]]
    assert cursor is None


@pytest.mark.parametrize("cursor", ["x", "eyJ9", "WzEsMl0", "W251bGwsImEiXQ", "WzFlOTk5LCAiYSJd", "%%%", ""])
async def test_a_cursor_that_nobody_gave_is_refused(client: httpx.AsyncClient, cursor: str) -> None:
    status = 422 if cursor.isalnum() else 400
    problem_of(await client.get("/api/v2/chats", params={"cursor": cursor}), status, "INVALID_REQUEST")


async def test_settings_change_one_by_one_and_null_puts_back(client: httpx.AsyncClient) -> None:
    path = f"/api/v2/chats/{(await begin(client, maxOutputTokens=5, title='a'))['id']}"

    changed = (await client.patch(path, json={"model": "gpt-4o-mini", "contextStrategy": "manual"})).json()
    assert (changed["model"], changed["contextStrategy"], changed["maxOutputTokens"]) == (
        "gpt-4o-mini",
        "manual",
        5,
    )
    back = (await client.patch(path, json={"maxOutputTokens": None, "title": ""})).json()
    assert (back["maxOutputTokens"], back["title"], back["model"]) == (None, "", "gpt-4o-mini")
    problem = problem_of(await client.patch(path, json={"title": "b", "revision": 1}), 409, "CHAT_CHANGED")
    assert problem["revision"] == back["revision"]
    problem_of(await client.patch(path, json={"model": None}), 400, "INVALID_REQUEST")


async def test_two_who_change_other_settings_at_once_both_have_their_way(client: httpx.AsyncClient) -> None:
    path = f"/api/v2/chats/{(await begin(client))['id']}"
    changes: list[dict[str, Any]] = [{"model": "gpt-4.1"}, {"maxSteps": 7}, {"maxOutputTokens": 9}]

    answers = await asyncio.gather(*(client.patch(path, json=change) for change in changes))

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    chat = (await client.get(path)).json()
    assert (chat["model"], chat["maxSteps"], chat["maxOutputTokens"]) == ("gpt-4.1", 7, 9)


async def test_a_deleted_chat_is_gone_with_everything_of_it(client: httpx.AsyncClient) -> None:
    path = f"/api/v2/chats/{(await begin(client, system='Be brief.'))['id']}"

    gone = await client.delete(path)

    assert (gone.status_code, gone.content) == (204, b"")
    for method, where in [
        ("GET", ""),
        ("GET", "/messages"),
        ("GET", "/context-audit"),
        ("DELETE", ""),
        ("GET", "/messages/m/full-text"),
        ("DELETE", "/messages/m"),
    ]:
        problem_of(await client.request(method, path + where), 404, "CHAT_NOT_FOUND")


async def test_a_chat_goes_on_from_an_earlier_message(client: httpx.AsyncClient) -> None:
    said = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    path = f"/api/v2/chats/{(await begin(client, messages=said))['id']}"
    ids = [one["id"] for one in (await client.get(f"{path}/messages")).json()["messages"]]

    await client.post(f"{path}/branch", json={"leaf": ids[0]})
    assert [one["text"] for one in (await client.get(f"{path}/messages")).json()["messages"]] == ["a"]
    await client.post(f"{path}/branch", json={"leaf": ids[2]})
    assert len((await client.get(f"{path}/messages")).json()["messages"]) == 3
    problem_of(await client.post(f"{path}/branch", json={"leaf": "nobody"}), 422, "INVALID_REQUEST")


async def test_what_belongs_to_another_owner_is_as_if_it_were_not(ann: httpx.AsyncClient) -> None:
    chat = await begin(ann, system="Be brief.")
    message = (await ann.get(f"/api/v2/chats/{chat['id']}/messages")).json()["messages"][0]["id"]
    assert (await ann.get("/api/v2/chats", headers=BOB)).json()["chats"] == []

    async def ask(chat_id: str) -> list[tuple[int, dict[str, Any]]]:
        told = []
        for method, path, body in [
            ("GET", "", None),
            ("PATCH", "", {"title": "mine"}),
            ("DELETE", "", None),
            ("GET", "/messages", None),
            ("PATCH", f"/messages/{message}", {"pinned": True}),
            ("DELETE", f"/messages/{message}", None),
            ("GET", f"/messages/{message}/full-text", None),
            ("POST", "/branch", {"leaf": None}),
            ("GET", "/context-audit", None),
        ]:
            answer = await ann.request(method, f"/api/v2/chats/{chat_id}{path}", json=body, headers=BOB)
            told.append((answer.status_code, answer.json()))
        preview = await ann.post("/api/v2/context-preview", json={"chatId": chat_id}, headers=BOB)
        return [*told, (preview.status_code, preview.json())]

    foreign, none = await ask(chat["id"]), await ask("0" * 32)

    for (status, theirs), (other, nobodys) in zip(foreign, none, strict=True):
        assert status == other == 404
        for answer in (theirs, nobodys):
            answer.pop("requestId")
        assert str(theirs).replace(chat["id"], "X") == str(nobodys).replace("0" * 32, "X")
    assert (await ann.get(f"/api/v2/chats/{chat['id']}")).json() == chat
