from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fakes.chat_judge import ChatJudge
from trimtab.conformance.generated import chats
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_sdk import Encoded, Message, ProviderCall, ToolSpec

DRIVER = OpenAICompatible()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
FIND = ToolSpec("find")
HI: list[object] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
JUDGE = ChatJudge(extra_keys=("reasoning_content", "reasoning", "extra_content"))
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
EVERY_OPTION: dict[str, object] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "presence_penalty": -1,
    "frequency_penalty": 1.5,
    "seed": 7,
    "stop": ["END", "STOP"],
    "reasoning_effort": "low",
    "verbosity": "high",
    "tool_choice": "auto",
    "user": "harbour",
    "prompt_cache_key": "chat-1",
}


def body_of(messages: list[object] | None = None, **fields: Any) -> dict[str, Any]:
    tools = DRIVER.write_tools(fields.pop("tools", ()), {})
    prompt = fields.pop("prompt", Encoded(HI if messages is None else messages))
    return dict(DRIVER.request(ProviderCall(model="m", prompt=prompt, tools=tuple(tools), **fields)).body)


def test_a_request_is_the_conversation_and_asks_for_a_stream_with_usage() -> None:
    assert body_of() == {
        "model": "m",
        "messages": HI,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert DRIVER.request(ProviderCall(model="m", prompt=Encoded(HI))).path == "chat/completions"


def test_messages_go_out_as_the_objects_they_are() -> None:
    assert all(one is other for one, other in zip(body_of()["messages"], HI, strict=True))


def test_fields_always_stand_in_the_same_order() -> None:
    body = body_of(
        tools=[LOOK],
        max_output_tokens=9,
        response_format={"type": "json_object"},
        options=dict(reversed(EVERY_OPTION.items())),
        settings={"extra_body": {"top_k": 3}},
    )

    assert list(body)[:8] == [
        *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "max_tokens"),
        "response_format",
    ]
    assert list(body)[-1] == "top_k"
    assert json.dumps(body) == json.dumps(
        body_of(
            tools=[LOOK],
            max_output_tokens=9,
            response_format={"type": "json_object"},
            options=EVERY_OPTION,
            settings={"extra_body": {"top_k": 3}},
        )
    )


def test_tools_are_nested_functions_in_the_order_given() -> None:
    assert body_of(tools=[LOOK, FIND])["tools"] == [
        {
            "type": "function",
            "function": {"name": "look", "description": "Look something up.", "parameters": dict(LOOK.parameters)},
        },
        {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}},
    ]


def test_a_schema_of_frozen_values_is_written_as_plain_ones() -> None:
    inner = MappingProxyType({"enum": ("a", "b")})
    frozen = ToolSpec("look", "", MappingProxyType({"type": "object", "properties": {"at": inner}}))

    assert json.dumps(DRIVER.write_tools([frozen], {}))


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_output_limit_has_the_name_that_the_server_knows(field: str) -> None:
    body = body_of(max_output_tokens=100, settings={"max_tokens_field": field})

    assert {key: body[key] for key in body if "max" in key} == {field: 100}


def test_usage_is_not_asked_for_where_the_server_refuses_that() -> None:
    assert "stream_options" not in body_of(settings={"include_usage": False})


def test_what_is_about_tools_is_sent_with_tools_alone() -> None:
    asked: dict[str, Any] = {"options": {"tool_choice": "required"}, "settings": {"parallel_tool_calls": False}}

    assert not {"tool_choice", "parallel_tool_calls", "tools"} & body_of(**asked).keys()
    body = body_of(tools=[LOOK], **asked)
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)


@pytest.mark.parametrize(("role", "other"), [("system", "developer"), ("developer", "system")])
def test_system_texts_have_the_role_that_the_server_knows(role: str, other: str) -> None:
    messages: list[object] = [{"role": other, "content": "Be brief."}, {"role": "user", "content": "hi"}]

    assert body_of(messages, settings={"system_role": role})["messages"][0] == {
        "role": role,
        "content": "Be brief.",
    }
    assert messages[0] == {"role": other, "content": "Be brief."}


def test_neighbours_of_a_role_are_joined_where_a_template_insists() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages: list[object] = [
        {"role": "system", "content": "a"},
        {"role": "system", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "user", "content": [picture]},
        {"role": "assistant", "content": "d", "reasoning_content": "one"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "two",
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": "e"},
        {"role": "tool", "tool_call_id": "x", "content": "f"},
        {"role": "user", "content": "g", "name": "Ann"},
        {"role": "user", "content": "h", "name": "Ben"},
    ]
    before = copy.deepcopy(messages)
    got = body_of(messages, settings={"merge_roles": True})["messages"]

    assert [one["role"] for one in got] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert got[0]["content"] == "a\n\nb"
    assert got[1]["content"] == [{"type": "text", "text": "c"}, picture]
    assert (got[2]["content"], got[2]["reasoning_content"]) == ("d", "one\n\ntwo")
    assert got[2]["tool_calls"] == before[5]["tool_calls"]  # type: ignore[index]
    assert got[5] == {"role": "user", "content": "g\n\nh"}
    assert messages == before


def test_extra_fields_go_before_all_but_the_conversation_itself() -> None:
    extra = {"temperature": 1, "top_k": 3, "messages": [], "model": "x", "stream": False, "tools": []}
    body = body_of(options={"temperature": 0}, settings={"extra_body": extra})

    assert (body["temperature"], body["top_k"]) == (1, 3)
    assert (body["model"], body["messages"], body["stream"]) == ("m", HI, True)
    assert "tools" not in body


def test_a_body_that_was_read_keeps_its_other_fields() -> None:
    read = {
        "model": "old",
        "messages": HI,
        "stream": False,
        "max_tokens": 5,
        "seed": 1,
        "tools": [1],
        "logit_bias": {},
    }
    body = body_of(prompt=Encoded(HI, read), max_output_tokens=9, options={"seed": 2})

    assert (body["model"], body["stream"], body["seed"], body["max_tokens"]) == ("m", True, 2, 9)
    assert body["logit_bias"] == {}
    assert "tools" not in body
    assert read["seed"] == 1


ANSWER = {
    "role": "assistant",
    "content": "x",
    "reasoning_content": "a",
    "reasoning": "b",
    "reasoning_details": [{"data": "c2Vh"}],
    "extra_content": {"seal": "c2Vh"},
}


@pytest.mark.parametrize(
    ("wish", "running", "kept"),
    [
        ("never", True, False),
        ("never", False, False),
        ("running", True, True),
        ("running", False, False),
        ("always", True, True),
        ("always", False, True),
        (None, True, True),
        (None, False, False),
    ],
)
def test_reasoning_is_sent_again_as_the_settings_say(wish: str | None, running: bool, kept: bool) -> None:
    wishes = {} if wish is None else {"send_reasoning": wish}
    before = copy.deepcopy(ANSWER)
    (got,) = DRIVER.recall([ANSWER], model="m", running=running, settings=wishes)

    assert isinstance(got, dict)
    assert ("reasoning" in got, "reasoning_content" in got) == (kept, kept)
    assert (got["reasoning_details"], got["extra_content"]) == (
        ANSWER["reasoning_details"],
        ANSWER["extra_content"],
    )
    assert DRIVER.recall([got], model="m", running=running, settings=wishes) == [got]
    assert before == ANSWER


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens_field": "limit"},
        {"include_usage": "yes"},
        {"send_reasoning": True},
        {"extra_body": {"messages": []}},
        {"extra_body": {"tools": []}},
        {"no_such_setting": 1},
    ],
)
def test_settings_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    assert list(SETTINGS.iter_errors(wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 2.1},
        {"temperature": "hot"},
        {"top_p": -0.1},
        {"stop": []},
        {"stop": ""},
        {"seed": 1.5},
        {"presence_penalty": 3},
        {"reasoning_effort": "very"},
        {"tool_choice": "sometimes"},
        {"tool_choice": {"type": "function"}},
        {"user": ""},
        {"n": 2},
        {"max_tokens": 5},
    ],
)
def test_options_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    assert list(OPTIONS.iter_errors(wrong))


def test_every_option_is_allowed_and_sent() -> None:
    assert list(OPTIONS.iter_errors(EVERY_OPTION)) == []
    body = body_of(options=EVERY_OPTION, tools=[LOOK])
    assert {key: body[key] for key in EVERY_OPTION} == EVERY_OPTION
    assert JUDGE.faults(body) == []


SHAPES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "tools": st.sampled_from([(), (LOOK,), (LOOK, FIND)]),
        "max_output_tokens": st.sampled_from([None, 1, 4096]),
        "response_format": st.sampled_from([None, {"type": "json_object"}]),
        "settings": st.fixed_dictionaries(
            {},
            optional={
                "max_tokens_field": st.sampled_from(["max_tokens", "max_completion_tokens"]),
                "include_usage": st.booleans(),
                "system_role": st.sampled_from(["system", "developer"]),
                "merge_roles": st.booleans(),
                "parallel_tool_calls": st.booleans(),
                "extra_body": st.sampled_from([{}, {"service_tier": "flex"}, {"seed": 1}]),
            },
        ),
        "options": st.fixed_dictionaries({}, optional={key: st.just(one) for key, one in EVERY_OPTION.items()}),
    }
)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(chat=chats(), shape=SHAPES)
def test_a_body_of_any_shape_is_what_the_official_types_allow(chat: Any, shape: dict[str, Any]) -> None:
    assert list(SETTINGS.iter_errors(shape["settings"])) == []
    assert list(OPTIONS.iter_errors(shape["options"])) == []
    messages: tuple[Message, ...] = chat.messages
    codec = ChatCompletions()
    adapted = codec.adapt(messages, None, protected=())
    if adapted.messages:
        assert JUDGE.faults(body_of(prompt=codec.encode(adapted.messages), **shape)) == []


def test_the_judge_finds_a_message_too_many() -> None:
    assert JUDGE.faults(body_of([*HI, {"role": "tool", "tool_call_id": "gone", "content": "x"}]))
