from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gemini_wire import step_faults
from providers.interactions_events import INTERACTION, completed, created, heard, said
from trimtab.conformance.corpus import Chat
from trimtab.conformance.generated import chats
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_plugins.providers.gemini import Gemini
from trimtab_sdk import Encoded, InvalidRequestError, Message, ProviderCall, Text, ToolResult, ToolSpec

DRIVER = Gemini()
CODEC = GeminiInteractions()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
FIND = ToolSpec("find")
STEPS: list[object] = [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}]
RESULT: list[object] = [{"type": "function_result", "call_id": "a", "result": "found"}]
HI = Encoded(STEPS, {"input": STEPS, "system_instruction": "Be brief."})
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
EVERY_OPTION: dict[str, object] = {
    "thinking_level": "low",
    "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["look"]}},
    "stop_sequences": ["END"],
    "temperature": 0.2,
    "top_p": 0.9,
    "seed": 7,
    "service_tier": "flex",
}
EVERY_SETTING: dict[str, object] = {
    "api_version": "v1beta",
    "api_revision": "2026-05-20",
    "thinking_summaries": "auto",
    "labels": {"team": "harbour"},
    "extra_body": {"safety_settings": []},
}


def body_of(prompt: Encoded = HI, **fields: Any) -> dict[str, Any]:
    """The body of a call; its keys and values are ones that Google's own models know."""
    tools = DRIVER.write_tools(fields.pop("tools", ()), {})
    body = dict(DRIVER.request(ProviderCall(model="m", prompt=prompt, tools=tuple(tools), **fields)).body)
    assert [fault for fault in step_faults(body) if "SDK" in fault or "validation" in fault] == []
    return body


def config_of(**fields: Any) -> dict[str, Any]:
    config = body_of(**fields).get("generation_config", {})
    assert isinstance(config, dict)
    return config


def test_a_first_request_is_the_conversation_and_asks_for_a_stream() -> None:
    assert body_of() == {
        "model": "m",
        "stream": True,
        "store": False,
        "system_instruction": "Be brief.",
        "input": STEPS,
    }
    assert body_of(keep=True)["store"] is True


def test_steps_go_out_as_the_objects_they_are() -> None:
    assert body_of()["input"] is STEPS
    assert body_of(Encoded(STEPS))["input"] is STEPS
    assert "system_instruction" not in body_of(Encoded(STEPS))


def test_the_path_has_the_version_and_a_header_the_revision() -> None:
    call = ProviderCall(model="m", prompt=HI)
    plain = DRIVER.request(call)
    asked = DRIVER.request(ProviderCall(model="m", prompt=HI, settings=EVERY_SETTING))

    assert (plain.path, dict(plain.headers)) == ("v1/interactions", {})
    assert (asked.path, dict(asked.headers)) == ("v1beta/interactions", {"api-revision": "2026-05-20"})


def test_what_follows_a_cursor_is_sent_with_all_that_an_interaction_does_not_hand_on() -> None:
    body = body_of(
        Encoded(RESULT, {"input": RESULT, "system_instruction": "Be brief."}),
        cursor=INTERACTION,
        keep=True,
        tools=[LOOK],
        max_output_tokens=100,
        options={"thinking_level": "high"},
    )

    assert step_faults(body) == []
    assert body["previous_interaction_id"] == INTERACTION
    assert body["input"] == RESULT
    assert body["system_instruction"] == "Be brief."
    assert [tool["name"] for tool in body["tools"]] == ["look"]
    assert body["generation_config"] == {"max_output_tokens": 100, "thinking_level": "high"}


def paused(*, keep: bool) -> str:
    events = [created(), *said("Hel"), completed("requires_continuation", continuation_token="tok-7")]
    resume = heard(*events, keep=keep).answer.resume
    assert resume is not None
    return resume


def test_a_kept_answer_that_paused_goes_on_without_its_input() -> None:
    body = body_of(keep=True, cursor="v1_before", resume=paused(keep=True), tools=[LOOK])

    assert (body["continuation_token"], body["previous_interaction_id"]) == ("tok-7", INTERACTION)
    assert "input" not in body
    assert body["system_instruction"] == "Be brief."
    assert body["tools"]


def test_one_that_is_not_kept_goes_on_with_its_input() -> None:
    body = body_of(resume=paused(keep=False))

    assert (body["continuation_token"], body["input"], body["store"]) == ("tok-7", STEPS, False)
    assert "previous_interaction_id" not in body


@pytest.mark.parametrize("resume", ["", "tok-7", "{}", "[]", '["a"]', '["a", 7]', "[" * 9_000])
def test_something_else_to_go_on_with_is_refused(resume: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        body_of(resume=resume)

    assert caught.value.path == "resume"


def test_nothing_new_is_no_input_beside_a_cursor() -> None:
    assert "input" not in body_of(Encoded([]), cursor=INTERACTION, keep=True)


def test_fields_always_stand_in_the_same_order() -> None:
    asked: dict[str, Any] = {"tools": [LOOK], "max_output_tokens": 9, "settings": EVERY_SETTING}
    asked["response_format"] = {"type": "json_object"}
    body = body_of(options=dict(reversed(EVERY_OPTION.items())), **asked)

    assert json.dumps(body) == json.dumps(body_of(options=EVERY_OPTION, **asked))
    assert step_faults(body) == []


def test_tools_are_functions_in_the_order_given() -> None:
    assert body_of(tools=[LOOK, FIND])["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Look something up.",
            "parameters": dict(LOOK.parameters),
        },
        {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}},
    ]


def test_a_schema_of_frozen_values_is_written_as_plain_ones() -> None:
    inner = MappingProxyType({"enum": ("a", "b")})
    frozen = ToolSpec("look", "", MappingProxyType({"type": "object", "properties": {"at": inner}}))

    assert json.dumps(DRIVER.write_tools([frozen], {}))


def test_options_stand_where_the_wire_has_them() -> None:
    body = body_of(tools=[LOOK], options=EVERY_OPTION, settings=EVERY_SETTING)

    generation = {key: value for key, value in EVERY_OPTION.items() if key != "service_tier"}
    assert body["generation_config"] == {**generation, "thinking_summaries": "auto"}
    assert (body["service_tier"], body["labels"], body["safety_settings"]) == ("flex", {"team": "harbour"}, [])


def test_a_choice_of_tools_is_sent_with_tools_alone() -> None:
    assert config_of(options={"tool_choice": "any"}) == {}
    assert config_of(options={"tool_choice": "any"}, tools=[LOOK]) == {"tool_choice": "any"}


def test_further_fields_go_before_all_others_but_the_drivers_own() -> None:
    extra = {"generation_config": {"seed": 1}, "service_tier": "priority", "store": True, "input": "no"}
    body = body_of(
        max_output_tokens=9, options={"seed": 7, "service_tier": "flex"}, settings={"extra_body": extra}
    )

    assert body["generation_config"] == {"max_output_tokens": 9, "seed": 1}
    assert body["service_tier"] == "priority"
    assert (body["store"], body["input"]) == (False, STEPS)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ({"type": "json_object"}, {"type": "text", "mime_type": "application/json"}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
            {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
        ),
        (
            {"type": "json_schema", "name": "n", "schema": {"type": "object"}},
            {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
        ),
        (
            {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
            {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}},
        ),
        ({"formats": [{"type": "text"}]}, [{"type": "text"}]),
    ],
)
def test_formats_of_other_wires_are_written_as_googles(asked: dict[str, object], written: object) -> None:
    assert body_of(response_format=asked)["response_format"] == written


def test_a_body_that_was_read_keeps_what_the_call_does_not_say() -> None:
    read = {
        "input": STEPS,
        "model": "another",
        "store": True,
        "previous_interaction_id": "v1_old",
        "tools": [{"type": "google_search"}],
        "background": True,
        "service_tier": "standard",
        "generation_config": {"max_output_tokens": 5, "thinking_level": "low", "tool_choice": "any"},
    }
    body = body_of(Encoded(STEPS, read), max_output_tokens=9)

    assert body == {
        "model": "m",
        "stream": True,
        "store": False,
        "input": STEPS,
        "generation_config": {"max_output_tokens": 9, "thinking_level": "low"},
        "service_tier": "standard",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_version": "v2"},
        {"api_revision": "today"},
        {"labels": {"team": 7}},
        {"extra_body": {"store": True}},
        {"extra_body": {"previous_interaction_id": "v1_a"}},
        {"thinkingSummaries": "auto"},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    assert SETTINGS.is_valid(EVERY_SETTING)
    assert not SETTINGS.is_valid(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"thinking_level": "much"},
        {"tool_choice": "required"},
        {"tool_choice": {"allowed_tools": {"tools": []}}},
        {"stop_sequences": "END"},
        {"top_k": 3},
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    assert OPTIONS.is_valid(EVERY_OPTION)
    assert not OPTIONS.is_valid(wrong)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chats(), st.booleans())
def test_any_conversation_makes_a_body_that_google_takes(chat: Chat, keep: bool) -> None:
    adapted = CODEC.adapt(chat.messages, CODEC.decode([]).originals, protected=())
    prompt = CODEC.encode(adapted.messages)
    before = copy.deepcopy(prompt)

    body = body_of(prompt, tools=[LOOK], keep=keep, max_output_tokens=9)

    assert adapted.refused or step_faults(body) == []
    assert prompt == before


def test_new_messages_after_a_cursor_are_written_as_google_takes_them() -> None:
    """Results first, the user's words behind them, and the system text beside."""
    new = [
        Message("s", "system", (Text("Be brief."),), source="system"),
        Message("r", "tool", (ToolResult("a", "found"),)),
        Message("u", "user", (Text("And now?"),)),
    ]
    body = body_of(CODEC.encode(new), cursor=INTERACTION, keep=True, tools=[LOOK])

    assert step_faults(body) == []
    assert [step["type"] for step in body["input"]] == ["function_result", "user_input"]
    assert body["system_instruction"] == "Be brief."


def test_recalled_steps_are_the_ones_that_were_given() -> None:
    items: list[object] = [{"type": "thought", "signature": "c2VhbA=="}, {"type": "model_output", "content": []}]

    for running in (True, False):
        recalled = DRIVER.recall(items, model="other", running=running, settings={})
        assert all(one is other for one, other in zip(recalled, items, strict=True))


def test_the_driver_never_answers_by_itself() -> None:
    with pytest.raises(NotImplementedError):
        DRIVER.respond(ProviderCall(model="m", prompt=HI))


def test_it_says_for_how_long_google_keeps_a_conversation() -> None:
    assert DRIVER.retention == 55 * 24 * 3600
    assert (DRIVER.credential.header, DRIVER.credential.prefix) == ("x-goog-api-key", "")
