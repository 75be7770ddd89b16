from __future__ import annotations

from typing import Literal

import pytest

from fakes.chat_clients import USER, body_with, chunks_of, client_of, post, text_of_chunks
from fakes.chat_refusals import refusal
from fakes.chat_replies import Json, thought
from fakes.chat_server import ChatServer
from fakes.deepseek_rules import (
    DEEPSEEK_REFUSALS,
    MISSING,
    UNWANTED,
    DeepSeekJudge,
    blank_lines,
    cached,
    queued,
)

V4, R1 = DeepSeekJudge(), DeepSeekJudge("r1")
RESULT: Json = {"role": "tool", "tool_call_id": "c1", "content": "six"}


def calling(**fields: Json) -> Json:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **fields}


def said(**fields: Json) -> Json:
    return {"role": "assistant", "content": "Six.", **fields}


def faults(judge: DeepSeekJudge, *messages: Json, **keys: Json) -> list[str]:
    return [wrong.message for wrong in judge.faults(body_with(USER, *messages, **keys))]


@pytest.mark.parametrize("reasoning", ["", "I look."])
def test_answers_of_a_turn_with_calls_pass_with_their_reasoning_even_an_empty_one(reasoning: str) -> None:
    turn = [calling(reasoning_content=reasoning), RESULT, said(reasoning_content=reasoning)]

    assert faults(V4, *turn) == []
    assert faults(V4, *turn, USER) == []


def test_an_answer_of_a_turn_with_calls_is_refused_without_reasoning_also_when_the_turn_is_over() -> None:
    assert faults(V4, calling(), RESULT) == [MISSING]
    assert faults(V4, calling(reasoning_content=""), RESULT, said(), USER) == [MISSING]


def test_turns_without_calls_and_requests_that_do_not_think_need_no_reasoning() -> None:
    assert faults(V4, said(), USER, said(reasoning_content="Hm."), USER) == []
    assert faults(V4, calling(), RESULT, thinking={"type": "disabled"}) == []


def test_the_older_rule_refuses_reasoning_of_a_turn_that_is_over() -> None:
    turn = [calling(reasoning_content="I look."), RESULT]

    assert faults(R1, *turn) == []
    assert faults(R1, calling(), RESULT) == [MISSING]
    assert faults(R1, *turn, said(), USER) == [UNWANTED]
    assert faults(R1, calling(), RESULT, said(), USER) == []


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"thinking": {"type": "auto"}}, "thinking"),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, "thinking"),
        ({"reasoning_effort": "none"}, "reasoning_effort"),
        ({"user_id": "x" * 513}, "user_id"),
        ({"top_k": 3}, "body"),
    ],
)
def test_fields_that_are_wrong_are_refused(keys: Json, place: str) -> None:
    (fault,) = faults(V4, **keys)

    assert fault.startswith(place)


def test_all_fields_of_its_own_pass() -> None:
    assert faults(V4, thinking={"type": "enabled"}, reasoning_effort="ultra", user_id="u-1") == []


def test_a_developer_is_nobody_it_knows() -> None:
    assert faults(V4, {"role": "developer", "content": "Be brief."}) == [
        "messages[1].role: unknown variant `developer`"
    ]


def test_the_official_client_reads_a_stream_that_had_to_wait() -> None:
    with ChatServer(judge=V4) as server:
        server.say(*queued(3), thought("Hm."), "Three.", usage=cached(hit=64, miss=8))
        chunks = chunks_of(server.base_url, stream_options={"include_usage": True})

    assert text_of_chunks(chunks) == "Three."
    assert [chunk.choices[0].delta.model_extra for chunk in chunks if chunk.choices][1] == {
        "reasoning_content": "Hm."
    }
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.model_extra == {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 8}
    assert server.faults == []


def test_the_official_client_reads_an_answer_behind_blank_lines() -> None:
    with ChatServer(judge=V4) as server, client_of(server.base_url) as client:
        server.say(blank_lines(), "Three.")
        answer = client.chat.completions.create(model="m", messages=[USER])

    assert answer.choices[0].message.content == "Three."


@pytest.mark.parametrize("generation", ["r1", "v4"])
def test_a_server_refuses_what_its_judge_refuses(generation: Literal["r1", "v4"]) -> None:
    with ChatServer(judge=DeepSeekJudge(generation)) as server:
        got = post(server.base_url, body_with(USER, calling(), RESULT))

    assert got.status_code == 400
    assert got.json()["error"] == {
        "message": MISSING,
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_request_error",
    }
    assert server.faults == [f"request 1: {MISSING}"]


def test_its_refusals_have_its_statuses() -> None:
    with ChatServer(judge=V4) as server:
        server.reply(*(refusal(kind, kinds=DEEPSEEK_REFUSALS) for kind in ("balance", "unprocessable")))
        got = [post(server.base_url, body_with()).status_code for _ in range(2)]

    assert got == [402, 422]
