from __future__ import annotations

import copy
import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from fakes.chatgpt_server import ALLOWED
from providers.responses_streams import call, message, reasoning
from responses_judge import type_faults
from trimtab.conformance.corpus import Chat
from trimtab.conformance.generated import chats
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_plugins.providers import chatgpt_request
from trimtab_plugins.providers.chatgpt import ChatGPT
from trimtab_sdk import ConfigError, Encoded, InvalidRequestError, ProviderCall, ToolSpec

DRIVER = ChatGPT()
CODEC = OpenAIResponses()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
ON: dict[str, object] = {"accept_unofficial_api": True}
USER: dict[str, Any] = {"type": "message", "role": "user", "content": "hi"}
BRIEF = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
RESULT: dict[str, Any] = {"type": "function_call_output", "call_id": "call_1", "output": "six"}
EVERY_SETTING: dict[str, object] = {
    **ON,
    "account_id": "acc-1",
    "originator": "harbour",
    "instructions": "You are a client.",
    "reasoning_summary": "concise",
    "service_tier": "default",
    "prompt_cache": True,
}
EVERY_OPTION: dict[str, object] = {
    "reasoning_effort": "low",
    "verbosity": "high",
    "tool_choice": "look",
    "parallel_tool_calls": False,
    "service_tier": "priority",
}


def asked(*items: object, **fields: Any) -> ProviderCall:
    said = list(items or [USER])
    prompt = fields.pop("prompt", Encoded(said, {"instructions": "Be brief.", "input": said}))
    tools = tuple(DRIVER.write_tools(fields.pop("tools", ()), {}))
    settings = fields.pop("settings", ON)
    return ProviderCall(model="gpt-6-sol", prompt=prompt, tools=tools, settings=settings, **fields)


def body_of(*items: object, **fields: Any) -> dict[str, Any]:
    return dict(DRIVER.request(asked(*items, **fields)).body)


@pytest.mark.parametrize("settings", [{}, {"accept_unofficial_api": False}, {"accept_unofficial_api": "true"}])
def test_it_is_off_unless_an_endpoint_says_in_so_many_words_that_it_wants_it(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"off: its server has no public API.*accept_unofficial_api = true"):
        DRIVER.request(asked(settings=settings))
    assert not SETTINGS.is_valid(settings)
    assert SETTINGS.is_valid(ON)


def test_it_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    chatgpt_request._warn.cache_clear()
    with caplog.at_level(logging.WARNING, "trimtab.providers.chatgpt"):
        for _ in range(3):
            body_of()

    (record,) = caplog.records
    assert "a server without a public API" in record.getMessage()


def test_a_request_is_the_whole_conversation_for_a_server_that_keeps_nothing() -> None:
    assert body_of() == {
        "model": "gpt-6-sol",
        "instructions": "Follow the developer's instructions in this conversation.",
        "input": [BRIEF, USER],
        "reasoning": {"summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
    }
    assert DRIVER.request(asked()).path == "responses"


@pytest.mark.parametrize(
    "fields", [{"cursor": "resp_1", "keep": True, "compact_at": 9}, {"max_output_tokens": 99}]
)
def test_nothing_that_the_server_refuses_goes_out_whatever_is_asked(fields: dict[str, Any]) -> None:
    assert body_of(**fields) == body_of()


def test_a_request_with_everything_has_only_keys_of_the_official_client() -> None:
    SETTINGS.validate(EVERY_SETTING)
    OPTIONS.validate(EVERY_OPTION)
    body = body_of(
        tools=[LOOK],
        max_output_tokens=99,
        response_format={"type": "json_object"},
        settings=EVERY_SETTING,
        options=EVERY_OPTION,
        conversation="chat-1",
    )

    assert body.keys() == ALLOWED
    assert type_faults(body) == []
    assert body["instructions"] == "You are a client."
    assert body["reasoning"] == {"effort": "low", "summary": "concise"}
    assert body["text"] == {"format": {"type": "json_object"}, "verbosity": "high"}
    assert body["tool_choice"] == {"type": "function", "name": "look"}
    assert (body["service_tier"], body["prompt_cache_key"]) == ("priority", "chat-1")


def test_fields_of_a_body_that_was_read_go_out_only_where_the_server_takes_them() -> None:
    read = {"input": [USER], "temperature": 0.2, "metadata": {"a": "b"}, "user": "u", "truncation": "auto"}

    assert body_of(prompt=Encoded([USER], read)).keys() <= ALLOWED


def test_every_system_text_is_said_by_the_developer() -> None:
    late = {"type": "message", "role": "system", "content": "Later."}
    sent = body_of(USER, late, USER)["input"]

    assert [item["role"] for item in sent] == ["developer", "user", "developer", "user"]
    assert sent[2] == {**late, "role": "developer"}
    assert sent[1] is USER


def test_without_a_system_text_there_is_no_message_of_the_developer() -> None:
    assert body_of(prompt=Encoded([USER], {"input": [USER]}))["input"] == [USER]
    assert body_of(prompt=Encoded([USER]))["input"] == [USER]


def test_a_text_is_made_a_list_of_one_message() -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}

    assert body_of(prompt=Encoded([USER], {"input": "hi"}))["input"] == [said]


@pytest.mark.parametrize("running", [True, False])
def test_answers_go_back_with_their_sealed_reasoning_inside_a_turn_and_later(running: bool) -> None:
    items = [reasoning("I look."), call("look", "{}"), message("Six.")]

    assert DRIVER.recall(items, model="gpt-6-sol", running=running, settings=ON) == items
    sent = body_of(USER, *items[:2], RESULT, items[2], USER)["input"]
    assert sent[2:4] == items[:2]
    assert all(one is other for one, other in zip(sent[2:4], items[:2], strict=True))


def test_reasoning_without_its_seal_stays_behind_with_the_ids_of_what_came_from_it() -> None:
    bare = {key: value for key, value in reasoning("Hm.").items() if key != "encrypted_content"}
    sent = body_of(USER, bare, message("Six."), USER)["input"]

    assert [item.get("type") for item in sent] == ["message"] * 4
    assert "id" not in sent[2]


def test_a_mere_reference_to_an_item_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(InvalidRequestError, match=r"input\[1\] refers to an item that another server keeps"):
        body_of(USER, {"type": "item_reference", "id": "msg_1"})


def test_headers_name_the_account_the_program_and_the_conversation() -> None:
    one, same, other = (
        DRIVER.request(asked(settings=EVERY_SETTING, conversation=name)).headers
        for name in ("chat-1", "chat-1", "chat-2")
    )

    assert {key: value for key, value in one.items() if key != "session_id"} == {
        "originator": "harbour",
        "ChatGPT-Account-Id": "acc-1",
    }
    assert one == same
    assert one["session_id"] != other["session_id"]
    assert DRIVER.request(asked()).headers == {"originator": "trimtab"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chats())
def test_a_history_of_anybody_is_written_in_the_types_of_the_wire_and_left_as_it_is(
    chat: Chat,
) -> None:
    adapted = CODEC.adapt(chat.messages, None, protected=())
    if not adapted.messages:
        return
    prompt = CODEC.encode(adapted.messages)
    before = copy.deepcopy(prompt)
    body = body_of(prompt=prompt)

    assert prompt == before
    assert type_faults(body) == []
    assert [item for item in body["input"] if item.get("role") == "system"] == []


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.2},
        {"metadata": {}},
        {"reasoning_context": "auto"},
        {"service_tier": "flex"},
        {"user": "u"},
    ],
)
def test_options_that_the_server_refuses_are_refused_before(options: dict[str, object]) -> None:
    assert not OPTIONS.is_valid(options)


def test_an_endpoint_cannot_smuggle_further_fields_in() -> None:
    assert not SETTINGS.is_valid({**ON, "extra_body": {"temperature": 0.2}})
