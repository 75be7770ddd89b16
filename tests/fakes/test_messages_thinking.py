"""Thinking comes back to the fake Messages server as it was made and where it was made, or not at all."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from fakes.messages_clients import (
    MODEL,
    TOOL,
    ask_once,
    assistant,
    body_with,
    call_in,
    error_of,
    post,
    result_of,
    sent_back,
    user,
)
from fakes.messages_server import CONTROLS, Json, MessagesServer, ask, echo, redacted, thought

ENABLED: Json = {"type": "enabled", "budget_tokens": 1024}
KEYS: Json = {"tools": [TOOL], "thinking": ENABLED, "max_tokens": 2000}


def talk(server: MessagesServer, **keys: Json) -> list[Json]:
    """Let a tool be called in the second turn, and give the whole conversation as it is sent again."""
    keys = {**KEYS, **keys}
    server.say(thought("Hm."), redacted(), "I look.")
    server.say(thought("So."), "Again.", thought("Yes."), ask("lookup", {"id": 3}))
    before = [user("a")]
    first = ask_once(server.base_url, *before, **keys)
    before += [sent_back(first), user("b")]
    second = ask_once(server.base_url, *before, **keys)
    return copy.deepcopy([*before, sent_back(second), user(result_of(call_in(second)))])


def refusal(server: MessagesServer, messages: list[Json], **keys: Json) -> str:
    status, kind, message = error_of(server.base_url, body_with(*messages, **{**KEYS, **keys}))
    assert (status, kind) == (400, "invalid_request_error")
    return message


def stripped(messages: list[Json]) -> list[Json]:
    kinds = ("thinking", "redacted_thinking")
    return [
        {**one, "content": [part for part in one["content"] if isinstance(part, str) or part["type"] not in kinds]}
        if one["role"] == "assistant"
        else one
        for one in messages
    ]


def test_thinking_that_comes_back_unchanged_is_taken() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        marked = copy.deepcopy(messages)
        marked[0]["content"] = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
        ask_once(server.base_url, *messages, **KEYS)
        ask_once(server.base_url, *marked, **KEYS)
        assert server.view(3).text.count('"thinking"') >= 3
        assert server.view(4).messages == server.view(3).messages
        assert server.faults == []


@pytest.mark.parametrize("at", [0, 20, -10])
def test_an_altered_signature_is_refused(at: int) -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        block = messages[1]["content"][0]
        altered = bytearray(base64.b64decode(block["signature"]))
        altered[at] ^= 1
        block["signature"] = base64.b64encode(altered).decode()
        assert refusal(server, messages) == "messages.1.content.0: Invalid `signature` in `thinking` block"
        assert len(server.faults) == 1


def test_altered_thinking_is_refused_and_the_latest_has_a_sentence_of_its_own() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        latest = copy.deepcopy(messages)
        latest[3]["content"][0]["thinking"] += "!"
        assert "in the latest assistant message cannot be modified" in refusal(server, latest)
        messages[1]["content"][0]["thinking"] += "!"
        assert "Invalid `signature` in `thinking` block" in refusal(server, messages)


def test_altered_redacted_thinking_is_refused() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        messages[1]["content"][1]["data"] = "ZGF0YQ=="
        assert "Invalid `data` in `redacted_thinking` block" in refusal(server, messages)


def moved(messages: list[Json]) -> list[Json]:
    blocks = messages[3]["content"]
    blocks[1], blocks[2] = blocks[2], blocks[1]
    return messages


def with_other_words(messages: list[Json]) -> list[Json]:
    messages[0] = user("other words")
    return messages


def without_the_older_thought(messages: list[Json]) -> list[Json]:
    del messages[1]["content"][0]
    return messages


def without_the_first_turn(messages: list[Json]) -> list[Json]:
    return messages[2:]


CHANGES: dict[str, Any] = {
    "moved": moved,
    "edited": with_other_words,
    "an older thought gone": without_the_older_thought,
    "a turn gone": without_the_first_turn,
}


@pytest.mark.parametrize("name", CHANGES)
def test_thinking_behind_another_prefix_is_refused(name: str) -> None:
    with MessagesServer(echo()) as server:
        message = refusal(server, CHANGES[name](talk(server)))
        assert "The block is bound to a different conversation" in message
        assert "The messages before it differ" in message


def test_another_system_prompt_and_other_tools_are_another_prefix() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        assert "The `system` prompt differs" in refusal(server, messages, system="s")
        assert "The `tools` differ" in refusal(server, messages, tools=[{**TOOL, "name": "look"}])


def test_a_history_stripped_of_all_thinking_is_taken() -> None:
    with MessagesServer(echo()) as server:
        messages = stripped(talk(server))
        ask_once(server.base_url, *messages, system="another", tools=[TOOL])
        ask_once(server.base_url, *messages, tools=[TOOL], thinking={"type": "adaptive"})
        assert server.faults == []


def test_an_open_loop_must_begin_with_a_thought_when_thinking_is_enabled() -> None:
    with MessagesServer(echo()) as server:
        messages = stripped(talk(server))
        assert "Expected `thinking` or `redacted_thinking`, but found `text`" in refusal(server, messages)
        assert ask_once(server.base_url, *messages, assistant("yes"), user("c"), **KEYS)
    with MessagesServer(echo(), loop_thinking=("enabled", "adaptive")) as server:
        messages = stripped(talk(server))
        assert "Expected `thinking`" in refusal(server, messages, thinking={"type": "adaptive"})


def test_a_call_gets_its_thought_and_the_rest_of_the_loop_none() -> None:
    with MessagesServer() as server:
        server.call(("lookup", {"id": 3}))
        server.call(("lookup", {"id": 4}))
        first = ask_once(server.base_url, user("a"), **KEYS)
        messages = [user("a"), sent_back(first), user(result_of(call_in(first)))]
        second = ask_once(server.base_url, *messages, **KEYS)
        assert [block["type"] for block in first["content"]] == ["thinking", "tool_use"]
        assert [block["type"] for block in second["content"]] == ["tool_use"]
        server.say("Done.")
        ask_once(server.base_url, *messages, sent_back(second), user(result_of(call_in(second))), **KEYS)
        assert server.faults == []


def test_thinking_may_be_omitted_or_disabled() -> None:
    with MessagesServer() as server:
        for _ in range(2):
            server.say(thought("Hm."), "a")
        omitted = ask_once(server.base_url, user("a"), thinking={"type": "adaptive", "display": "omitted"})
        assert omitted["content"][0]["thinking"] == ""
        server.say("b")
        ask_once(server.base_url, user("a"), sent_back(omitted), user("b"))
        disabled = ask_once(server.base_url, user("a"), thinking={"type": "disabled"})
        assert disabled["content"] == [{"type": "text", "text": "b"}]
        assert server.faults == []


def test_keys_that_are_rotated_make_old_thinking_stale_and_that_is_no_fault() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        server.rotate_keys()
        assert "Invalid `signature` in `thinking` block" in refusal(server, messages)
        assert server.faults == []
        ask_once(server.base_url, *stripped(messages), tools=[TOOL])


def test_thinking_of_another_model_is_dropped_silently() -> None:
    with MessagesServer(echo()) as server:
        messages = talk(server)
        answer = post(server.base_url, body_with(*messages, **{**KEYS, "model": "claude-sonnet-5-5"})).json()
        assert "input_transformations" not in answer
        assert {drop["reason"] for drop in server.view(3).dropped} == {"model_binding_mismatch"}
        assert '"thinking"' not in server.view(3).text
        assert server.faults == []


def test_a_request_may_ask_for_thinking_behind_another_prefix_to_be_dropped() -> None:
    with MessagesServer(echo()) as server:
        messages = with_other_words(talk(server))
        binding = {"prefix_mismatch_behavior": "drop_block"}
        body = body_with(*messages, **{**KEYS, "thinking": {**ENABLED, "block_binding": binding}})
        answer = post(server.base_url, body, anthropic_beta=CONTROLS).json()
        assert [one["path"] for one in answer["input_transformations"]] == [
            "messages.1.content.0",
            "messages.1.content.1",
            "messages.3.content.0",
            "messages.3.content.2",
        ]
        assert server.faults == []
        assert error_of(server.base_url, body)[0] == 400
        assert error_of(server.base_url, body, anthropic_beta="other-2026-01-01")[0] == 400
        assert len(server.faults) == 2


def test_older_accounts_have_nothing_bound() -> None:
    with MessagesServer(echo(), binding="allow") as server:
        ask_once(server.base_url, *with_other_words(talk(server)), **KEYS)
        assert server.view(3).dropped == []
        assert server.faults == []
    with MessagesServer(echo(), binding="drop") as server:
        ask_once(server.base_url, *with_other_words(talk(server)), **KEYS)
        assert len(server.view(3).dropped) == 4


def test_another_server_cannot_tell_whose_signature_it_is() -> None:
    with MessagesServer(echo()) as one, MessagesServer(echo()) as other:
        messages = talk(one)
        ask_once(other.base_url, *messages, **KEYS)
        assert other.view(1).model == MODEL
        assert other.faults == []
