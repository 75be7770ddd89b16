from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openai.types.responses import ResponseOutputItem
from openai.types.responses.input_token_count_params import InputTokenCountParams
from pydantic import TypeAdapter

from providers.responses_streams import SEAL, call, message, reasoning
from responses_judge import FILES, body_in, order_faults, type_faults
from trimtab.conformance.corpus import Chat
from trimtab.conformance.generated import chats
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_plugins.providers.openai import OpenAI
from trimtab_sdk import CountsTokens, Encoded, Message, ProviderCall, ProviderFaultError, Text, ToolSpec

DRIVER = OpenAI()
CODEC = OpenAIResponses()
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"at": {"type": "integer"}}})
FIND = ToolSpec("find")
USER = {"type": "message", "role": "user", "content": "hi"}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "six"}
SETTINGS = Draft202012Validator(dict(DRIVER.settings_schema or {}))
OPTIONS = Draft202012Validator(dict(DRIVER.options_schema or {}))
EVERY_OPTION: dict[str, object] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "reasoning_effort": "low",
    "reasoning_context": "all_turns",
    "verbosity": "high",
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tool_calls": 3,
    "metadata": {"chat": "harbour"},
    "safety_identifier": "user-7",
    "service_tier": "flex",
}
EVERY_SETTING: dict[str, object] = {
    "organization": "org-1",
    "project": "proj_1",
    "truncation": "disabled",
    "service_tier": "priority",
    "prompt_cache": True,
    "reasoning_summary": "auto",
    "encrypted_reasoning": True,
    "extra_body": {"top_logprobs": 2},
}
COUNTED = TypeAdapter(InputTokenCountParams).json_schema()["properties"].keys()


def prompt(*items: object, instructions: str = "Be brief.") -> Encoded:
    said = list(items or [USER])
    return Encoded(said, {"instructions": instructions, "input": said})


def asked(*items: object, **fields: Any) -> ProviderCall:
    tools = tuple(DRIVER.write_tools(fields.pop("tools", ()), {}))
    return ProviderCall(**{"model": "gpt-6-astra", "prompt": prompt(*items), "tools": tools, **fields})


def body_of(*items: object, **fields: Any) -> dict[str, Any]:
    return dict(DRIVER.request(asked(*items, **fields)).body)


def everything(**fields: Any) -> dict[str, Any]:
    return {
        "tools": [LOOK, FIND],
        "max_output_tokens": 4096,
        "response_format": {"type": "json_object"},
        "settings": EVERY_SETTING,
        "options": EVERY_OPTION,
        "keep": True,
        "compact_at": 200_000,
        "conversation": "chat-1",
        **fields,
    }


def test_a_request_is_the_conversation_and_asks_for_a_stream() -> None:
    assert body_of() == {
        "model": "gpt-6-astra",
        "instructions": "Be brief.",
        "input": [USER],
        "truncation": "disabled",
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
    }
    assert DRIVER.request(asked()).path == "responses"


def test_items_go_out_as_the_objects_they_are() -> None:
    items = [USER, reasoning("a"), message("Six."), USER]

    for keep in (True, False):
        sent = body_of(*items, keep=keep)["input"]
        assert all(one is other for one, other in zip(sent, items, strict=True))


def test_a_request_with_everything_is_what_the_official_types_say() -> None:
    for fields in ({}, {"cursor": "resp_1"}, {"keep": False, "compact_at": None}):
        assert type_faults(body_of(**everything(**fields))) == []
    assert type_faults(body_of()) == []


def test_a_cursor_stands_for_what_the_server_holds_and_all_else_goes_out_again() -> None:
    first, second = body_of(**everything()), body_of(RESULT, **everything(cursor="resp_1"))

    assert "previous_response_id" not in first
    assert second["previous_response_id"] == "resp_1"
    assert second["input"] == [RESULT]
    same = first.keys() - {"input"}
    assert {key: first[key] for key in same} == {key: second[key] for key in same}


@pytest.mark.parametrize("keep", [True, False])
def test_the_server_keeps_what_it_may_keep(keep: bool) -> None:
    assert body_of(keep=keep)["store"] is keep


def test_sealed_reasoning_is_asked_for_of_models_that_reason() -> None:
    def includes(model: str, **fields: object) -> bool:
        return "include" in body_of(model=model, settings=fields)

    assert all(includes(model) for model in ("gpt-6-astra", "gpt-5", "o3", "some-model"))
    assert not any(includes(model) for model in ("gpt-4.1-mini", "gpt-4o", "chatgpt-4o-latest", "gpt-3.5-turbo"))
    assert includes("gpt-4.1", encrypted_reasoning=True)
    assert not includes("gpt-5", encrypted_reasoning=False)


def test_what_a_body_asked_to_be_included_still_is() -> None:
    sources = "web_search_call.action.sources"
    read = prompt()
    assert read.request is not None
    read.request["include"] = [sources, "reasoning.encrypted_content"]

    assert body_of(prompt=read)["include"] == ["reasoning.encrypted_content", sources]
    assert body_of(prompt=read, model="gpt-4o")["include"] == [sources]


def test_the_server_may_compact_from_the_size_on_that_the_call_names() -> None:
    for keep in (True, False):
        body = body_of(keep=keep, compact_at=90_000)
        assert body["context_management"] == [{"type": "compaction", "compact_threshold": 90_000}]
    assert "context_management" not in body_of(keep=True)


def test_tools_are_flat_and_say_that_they_are_not_strict() -> None:
    assert body_of(tools=[LOOK, FIND])["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Look something up.",
            "parameters": dict(LOOK.parameters),
            "strict": False,
        },
        {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}, "strict": False},
    ]


def test_a_schema_of_frozen_values_is_written_as_plain_ones() -> None:
    inner = MappingProxyType({"enum": ("a", "b")})
    frozen = ToolSpec("look", "", MappingProxyType({"type": "object", "properties": {"at": inner}}))

    assert json.dumps(DRIVER.write_tools([frozen], {}))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("look", {"type": "function", "name": "look"}),
        ({"type": "function", "name": "look"}, {"type": "function", "name": "look"}),
    ],
)
def test_a_choice_of_tools_is_a_word_a_name_or_an_object(choice: object, sent: object) -> None:
    assert body_of(tools=[LOOK], options={"tool_choice": choice})["tool_choice"] == sent


def test_what_is_about_tools_is_sent_with_tools_alone() -> None:
    options = {"tool_choice": "required", "parallel_tool_calls": False}

    assert not {"tool_choice", "parallel_tool_calls", "tools"} & body_of(options=options).keys()
    assert body_of(options=options, tools=[LOOK])["parallel_tool_calls"] is False


@pytest.mark.parametrize(("limit", "sent"), [(4096, 4096), (16, 16), (3, 16)])
def test_the_output_limit_is_not_below_what_the_server_takes(limit: int, sent: int) -> None:
    assert body_of(max_output_tokens=limit)["max_output_tokens"] == sent


@pytest.mark.parametrize(
    "asked_for",
    [
        {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True},
        {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True}},
    ],
)
def test_a_format_is_flat_whichever_shape_it_is_given_in(asked_for: dict[str, object]) -> None:
    body = body_of(response_format=asked_for, options={"verbosity": "low"})

    assert body["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True},
        "verbosity": "low",
    }
    assert type_faults(body) == []


def test_reasoning_is_asked_for_by_chat_and_endpoint() -> None:
    body = body_of(options={"reasoning_effort": "high"}, settings={"reasoning_summary": "detailed"})

    assert body["reasoning"] == {"effort": "high", "summary": "detailed"}
    assert "reasoning" not in body_of(settings={"reasoning_summary": "none"})


def test_a_chat_asks_for_another_tier_than_its_endpoint() -> None:
    endpoint = {"service_tier": "flex"}

    assert body_of(settings=endpoint)["service_tier"] == "flex"
    assert body_of(settings=endpoint, options={"service_tier": "priority"})["service_tier"] == "priority"


def test_requests_of_a_chat_have_one_key_for_the_cache() -> None:
    assert body_of(conversation="chat-1")["prompt_cache_key"] == "chat-1"
    assert "prompt_cache_key" not in body_of()
    assert "prompt_cache_key" not in body_of(conversation="chat-1", settings={"prompt_cache": False})
    long = body_of(conversation="c" * 65)["prompt_cache_key"]
    assert len(long) == 64
    assert long != body_of(conversation="d" * 65)["prompt_cache_key"]


def test_who_pays_stands_in_headers() -> None:
    request = DRIVER.request(asked(settings={"organization": "org-1", "project": "proj_1"}))

    assert request.headers == {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj_1"}
    assert DRIVER.request(asked()).headers == {}


def test_fields_always_stand_in_the_same_order() -> None:
    turned = everything(
        options=dict(reversed(EVERY_OPTION.items())), settings=dict(reversed(EVERY_SETTING.items()))
    )

    assert json.dumps(body_of(**everything())) == json.dumps(body_of(**turned))
    assert list(body_of(**everything()))[:3] == ["model", "instructions", "input"]


def test_fields_of_the_driver_are_not_changed_by_extra_ones() -> None:
    extra = {"store": True, "previous_response_id": "resp_9", "truncation": "auto", "user": "me"}
    body = body_of(settings={"extra_body": extra})

    assert (body["store"], body["truncation"], body["user"]) == (False, "disabled", "me")
    assert "previous_response_id" not in body
    assert not SETTINGS.is_valid({"extra_body": {"store": True}})


def test_a_body_that_was_read_keeps_its_fields_but_not_its_cursor() -> None:
    for path in FILES:
        read = body_in(path)
        decoded = CODEC.decode(read)
        encoded = CODEC.encode(decoded.messages, decoded.originals)
        body = body_of(prompt=encoded, model="gpt-6-astra")
        assert body["input"] == read["input"]
        assert body.get("instructions") == read.get("instructions")
        assert not {"previous_response_id", "conversation", "tools"} & body.keys()
        assert {key: body.get(key) for key in read.keys() & {"metadata", "top_p", "user"}} == {
            key: read[key] for key in read.keys() & {"metadata", "top_p", "user"}
        }


def test_system_text_of_a_stored_chat_goes_into_instructions() -> None:
    read = CODEC.splice(CODEC.decode([]), 0, 0, [USER], ids=["u"])
    system = Message(id="s", role="system", parts=(Text("Be brief."),), source="system")
    body = body_of(prompt=CODEC.encode((system, *read.messages), read.originals))

    assert (body["instructions"], body["input"]) == ("Be brief.", [USER])


def test_reasoning_that_is_a_mere_id_is_sent_only_to_a_server_that_keeps() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = [
        USER,
        bare,
        message("I look."),
        call("look", "{}"),
        RESULT,
        reasoning(at=2),
        message("Six.", at=2),
        USER,
    ]

    assert body_of(*items, keep=True)["input"] == items
    sent = body_of(*items)["input"]
    assert sent == [
        USER,
        {"type": "message", "role": "assistant", "content": "I look."},
        {key: value for key, value in call("look", "{}").items() if key != "id"},
        RESULT,
        reasoning(at=2),
        message("Six.", at=2),
        USER,
    ]
    assert order_faults(sent) == []


def test_reasoning_that_is_shown_whole_is_sent_without_a_seal() -> None:
    shown = {**reasoning(), "content": [{"type": "reasoning_text", "text": "Hm."}], "encrypted_content": None}

    assert body_of(USER, shown, message("Six."))["input"][1] == shown


OUTPUT: list[dict[str, Any]] = [
    reasoning("a", status="completed", content=None),
    message("Six.", phase=None),
    call("look", "{}", namespace=None),
    {"type": "compaction", "id": "cmp_1", "encrypted_content": SEAL, "created_by": "server"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": None},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "run", "input": "ls"},
]


def recalled(items: list[Any]) -> list[Any]:
    return DRIVER.recall(items, model="gpt-6-astra", running=False, settings={})


def test_an_answer_is_recalled_in_the_shape_of_requests() -> None:
    before = copy.deepcopy(OUTPUT)
    for item in OUTPUT:
        TypeAdapter(ResponseOutputItem).validate_python(item)

    sent = recalled(OUTPUT)

    assert type_faults({"model": "m", "input": [USER, *sent]}) == []
    assert [item["type"] for item in sent] == [item["type"] for item in OUTPUT]
    assert [item.get("id") for item in sent] == [item.get("id") for item in OUTPUT]
    assert (sent[0]["encrypted_content"], sent[3]["encrypted_content"]) == (SEAL, SEAL)
    assert before == OUTPUT
    assert recalled(sent) == sent


def test_items_that_need_no_change_are_recalled_as_the_objects_they_are() -> None:
    items = [reasoning("a"), message("Six."), call("look", "{}")]

    assert all(one is other for one, other in zip(recalled(items), items, strict=True))


def test_a_count_asks_with_the_fields_that_it_takes() -> None:
    request = DRIVER.count_request(asked(RESULT, **everything(cursor="resp_1")))

    assert request.path == "responses/input_tokens"
    assert request.body.keys() <= COUNTED
    assert request.body["previous_response_id"] == "resp_1"
    assert (request.body["input"], request.body["instructions"]) == ([RESULT], "Be brief.")
    assert request.headers["OpenAI-Project"] == "proj_1"
    assert isinstance(DRIVER, CountsTokens)


def test_a_count_is_read_or_a_fault() -> None:
    assert DRIVER.read_count({"object": "response.input_tokens", "input_tokens": 11}) == 11
    for body in (None, "11", {}, {"input_tokens": True}, {"input_tokens": -1}, {"input_tokens": "11"}):
        with pytest.raises(ProviderFaultError):
            DRIVER.read_count(body)


def test_schemas_take_every_option_and_setting_and_no_other() -> None:
    assert OPTIONS.is_valid(EVERY_OPTION)
    assert SETTINGS.is_valid(EVERY_SETTING)
    for options in ({"temperature": 3}, {"tool_choice": ""}, {"metadata": {"a": 1}}, {"effort": "low"}):
        assert not OPTIONS.is_valid(options)
    for chosen in ({"truncation": "auto"}, {"organization": "a\nb"}, {"reasoning_summary": True}):
        assert not SETTINGS.is_valid(chosen)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(chats(), st.booleans())
def test_whatever_is_fitted_is_what_the_official_types_say(chat: Chat, keep: bool) -> None:
    adapted = CODEC.adapt(chat.messages, None, protected=())
    encoded = CODEC.encode(adapted.messages)
    body = body_of(prompt=encoded, **everything(keep=keep))

    assert type_faults(json.loads(json.dumps(body))) == []
    assert order_faults(body["input"]) == []
