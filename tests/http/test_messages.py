"""The messages of a chat over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from http_helpers import DRY, problem_of

pytestmark = pytest.mark.anyio
TALK = [
    {"role": "user", "content": "How many kettles?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "7"},
    {"role": "assistant", "content": "Seven."},
]


async def begin(client: httpx.AsyncClient, messages: Any = TALK) -> tuple[str, list[dict[str, Any]]]:
    """The path of a new chat's messages, and the messages."""
    chat = (await client.post("/api/v2/chats", json={**DRY, "messages": messages})).json()
    path = f"/api/v2/chats/{chat['id']}/messages"
    return path, (await client.get(path)).json()["messages"]


async def test_messages_are_listed_page_by_page(client: httpx.AsyncClient) -> None:
    path, _ = await begin(client, [{"role": "user", "content": str(number)} for number in range(5)])
    seen: list[str] = []
    after = 0
    while after is not None:
        page = (await client.get(path, params={"after": after, "limit": 2})).json()
        seen += [one["text"] for one in page["messages"]]
        after = page["nextAfter"]

    assert seen == ["0", "1", "2", "3", "4"]


async def test_a_message_gets_another_text_and_keeps_its_calls(client: httpx.AsyncClient) -> None:
    path, messages = await begin(client)

    edited = (await client.patch(f"{path}/{messages[1]['id']}", json={"text": "I look."})).json()
    result = (await client.patch(f"{path}/{messages[2]['id']}", json={"text": "8"})).json()

    assert (edited["text"], edited["revision"]) == ("I look.", 2)
    assert [part["kind"] for part in edited["parts"]] == ["text", "toolCall"]
    assert result["parts"] == [{"kind": "toolResult", "callId": "c1", "content": "8"}]


async def test_a_message_gets_other_parts(client: httpx.AsyncClient) -> None:
    path, messages = await begin(client)
    parts = [{"kind": "text", "text": "Look:"}, {"kind": "image", "url": "https://example.com/kettle.png"}]

    edited = (await client.patch(f"{path}/{messages[0]['id']}", json={"parts": parts})).json()

    assert edited["parts"] == parts


async def test_a_message_is_pinned_and_left_out_in_one_step(client: httpx.AsyncClient) -> None:
    path, messages = await begin(client)
    one = f"{path}/{messages[0]['id']}"

    changed = (await client.patch(one, json={"pinned": True, "meta": {"manualExcluded": True}})).json()
    assert (changed["pinned"], changed["meta"]) == (True, {"manualExcluded": True})
    back = (await client.patch(one, json={"pinned": False, "meta": {"manualExcluded": False}})).json()
    assert (back["pinned"], back["meta"], back["revision"]) == (False, {}, 1)


async def test_a_deleted_message_is_gone(client: httpx.AsyncClient) -> None:
    path, messages = await begin(client)

    assert (await client.delete(f"{path}/{messages[3]['id']}")).status_code == 204
    problem_of(await client.delete(f"{path}/{messages[3]['id']}"), 404, "MESSAGE_NOT_FOUND")
    assert len((await client.get(path)).json()["messages"]) == 3


async def test_the_whole_text_of_what_was_not_shortened_is_its_text(client: httpx.AsyncClient) -> None:
    path, messages = await begin(client)
    whole = (await client.get(f"{path}/{messages[2]['id']}/full-text")).json()

    assert whole == {"id": messages[2]["id"], "text": "7", "shortened": False}
    problem_of(await client.get(f"{path}/nobody/full-text"), 404, "MESSAGE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "name what shall change"),
        ({"text": "a", "parts": [{"kind": "text", "text": "b"}]}, 422, "not both"),
        ({"text": ""}, 400, "text: "),
        ({"text": None}, 400, "text: "),
        ({"pinned": "yes"}, 400, "pinned: "),
        ({"pinned": 1}, 400, "pinned: "),
        ({"parts": []}, 400, "parts: "),
        ({"parts": [{"kind": "song"}]}, 422, "parts[0]: "),
        ({"parts": [{"kind": "text"}]}, 422, "parts[0]: "),
        ({"parts": [{"kind": "text", "text": 1}]}, 422, "parts[0]: "),
        ({"meta": {"manualExcluded": True, "other": 1}}, 400, "no field 'other'"),
        ({"txet": "a"}, 400, "there is no field 'txet'; there are text, parts, pinned, meta, revision"),
    ],
    ids=str,
)
async def test_a_change_that_makes_no_sense_changes_nothing(
    client: httpx.AsyncClient, body: dict[str, Any], status: int, said: str
) -> None:
    path, messages = await begin(client)

    problem = problem_of(await client.patch(f"{path}/{messages[0]['id']}", json=body), status, "INVALID_REQUEST")

    assert said in problem["detail"]
    assert (await client.get(path)).json()["messages"] == messages
