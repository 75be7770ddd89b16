from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from fakes.deepseek_rules import DeepSeekJudge
from trimtab.conformance.corpus import Chat
from trimtab.conformance.generated import chats
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.providers.deepseek import DeepSeek
from trimtab_sdk import Encoded, ProviderCall, ToolSpec

DRIVER = DeepSeek()
CODEC = ChatCompletions()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
V4, R1 = DeepSeekJudge(), DeepSeekJudge("r1")
SYSTEM: dict[str, Any] = {"role": "system", "content": "Be brief."}
USER: dict[str, Any] = {"role": "user", "content": "hi"}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "c1", "content": "six"}
EVERY_OPTION: dict[str, object] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "presence_penalty": -1,
    "frequency_penalty": 1.5,
    "stop": ["END"],
    "thinking": "enabled",
    "reasoning_effort": "max",
    "tool_choice": "auto",
    "user_id": "user-7",
}


def calling(**fields: object) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, **fields, "tool_calls": [call]}


def said(**fields: object) -> dict[str, Any]:
    return {"role": "assistant", "content": "Six.", **fields}


def body_of(*messages: object, model: str = "deepseek-flash", **fields: Any) -> dict[str, Any]:
    tools = tuple(DRIVER.write_tools(fields.pop("tools", ()), {}))
    prompt = Encoded(list(messages or (SYSTEM, USER)))
    return dict(DRIVER.request(ProviderCall(model=model, prompt=prompt, tools=tools, **fields)).body)


def recalled(*items: object, model: str, running: bool = False, **fields: object) -> list[object]:
    return DRIVER.recall(items, model=model, running=running, settings=fields)


def test_a_request_is_the_conversation_and_leaves_thinking_to_the_server() -> None:
    assert body_of() == {
        "model": "deepseek-flash",
        "messages": [SYSTEM, USER],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert DRIVER.request(ProviderCall(model="m", prompt=Encoded([USER]))).path == "chat/completions"


def test_a_request_with_everything_is_what_the_server_takes() -> None:
    OPTIONS.validate(EVERY_OPTION)
    SETTINGS.validate({"thinking": "disabled", "generation": "v4", "user_id": "u", "extra_body": {"a": 1}})
    body = body_of(
        *(SYSTEM, USER, calling(), RESULT),
        tools=[LOOK],
        max_output_tokens=4096,
        response_format={"type": "json_object"},
        options=EVERY_OPTION,
    )

    assert V4.faults(body) == []
    assert body["max_tokens"] == 4096
    assert (body["thinking"], body["reasoning_effort"], body["user_id"]) == ({"type": "enabled"}, "max", "user-7")


@pytest.mark.parametrize(
    ("settings", "options", "thinking", "effort"),
    [
        ({}, {}, None, None),
        ({"thinking": "disabled"}, {}, "disabled", None),
        ({"thinking": "disabled", "reasoning_effort": "max"}, {}, "disabled", None),
        ({"thinking": "disabled"}, {"thinking": "enabled"}, "enabled", None),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "xhigh"}, None, "high"),
        ({"thinking": "enabled"}, {"reasoning_effort": "none"}, "disabled", None),
        ({"reasoning_effort": "none"}, {"thinking": "enabled"}, "enabled", None),
        ({}, {"reasoning_effort": "minimal"}, None, "low"),
        ({}, {"reasoning_effort": "ultra"}, None, "max"),
    ],
)
def test_a_chat_goes_before_its_endpoint_in_how_the_model_thinks(
    settings: dict[str, object], options: dict[str, object], thinking: str | None, effort: str | None
) -> None:
    body = body_of(settings=settings, options=options)

    assert body.get("thinking") == (None if thinking is None else {"type": thinking})
    assert body.get("reasoning_effort") == effort
    assert V4.faults(body) == []


def test_further_fields_of_an_endpoint_go_before_all_others() -> None:
    body = body_of(settings={"thinking": "enabled", "extra_body": {"thinking": {"type": "disabled"}, "top_k": 3}})

    assert (body["thinking"], body["top_k"]) == ({"type": "disabled"}, 3)
    assert not SETTINGS.is_valid({"extra_body": {"messages": []}})


def test_a_developer_is_a_system_here() -> None:
    assert body_of({"role": "developer", "content": "Be brief."}, USER)["messages"] == [SYSTEM, USER]


@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro", "deepseek-v4-flash", "some-model"])
@pytest.mark.parametrize("running", [True, False])
def test_since_v4_an_answer_goes_back_as_it_came(model: str, running: bool) -> None:
    items = [calling(reasoning_content="I look."), said(reasoning_content="")]

    assert recalled(*items, model=model, running=running) == items


@pytest.mark.parametrize(
    "model", ["deepseek-reasoner", "deepseek-chat", "deepseek-ai/DeepSeek-R1-0528", "deepseek-v3.2"]
)
def test_models_of_the_time_of_r1_get_reasoning_back_while_the_turn_runs(model: str) -> None:
    items = [calling(reasoning_content="I look."), said(reasoning_content="Six it is.")]

    assert recalled(*items, model=model, running=True) == items
    assert recalled(*items, model=model) == [calling(), said()]


def test_an_endpoint_may_say_whose_rule_holds() -> None:
    item = said(reasoning_content="Hm.")

    assert recalled(item, model="deepseek-reasoner", generation="v4") == [item]
    assert recalled(item, model="deepseek-flash", generation="r1") == [said()]


def test_turns_with_calls_get_an_empty_reasoning_where_they_have_none() -> None:
    foreign = [USER, calling(), RESULT, said(), USER, said(), USER]
    sent = body_of(*foreign)["messages"]

    assert sent == [
        *(USER, calling(reasoning_content=""), RESULT, said(reasoning_content="")),
        *(USER, said(), USER),
    ]
    assert list(sent[1]) == ["role", "content", "tool_calls", "reasoning_content"]
    assert V4.faults(body_of(*foreign, tools=[LOOK])) == []


def test_reasoning_that_is_there_stays_and_its_messages_are_the_same_objects() -> None:
    messages = [USER, calling(reasoning_content=""), RESULT, said(reasoning_content="Six it is."), USER]
    sent = body_of(*messages)["messages"]

    assert all(one is other for one, other in zip(sent, messages, strict=True))


def test_nothing_is_added_where_nobody_thinks_or_for_models_of_the_time_of_r1() -> None:
    messages = [USER, calling(), RESULT]

    assert body_of(*messages, settings={"thinking": "disabled"})["messages"] == messages
    assert body_of(*messages, settings={"extra_body": {"thinking": {"type": "disabled"}}})["messages"] == messages
    assert body_of(*messages, model="deepseek-reasoner")["messages"] == messages


def test_a_running_turn_of_r1_that_thought_has_reasoning_with_every_call() -> None:
    former = [USER, calling(), RESULT, said()]
    running = [USER, calling(reasoning_content="I look."), RESULT, calling(), RESULT]
    body = body_of(*former, *running, model="deepseek-reasoner", tools=[LOOK])

    assert body["messages"] == [*former, *running[:3], calling(reasoning_content=""), RESULT]
    assert [fault.message for fault in R1.faults(body) if "reasoning" in fault.message] == []


@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-reasoner"])
def test_every_request_of_a_chat_keeps_the_rule_of_its_model(model: str) -> None:
    judge = R1 if model == "deepseek-reasoner" else V4
    first = [calling(reasoning_content="I look."), said(reasoning_content="Six it is.")]
    running = recalled(first[0], model=model, running=True)
    later = [one for item in first for one in recalled(item, model=model)]

    assert judge.faults(body_of(USER, *running, RESULT, model=model, tools=[LOOK])) == []
    assert judge.faults(body_of(USER, later[0], RESULT, later[1], USER, model=model, tools=[LOOK])) == []


def test_what_is_sent_first_stays_byte_for_byte_while_a_chat_grows() -> None:
    messages: list[object] = [SYSTEM]
    before = ""
    for at in range(20):
        answer = said(reasoning_content=f"thought {at}")
        turn = [USER, calling(), RESULT, answer] if at % 3 == 0 else [USER, answer]
        messages += turn
        sent = json.dumps(body_of(*messages, tools=[LOOK])["messages"])
        assert sent.startswith(before.removesuffix("]"))
        before = sent


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chats())
def test_a_history_of_anybody_is_taken_and_left_as_it_is(chat: Chat) -> None:
    adapted = CODEC.adapt(chat.messages, None, protected=())
    if not adapted.messages:
        return
    prompt = CODEC.encode(adapted.messages)
    call = ProviderCall(model="deepseek-v4-pro", prompt=prompt)
    before = copy.deepcopy(prompt)
    body = dict(DRIVER.request(call).body)

    assert prompt == before
    assert V4.faults(body) == []


@pytest.mark.parametrize(
    "options",
    [{"seed": 7}, {"verbosity": "low"}, {"reasoning_effort": "long"}, {"thinking": True}, {"user_id": "x" * 513}],
)
def test_options_that_the_server_does_not_have_are_refused(options: dict[str, object]) -> None:
    assert not OPTIONS.is_valid(options)
