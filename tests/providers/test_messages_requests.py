from __future__ import annotations

import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from anthropic.types import MessageCountTokensParams
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from anthropic_bodies import CHATS, SYSTEMS
from anthropic_wire import anthropic_faults, body_errors
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_sdk import (
    CountsTokens,
    Encoded,
    InvalidRequestError,
    ProviderCall,
    ProviderFaultError,
    ToolSpec,
    mode_of,
    retention_of,
)

DRIVER = Anthropic()
CODEC = AnthropicMessages()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
FIND = ToolSpec("find", parameters={})
USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}, "additionalProperties": False}
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
STRICT = {"version": "2026-10-21"}
SAMPLING: dict[str, object] = {"temperature": 0.2, "top_p": 0.9, "top_k": 5}
EVERY_OPTION: dict[str, object] = {
    "stop_sequences": ["END"],
    "thinking_budget": 2048,
    "effort": "low",
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "metadata": {"user_id": "u-7"},
    "service_tier": "standard_only",
}
EVERY_SETTING: dict[str, object] = {
    "version": "2026-10-21",
    "beta": ["files-api-2025-04-14"],
    "max_tokens": 1000,
    "cache": "auto",
    "cache_ttl": "1h",
    "thinking_display": "summarized",
    "thinking_mismatch": "drop_block",
    "threads": True,
    "service_tier": "auto",
    "extra_body": {"inference_geo": "eu"},
}
COUNTED = TypeAdapter(MessageCountTokensParams).json_schema()["properties"].keys()


def prompt(*messages: object, system: object = "Be brief.", **fields: object) -> Encoded:
    said = list(messages or [USER])
    return Encoded(said, {"system": system, "messages": said, **fields})


def asked(*messages: object, **fields: Any) -> ProviderCall:
    tools = tuple(DRIVER.write_tools(fields.pop("tools", ()), {}))
    return ProviderCall(**{"model": "claude-opus-5-5", "prompt": prompt(*messages), "tools": tools, **fields})


def body_of(*messages: object, cache: bool = False, **fields: Any) -> dict[str, Any]:
    fields["settings"] = {"cache": "auto" if cache else "off", **fields.get("settings", {})}
    return dict(DRIVER.request(asked(*messages, **fields)).body)


def test_a_request_is_the_conversation_and_asks_for_a_stream() -> None:
    assert body_of() == {
        "model": "claude-opus-5-5",
        "max_tokens": 8192,
        "system": "Be brief.",
        "messages": [USER],
        "stream": True,
    }
    assert DRIVER.request(asked()).path == "v1/messages"


def test_there_is_no_system_field_without_system_text() -> None:
    for read in (Encoded([USER]), prompt(system=""), prompt(system=None)):
        assert "system" not in body_of(prompt=read)


def test_messages_go_out_as_the_objects_they_are() -> None:
    messages = [USER, {"role": "assistant", "content": [{"type": "text", "text": "Six."}]}, USER]

    assert all(one is other for one, other in zip(body_of(*messages)["messages"], messages, strict=True))


def test_a_request_with_everything_is_what_the_official_types_say() -> None:
    fields: dict[str, Any] = {
        "tools": [LOOK, FIND],
        "max_output_tokens": 4096,
        "response_format": {"type": "json_schema", "schema": SCHEMA},
        "options": EVERY_OPTION,
    }
    plain = {key: value for key, value in EVERY_SETTING.items() if key != "thinking_mismatch"}

    assert body_errors(body_of(**fields, settings=plain)) == []
    assert body_errors(body_of(**fields, settings=EVERY_SETTING), beta=True) == []
    assert body_errors(body_of()) == []


def test_the_schemas_take_every_setting_and_option() -> None:
    SETTINGS.validate(EVERY_SETTING)
    OPTIONS.validate({**EVERY_OPTION, **SAMPLING})
    OPTIONS.validate({"thinking": "adaptive", "tool_choice": {"type": "tool", "name": "look"}})


@pytest.mark.parametrize(
    "options",
    [
        {"thinking": "adaptive", "thinking_budget": 2048},
        {"thinking_budget": 1023},
        {"thinking": "enabled"},
        {"temperature": 1.5},
        {"metadata": {"chat": "harbour"}},
        {"max_tokens": 7},
    ],
)
def test_the_schema_of_options_refuses_what_the_wire_refuses(options: dict[str, object]) -> None:
    assert not OPTIONS.is_valid(options)


@pytest.mark.parametrize("field", ["model", "max_tokens", "system", "messages", "tools", "stream", "thread"])
def test_further_fields_never_change_what_is_sent(field: str) -> None:
    extra = {"extra_body": {field: "x"}}

    assert not SETTINGS.is_valid(extra)
    assert body_of(settings=extra) == body_of()


def test_further_fields_go_before_all_others() -> None:
    settings = {"extra_body": {"speed": "fast", "service_tier": "auto"}, "service_tier": "standard_only"}
    body = body_of(settings=settings)

    assert (body["speed"], body["service_tier"]) == ("fast", "auto")


def test_the_output_limit_is_that_of_the_call_then_of_the_body_then_of_the_endpoint() -> None:
    read = prompt(max_tokens=77)

    assert body_of(max_output_tokens=50, prompt=read)["max_tokens"] == 50
    assert body_of(prompt=read, settings={"max_tokens": 60})["max_tokens"] == 77
    assert body_of(prompt=prompt(max_tokens=0), settings={"max_tokens": 60})["max_tokens"] == 60
    assert body_of()["max_tokens"] == 8192


def test_a_thinking_budget_comes_on_top_of_the_usual_limit_and_must_fit_a_given_one() -> None:
    options = {"thinking_budget": 2048}

    assert body_of(options=options)["max_tokens"] == 8192 + 2048
    assert body_of(options=options, max_output_tokens=2049)["max_tokens"] == 2049
    with pytest.raises(InvalidRequestError) as caught:
        body_of(options=options, max_output_tokens=2048)
    assert caught.value.path == "options.thinking_budget"


@pytest.mark.parametrize(
    ("options", "thinking"),
    [
        ({}, None),
        ({"thinking": "adaptive"}, {"type": "adaptive", "display": "omitted"}),
        ({"thinking": "between_tools"}, {"type": "between_tools"}),
        ({"thinking": "disabled"}, {"type": "disabled"}),
        ({"thinking_budget": 2048}, {"type": "enabled", "budget_tokens": 2048, "display": "omitted"}),
    ],
)
def test_thinking_is_asked_for_as_the_chat_says(options: dict[str, object], thinking: object) -> None:
    assert body_of(options=options, settings={"thinking_display": "omitted"}).get("thinking") == thinking


CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "7"}]}
THOUGHT = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]}
SPOKE = {"role": "assistant", "content": "Seven."}


@pytest.mark.parametrize(
    ("said", "thinks"),
    [
        ([USER, CALL, RESULT], False),
        ([USER, CALL, RESULT, USER], False),
        ([USER, CALL, RESULT, CALL, RESULT, USER, USER], False),
        ([USER, THOUGHT, CALL, RESULT, USER], True),
        ([USER, CALL, RESULT, SPOKE, USER], True),
        ([USER, SPOKE, USER], True),
    ],
)
def test_a_loop_that_began_without_thinking_goes_on_without_it(said: list[object], thinks: bool) -> None:
    call = replace(asked(options={"thinking_budget": 1024}), prompt=Encoded(said))
    body = DRIVER.request(call).body
    assert ("thinking" in body) is thinks


def test_what_becomes_of_thinking_that_does_not_match_is_said_with_its_beta() -> None:
    call = asked(settings={"thinking_mismatch": "drop_block", "beta": ["x"]}, options={"thinking": "adaptive"})
    request = DRIVER.request(call)

    assert request.body["thinking"] == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert request.headers["anthropic-beta"] == "x,thinking-binding-controls-2026-08-01"


def test_headers_name_the_version_and_betas() -> None:
    assert DRIVER.request(asked()).headers == {"anthropic-version": "2023-06-01"}
    assert DRIVER.request(asked(settings={**STRICT, "beta": ["a", "b"]})).headers == {
        "anthropic-version": "2026-10-21",
        "anthropic-beta": "a,b",
    }


@pytest.mark.parametrize("name", [*SAMPLING])
def test_the_later_version_takes_no_sampling(name: str) -> None:
    option = {name: SAMPLING[name]}

    assert body_of(options=option)[name] == SAMPLING[name]
    for fields in ({"options": option}, {"prompt": prompt(**option)}):
        with pytest.raises(InvalidRequestError, match=f"takes no {name}") as caught:
            body_of(settings=STRICT, **fields)
        assert caught.value.path == f"options.{name}"


def test_the_later_version_takes_no_citations_in_user_texts() -> None:
    cited = {"type": "text", "text": "six", "citations": [{"type": "char_location"}]}
    messages = [{"role": role, "content": [cited]} for role in ("user", "assistant", "user")]

    assert body_of(*messages)["messages"] == messages
    sent = body_of(*messages, settings=STRICT)["messages"]
    assert [message["content"] for message in sent] == [
        [{"type": "text", "text": "six"}],
        [cited],
        sent[0]["content"],
    ]


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({}, None),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": "look"}, {"type": "tool", "name": "look"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        (
            {"tool_choice": {"type": "any"}, "parallel_tool_calls": True},
            {"type": "any", "disable_parallel_tool_use": False},
        ),
    ],
)
def test_the_choice_of_a_tool_is_written_for_this_wire(options: dict[str, object], choice: object) -> None:
    assert body_of(options=options, tools=[LOOK]).get("tool_choice") == choice
    assert "tool_choice" not in body_of(options=options)


def test_tools_are_those_of_the_call_alone() -> None:
    read = prompt(tools=[{"name": "old", "input_schema": {}}], tool_choice={"type": "any"}, container="c")
    body = body_of(prompt=read)

    assert "tools" not in body
    assert "tool_choice" not in body
    assert body["container"] == "c"
    assert body_of(prompt=read, tools=[LOOK, FIND])["tools"] == [
        {"name": "look", "description": "Look something up.", "input_schema": LOOK.parameters},
        {"name": "find", "input_schema": {"type": "object"}},
    ]


def test_a_format_is_a_schema_beside_the_effort() -> None:
    shapes = (
        {"type": "json_schema", "schema": SCHEMA},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        MappingProxyType({"type": "json_schema", "schema": MappingProxyType(SCHEMA)}),
    )
    for shape in shapes:
        config = body_of(response_format=shape, options={"effort": "low"})["output_config"]
        assert config == {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}
    assert "output_config" not in body_of(response_format={"type": "text"})


@pytest.mark.parametrize("asked_for", [{"type": "json_object"}, {"type": "json_schema"}, {}])
def test_a_format_without_a_schema_is_refused(asked_for: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        body_of(response_format=asked_for)
    assert caught.value.path == "response_format"


def test_a_count_is_asked_for_with_what_the_official_types_have() -> None:
    assert isinstance(DRIVER, CountsTokens)
    call = asked(tools=[LOOK], options={"thinking": "adaptive", "effort": "low"}, settings=EVERY_SETTING)
    request = DRIVER.count_request(call)

    assert request.path == "v1/messages/count_tokens"
    assert request.headers == DRIVER.request(call).headers
    assert request.body.keys() <= COUNTED
    assert request.body.keys() >= {"model", "system", "messages", "tools", "thinking", "output_config"}
    assert DRIVER.read_count({"input_tokens": 2095}) == 2095


@pytest.mark.parametrize("body", [None, {}, {"input_tokens": True}, {"input_tokens": -1}, {"input_tokens": "7"}])
def test_an_answer_without_a_count_is_a_bad_response(body: object) -> None:
    with pytest.raises(ProviderFaultError):
        DRIVER.read_count(body)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(CHATS, SYSTEMS)
def test_any_conversation_the_codec_writes_is_taken(chat: list[dict[str, Any]], system: object) -> None:
    decoded = CODEC.decode({"messages": chat, **({"system": system} if system is not None else {})})
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    written = CODEC.encode(adapted.messages, decoded.originals)
    before = copy.deepcopy(written)
    body = body_of(prompt=written, tools=[LOOK], cache=True)

    assert written == before
    assert anthropic_faults(body["messages"], body.get("system")) == []
    assert body_errors(body) == []


def thread_call(**fields: Any) -> ProviderCall:
    usual: dict[str, Any] = {"settings": {"threads": True}, "keep": True, "tools": (LOOK_WRITTEN,)}
    prompt = Encoded(messages=[USER], request={"system": "Be brief.", "messages": [USER]})
    return ProviderCall(**{"model": "claude-opus-5-5", "prompt": prompt, **usual, **fields})


LOOK_WRITTEN = DRIVER.write_tools([LOOK], {})[0]


def test_a_thread_begins_with_everything_and_goes_on_without_what_it_has() -> None:
    begun = DRIVER.request(thread_call())
    continued = DRIVER.request(thread_call(cursor="msg_1"))

    assert begun.body["thread"] == {"type": "create"}
    assert continued.body["thread"] == {"type": "continue", "previous_message_id": "msg_1"}
    assert set(begun.body) - set(continued.body) == {"system", "tools"}
    assert {one.headers["anthropic-beta"] for one in (begun, continued)} == {"message-threads-2026-08-12"}


def test_a_thread_is_marked_for_the_cache_once_and_as_a_whole() -> None:
    body = DRIVER.request(thread_call(settings={"threads": True, "cache_ttl": "1h"})).body

    assert body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert all("cache_control" not in str(body[key]) for key in ("system", "tools", "messages"))
    assert "cache_control" not in DRIVER.request(thread_call(settings={"threads": True, "cache": "off"})).body


@pytest.mark.parametrize("fields", [{"keep": False}, {"settings": {}}, {"settings": {"threads": False}}])
def test_there_is_no_thread_unless_both_the_setting_and_the_call_say_so(fields: dict[str, Any]) -> None:
    request = DRIVER.request(thread_call(**fields))

    assert "thread" not in request.body
    assert "anthropic-beta" not in request.headers


def test_betas_of_the_user_stay_in_front_of_that_of_threads() -> None:
    settings = {"threads": True, "beta": ["files-api-2025-04-14"], "thinking_mismatch": "error"}
    headers = DRIVER.request(thread_call(settings=settings)).headers

    assert headers["anthropic-beta"] == (
        "files-api-2025-04-14,thinking-binding-controls-2026-08-01,message-threads-2026-08-12"
    )


def test_a_count_is_of_everything_and_of_no_thread() -> None:
    request = DRIVER.count_request(thread_call())

    assert request.body.keys().isdisjoint({"thread"})
    assert {"system", "tools", "messages"} <= request.body.keys()
    assert "anthropic-beta" not in request.headers


def test_settings_decide_whether_the_server_keeps_the_conversation() -> None:
    assert [mode_of(DRIVER, {}), mode_of(DRIVER, {"threads": True})] == ["stateless-loop", "threads"]
    assert [retention_of(DRIVER, {}), retention_of(DRIVER, {"threads": True})] == [None, 300.0]
