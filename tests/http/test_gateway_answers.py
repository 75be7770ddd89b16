"""The gateway answers the official client of OpenAI: whole and in streams, with tools, formats and pictures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.chat_replies import ask, thought
from gateway_helpers import HELLO, STOCK, gateway_to, long_talk, text_of
from turns.six_helpers import PIXEL, SIX


def test_a_question_is_answered_and_the_headers_tell_the_account(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        gate.fake.say("Sev", "en.")
        raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO)
        answer = raw.parse()

    assert answer.object == "chat.completion"
    assert answer.model == "gpt-4o"
    choice = answer.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Seven.", "stop")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert raw.headers["x-trimtab-tokens-before"] == raw.headers["x-trimtab-tokens-after"]
    assert raw.headers["x-trimtab-limit"] == "128000"
    assert raw.headers["x-trimtab-strategy"] == "truncate"
    assert [raw.headers[f"x-trimtab-{key}"] for key in ("excluded", "truncated", "inserted")] == ["0"] * 3
    assert gate.asked["messages"] == HELLO


def test_a_stream_ends_with_the_account_and_done(place: str) -> None:
    with gateway_to(place) as gate:
        gate.fake.say("Sev", "en.")
        with gate.running.client() as client:
            body = {"model": "gpt-4o", "messages": HELLO, "stream": True}
            answer = client.post("/v1/chat/completions", json=body)
        gate.fake.say("Sev", "en.")
        with gate.client() as client:
            chunks = list(
                client.chat.completions.create(
                    model="gpt-4o", messages=HELLO, stream=True, stream_options={"include_usage": True}
                )
            )

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-trimtab-strategy"] == "truncate"
    frames = answer.text.strip().split("\n\n")
    assert frames[-1] == "data: [DONE]"
    account = json.loads(frames[-2].removeprefix(": trimtab "))
    assert (account["provider"], account["model"], account["excluded"]) == ("openai-compatible", "gpt-4o", [])
    assert account["tokensAfter"] == int(answer.headers["x-trimtab-tokens-after"])
    assert text_of(chunks) == "Seven."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert (chunks[-1].choices, chunks[-1].usage is None) == ([], False)
    assert len({chunk.id for chunk in chunks}) == 1


def test_what_leaves_is_told_with_its_reason(place: str) -> None:
    gateway = {"context": {"context_limit": 900, "reserve": 100}}
    with gateway_to(place, gateway=gateway) as gate, gate.running.client() as client:
        gate.fake.say("Fine.")
        body = {"model": "gpt-4o", "messages": long_talk(30), "stream": True}
        answer = client.post("/v1/chat/completions", json=body)

    account = json.loads(answer.text.strip().split("\n\n")[-2].removeprefix(": trimtab "))
    assert {one["reason"] for one in account["excluded"]} == {"context-shift"}
    assert len(account["excluded"]) == int(answer.headers["x-trimtab-excluded"]) > 0
    assert account["tokensBefore"] > 800 >= account["tokensAfter"] == int(answer.headers["x-trimtab-tokens-after"])
    assert len(gate.asked["messages"]) == 62 - len(account["excluded"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SIX)
def test_every_provider_makes_parallel_calls_and_takes_their_results(name: str, stream: bool, place: str) -> None:
    with gateway_to(place, name) as gate, gate.client() as client:
        gate.fake.say("I look.", ask("stock", {"article": "kettle"}), ask("stock", {"article": "pot"}))
        asked: dict[str, Any] = {"model": gate.model, "messages": HELLO, "tools": [STOCK]}
        message, finish = said(client, stream, asked)
        assert finish == "tool_calls"
        assert message["content"] == "I look."
        calls = message["tool_calls"]
        assert [json.loads(call["function"]["arguments"])["article"] for call in calls] == ["kettle", "pot"]
        assert len({call["id"] for call in calls}) == 2
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": str(at)} for at, call in enumerate(calls, 7)
        ]
        gate.fake.say("Seven and eight.")
        after, finish = said(client, stream, {**asked, "messages": [*HELLO, message, *reversed(results)]})
        assert (after["content"], finish) == ("Seven and eight.", "stop")


def said(client: Any, stream: bool, asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The message and the finish reason of an answer, as the client gives them back in the next request."""
    if not stream:
        choice = client.chat.completions.create(**asked).choices[0]
        return choice.message.model_dump(exclude_none=True), choice.finish_reason
    with client.chat.completions.stream(**asked) as events:
        for _ in events:
            pass
        choice = events.get_final_completion().choices[0]
    message = choice.message.model_dump(exclude_none=True)
    message.pop("parsed", None)
    for call in message.get("tool_calls", ()):
        call["function"].pop("parsed_arguments", None)
    return message, choice.finish_reason


@pytest.mark.parametrize("name", SIX)
def test_pictures_reach_every_provider(name: str, place: str) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    with gateway_to(place, name) as gate, gate.client() as client:
        gate.fake.say("A pixel.")
        answer = client.chat.completions.create(model="fast", messages=[{"role": "user", "content": parts}])
        assert answer.choices[0].message.content == "A pixel."
        assert PIXEL in gate.fake.requests[-1].raw.decode()
        assert answer.model == gate.model


@pytest.mark.parametrize("name", ["openai", "anthropic", "openai-compatible"])
def test_a_picture_by_its_address_is_passed_on(name: str, place: str) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    with gateway_to(place, name) as gate, gate.client() as client:
        gate.fake.say("A cup.")
        client.chat.completions.create(model=gate.model, messages=[{"role": "user", "content": parts}])
        assert "https://example.com/a.png" in gate.fake.requests[-1].raw.decode()


@pytest.mark.parametrize("name", SIX)
def test_an_answer_is_bound_to_a_schema(name: str, place: str) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"left": {"type": "integer"}}, "required": ["left"]}
    schema["additionalProperties"] = False
    form: Any = {"type": "json_schema", "json_schema": {"name": "count", "schema": schema}}
    with gateway_to(place, name) as gate, gate.client() as client:
        gate.fake.say('{"left": 7}')
        answer = client.chat.completions.create(model=gate.model, messages=HELLO, response_format=form)
        assert json.loads(answer.choices[0].message.content or "") == {"left": 7}
        assert '"left"' in gate.fake.requests[-1].raw.decode()


def test_a_json_object_is_asked_for(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        gate.fake.say("{}")
        client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "user", "content": "As JSON."}],
            response_format={"type": "json_object"},
        )
        assert gate.asked["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_that_is_shown_comes_as_reasoning_content(place: str, stream: bool) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        gate.fake.say(thought("Hm, "), thought("so."), "Seven.")
        asked: dict[str, Any] = {"model": "gpt-4o", "messages": HELLO}
        if stream:
            chunks = list(client.chat.completions.create(**asked, stream=True))
            told = [chunk.choices[0].delta.model_dump().get("reasoning_content") for chunk in chunks]
            assert "".join(filter(None, told)) == "Hm, so."
            assert text_of(chunks) == "Seven."
        else:
            message = client.chat.completions.create(**asked).choices[0].message
            assert (message.content, message.model_dump()["reasoning_content"]) == ("Seven.", "Hm, so.")


def test_an_answer_that_was_cut_off_says_so(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        gate.fake.say("Sev", finish="length")
        answer = client.chat.completions.create(model="gpt-4o", messages=HELLO, max_completion_tokens=1)
        assert answer.choices[0].finish_reason == "length"
        assert gate.asked["max_tokens"] == 1


@pytest.mark.anyio
async def test_the_asynchronous_client_is_answered_too(place: str) -> None:
    with gateway_to(place) as gate:
        async with gate.async_client() as client:
            gate.fake.say("Sev", "en.")
            stream = await client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
            assert text_of([chunk async for chunk in stream]) == "Seven."
            gate.fake.say("Seven.")
            whole = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
            assert whole.choices[0].message.content == "Seven."


@pytest.mark.parametrize("name", SIX)
def test_what_steers_the_model_is_put_in_the_words_of_each_provider(name: str, place: str) -> None:
    strict: Any = {**STOCK, "function": {**STOCK["function"], "strict": True}}
    strict["function"]["parameters"] = {**STOCK["function"]["parameters"], "additionalProperties": False}
    choice: Any = {"type": "function", "function": {"name": "stock"}}
    with gateway_to(place, name) as gate, gate.client() as client:
        gate.fake.say(ask("stock", {"article": "kettle"}))
        raw = client.chat.completions.with_raw_response.create(
            model=gate.model,
            messages=HELLO,
            tools=[strict],
            tool_choice=choice,
            parallel_tool_calls=True,
            prompt_cache_key="kitchen",
            reasoning_effort="low",
            user="ann",
        )
        sent = gate.fake.requests[-1].raw.decode()
        left = set(filter(None, raw.headers.get("x-trimtab-left-out", "").split(",")))
    assert "stock" in str(
        json.loads(sent).get("tool_choice") or json.loads(sent)["generation_config"]["tool_choice"]
    )
    assert ("prompt_cache_key" in left) == (name not in ("openai", "openai-compatible"))
    assert ('"strict":true' in sent.replace(" ", "")) == (
        name in ("openai", "chatgpt", "openai-compatible", "deepseek")
    )
    assert "reasoning_effort" not in left


def test_the_models_are_listed(place: str) -> None:
    with gateway_to(place, "openai") as gate, gate.client() as client:
        listed = {model.id: model for model in client.models.list()}
        assert {"fast", "gpt-5"} <= listed.keys()
        assert listed["fast"].owned_by == "openai"
        assert listed["gpt-5"].model_dump()["context_length"] > 100_000
        assert client.models.retrieve("fast").id == "fast"
