from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from anthropic.types.beta import BetaRawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from anthropic_wire import anthropic_faults, body_errors
from providers.messages_streams import (
    SEAL,
    Json,
    asks,
    block,
    ends,
    fault_in,
    heard,
    says,
    server_events,
    start,
    thinks,
    whole,
)
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_sdk import Answer, Encoded, Message, ProviderCall, ServerEvent, Text, ToolResult, Usage

OFFICIAL: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
OFFICIAL_BETA: TypeAdapter[Any] = TypeAdapter(BetaRawMessageStreamEvent)
CODEC = AnthropicMessages()
TOOLS = whole(
    thinks(0, "I look ", "it up."),
    says(1, "One moment."),
    asks(2, "look", '{"at"', ": 6}"),
    asks(3, "find"),
    reason="tool_use",
)
CITATION: Json = {
    "type": "char_location",
    "cited_text": "six",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 3,
    "file_id": None,
}
SEARCH_RESULT: Json = {
    "type": "web_search_tool_result",
    "tool_use_id": "toolu_0",
    "content": [
        {
            "type": "web_search_result",
            "title": "t",
            "url": "https://example.org",
            "encrypted_content": "c2VhbA==",
            "page_age": None,
        }
    ],
}


def test_a_text_comes_piece_by_piece_and_is_one_message() -> None:
    got = heard(*whole(says(0, "Half ", "past", " six.")))

    assert got.text == "Half past six."
    assert got.content == [{"type": "text", "text": "Half past six."}]
    assert (got.answer.finish, got.answer.cursor, got.answer.resume) == ("stop", None, None)


def test_the_streams_of_these_tests_are_what_the_official_types_say() -> None:
    for event in [*TOOLS, *whole(says(0, "a"), block(1, {"type": "redacted_thinking", "data": "ZA=="}))]:
        OFFICIAL.validate_python(event, strict=True)
    OFFICIAL.validate_python(block(0, SEARCH_RESULT)[0], strict=True)


def test_thinking_and_parallel_calls_are_told_and_kept_byte_for_byte() -> None:
    got = heard(*TOOLS)

    assert got.reasoning == "I look it up."
    assert got.started == [("toolu_2", "look"), ("toolu_3", "find")]
    assert got.calls == [("toolu_2", "look", '{"at": 6}'), ("toolu_3", "find", "{}")]
    assert got.arguments_told("toolu_2") == '{"at": 6}'
    assert got.answer.finish == "tool-calls"
    assert got.content == [
        {"type": "thinking", "thinking": "I look it up.", "signature": SEAL},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"at": 6}},
        {"type": "tool_use", "id": "toolu_3", "name": "find", "input": {}},
    ]


def test_an_answer_goes_back_as_it_came_and_the_server_takes_it() -> None:
    items = list(heard(*TOOLS).answer.items)
    decoded = CODEC.splice(CODEC.decode([{"role": "user", "content": "When?"}]), 1, 1, items)
    results = [Message(f"r{at}", "tool", (ToolResult(f"toolu_{at}", "six"),)) for at in (2, 3)]

    adapted = CODEC.adapt([*decoded.messages, *results], decoded.originals, protected=())
    sent = CODEC.encode(adapted.messages, decoded.originals)
    body = Anthropic().request(ProviderCall(model="m", prompt=sent, settings={"cache": "off"})).body

    assert adapted.repairs == ()
    assert sent.messages[1] is items[0]
    assert anthropic_faults(sent.messages) == []
    assert body_errors(body) == []


def test_the_usage_counts_what_came_from_the_cache_and_is_told_once() -> None:
    final = {"output_tokens": 40, "input_tokens": 25, "output_tokens_details": {"thinking_tokens": 12}}
    got = heard(start(), *says(0, "a"), *ends(usage=final))
    expected = Usage(
        input_tokens=125, output_tokens=40, cached_tokens=70, cache_write_tokens=30, reasoning_tokens=12
    )

    assert got.answer.usage == expected
    assert [one for one in got.events if isinstance(one, Usage)] == [expected]


def test_no_usage_is_told_where_the_server_tells_none() -> None:
    got = heard(start(usage=None), *says(0, "a"), *ends(usage=None))

    assert got.answer.usage is None


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("something_new", "other"),
        (None, "other"),
    ],
)
def test_each_reason_to_stop_is_named(reason: str | None, finish: str) -> None:
    assert heard(*whole(says(0, "a"), reason=reason)).answer.finish == finish


def test_facts_worth_a_look_stand_beside_the_answer() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    delta = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    got = heard(start(), *says(0, "No."), *ends(delta=delta))

    assert got.answer.state == {
        "messageId": "msg_7f",
        "model": "claude-opus-5-5",
        "serviceTier": "standard",
        "stopReason": "refusal",
        "refusalCategory": "cyber",
    }


def test_an_answer_that_was_refused_calls_nothing() -> None:
    got = heard(*whole(says(0, "I"), asks(1, "look", "{}"), reason="refusal"))

    assert got.answer.finish == "refusal"
    assert got.content == [{"type": "text", "text": "I"}]


def test_a_refusal_without_a_word_is_an_answer_without_items() -> None:
    got = heard(*whole(reason="refusal"))

    assert (got.answer.items, got.answer.finish) == ((), "refusal")


def test_an_answer_that_paused_holds_what_is_to_be_sent_back() -> None:
    got = heard(*whole(asks(0, "web_search", '{"query": "tide"}', kind="server_tool_use"), reason="pause_turn"))

    assert (got.answer.finish, got.answer.resume) == ("pause", None)
    assert (got.started, got.calls) == ([], [])
    assert got.content == [
        {"type": "server_tool_use", "id": "toolu_0", "name": "web_search", "input": {"query": "tide"}}
    ]


def test_blocks_of_the_servers_tools_are_kept_whole() -> None:
    search = asks(0, "web_search", '{"query": "tide"}', kind="server_tool_use")
    got = heard(*whole(search, block(1, SEARCH_RESULT), says(2, "Six.")))

    assert got.answer.finish == "stop"
    assert got.content[1:] == [SEARCH_RESULT, {"type": "text", "text": "Six."}]


def test_redacted_thinking_and_compactions_are_kept_verbatim() -> None:
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgB=="}
    begun = {"type": "compaction", "content": None}
    delta = {"type": "compaction_delta", "content": "They met.", "encrypted_content": "c2VhbA=="}
    got = heard(*whole(block(0, begun, delta), block(1, hidden), says(2, "a")))

    assert got.content[0] == {"type": "compaction", "content": "They met.", "encrypted_content": "c2VhbA=="}
    assert got.content[1] == hidden


def test_citations_are_gathered() -> None:
    cited = {"type": "citations_delta", "citation": CITATION}
    begun = {"type": "text", "text": "", "citations": []}
    got = heard(*whole(block(0, begun, {"type": "text_delta", "text": "six"}, cited, cited)))

    assert got.content == [{"type": "text", "text": "six", "citations": [CITATION, CITATION]}]


def test_an_answer_goes_back_with_all_that_the_server_wrote_and_the_types_take_it() -> None:
    call: Json = {"type": "tool_use", "id": "a", "name": "n", "input": {}, "caller": None}
    text = {"type": "text", "text": "six", "citations": [CITATION]}
    item = {"role": "assistant", "content": [SEARCH_RESULT, text, call]}

    for running in (True, False):
        (recalled,) = Anthropic().recall([item], model="m", running=running, settings={})
        assert recalled is item
    assert body_errors({"model": "m", "max_tokens": 9, "stream": True, "messages": [item]}) == []


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("pieces", [(), ('{"at',)])
@pytest.mark.parametrize("stops", [True, False])
def test_a_call_that_was_cut_off_is_not_run(reason: str, pieces: tuple[str, ...], stops: bool) -> None:
    done, cut = asks(1, "look", "{}"), asks(2, "look", *pieces, stops=stops)
    got = heard(*whole(says(0, "a"), done, cut, reason=reason))

    assert got.answer.finish == "length"
    assert got.calls == [("toolu_1", "look", "{}")]
    assert [one["type"] for one in got.content] == ["text", "tool_use"]


def test_arguments_that_are_no_object_are_told_as_they_are_and_kept_as_one() -> None:
    got = heard(*whole(asks(0, "look", '{"at": six}'), asks(1, "look", "[6]"), reason="tool_use"))

    assert [arguments for _, _, arguments in got.calls] == ['{"at": six}', "[6]"]
    assert [one["input"] for one in got.content] == [{"arguments": '{"at": six}'}, {"arguments": "[6]"}]
    assert got.answer.finish == "tool-calls"


def test_arguments_may_stand_in_the_block_that_begins() -> None:
    begun = {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 6}}
    got = heard(*whole(block(0, begun), reason="tool_use"))

    ((call_id, name, arguments),) = got.calls
    assert (call_id, name, json.loads(arguments)) == ("a", "look", {"at": 6})
    assert got.content == [begun]


def test_thinking_that_was_cut_off_is_kept_and_never_sent() -> None:
    got = heard(*whole(thinks(0, "I was", signature=""), reason="max_tokens"))
    decoded = CODEC.splice(CODEC.decode([]), 0, 0, list(got.answer.items))
    talk = [Message("q", "user", (Text("When?"),)), *decoded.messages, Message("p", "user", (Text("Well?"),))]

    adapted = CODEC.adapt(talk, decoded.originals, protected=())
    assert got.content == [{"type": "thinking", "thinking": "I was", "signature": ""}]
    assert [message.id for message in adapted.messages] == ["q", "p"]


def test_an_empty_text_is_not_kept() -> None:
    got = heard(*whole(thinks(0, "hm"), says(1), says(2, "Six.")))

    assert [one["type"] for one in got.content] == ["thinking", "text"]


def test_characters_that_are_cut_in_two_are_put_together() -> None:
    got = heard(*whole(says(0, "\ud83d", "\ude00!", "\ud83d")))

    assert got.text == "\U0001f600!\ufffd"
    assert got.content[0]["text"] == got.text


def test_pings_and_unknown_events_mean_nothing() -> None:
    middle = [{"type": "ping"}, {"type": "content_block_glow", "index": 0}, ": nothing", ""]
    events = whole(says(0, "a"))

    assert heard(*events[:2], *middle[:2], "", *events[2:], {"type": "ping"}).events == heard(*events).events


@pytest.mark.parametrize("place", ["message_start", "message_delta"])
def test_thinking_that_the_server_dropped_is_remarked(place: str) -> None:
    reasons = ("prefix_binding_mismatch", "prefix_binding_mismatch", "model_binding_mismatch")
    dropped = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": why} for why in reasons]
    allowed = {"type": "thinking_mismatch_allowed", "path": "m", "reason": "end_user_binding_mismatch"}
    told: Json = {"input_transformations": [*dropped, allowed]}
    head = start(**told) if place == "message_start" else start()
    tail = ends(**told) if place == "message_delta" else ends()
    if place == "message_delta":
        OFFICIAL_BETA.validate_python({**tail[0], "input_transformations": dropped})

    assert heard(head, *says(0, "a"), *tail).answer.remarks == (
        "The provider left out thinking of earlier answers "
        "(model_binding_mismatch: 1, prefix_binding_mismatch: 2).",
    )


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("overloaded_error", "OVERLOADED", True),
        ("api_error", "FAILED", True),
        ("timeout_error", "TIMEOUT", True),
        ("rate_limit_error", "RATE_LIMITED", True),
        ("invalid_request_error", "REQUEST_REFUSED", False),
        ("authentication_error", "AUTHENTICATION", False),
        ("billing_error", "QUOTA_EXHAUSTED", False),
        ("something_new", "FAILED", False),
    ],
)
def test_an_error_inside_of_a_stream_is_named_by_its_type(kind: str, code: str, retryable: bool) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "m"}, "request_id": "req_1"}
    fault = fault_in(start(), *says(0, "a", stops=False), error)

    assert (fault.code, fault.retryable, fault.upstream_code) == (f"PROVIDER_{code}", retryable, kind)


@pytest.mark.parametrize(
    "event",
    [
        "no json",
        "[]",
        {"type": 7},
        {"type": "content_block_start", "index": 0, "content_block": {}},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "", "name": "n"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 7}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_start", "message": []},
        {"type": "message_delta", "delta": 7},
    ],
)
def test_what_cannot_be_read_is_a_bad_response(event: object) -> None:
    assert fault_in(event).code == "PROVIDER_BAD_RESPONSE"


@pytest.mark.parametrize(
    "delta",
    [
        {"type": "thinking_delta", "thinking": "a"},
        {"type": "signature_delta", "signature": "a"},
        {"type": "input_json_delta", "partial_json": "{}"},
        {"type": "text_delta", "text": ["a"]},
    ],
)
def test_a_delta_of_another_kind_than_its_block_is_a_bad_response(delta: Json) -> None:
    events = block(0, {"type": "text", "text": ""}, delta, stops=False)

    assert fault_in(start(), *events).code == "PROVIDER_BAD_RESPONSE"


def test_two_calls_of_one_id_are_a_bad_response() -> None:
    again = block(1, {"type": "tool_use", "id": "toolu_0", "name": "look", "input": {}}, stops=False)

    assert fault_in(start(), *asks(0, "look"), *again).code == "PROVIDER_BAD_RESPONSE"


def test_a_block_that_could_not_be_sent_again_is_a_bad_response() -> None:
    picture = block(0, {"type": "image", "source": 7})

    assert fault_in(*whole(picture)).code == "PROVIDER_BAD_RESPONSE"


def test_a_cut_stream_is_no_answer() -> None:
    for size in range(len(TOOLS)):
        reader = Anthropic().reader(ProviderCall(model="m", prompt=Encoded([])))
        told = [one for each in server_events(TOOLS[:size]) for one in reader.parse(each)]
        assert not any(isinstance(one, Answer) for one in told)
        assert reader.end() is None


@settings(max_examples=25)
@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_a_text_is_the_same_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    marks = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[one:other] for one, other in pairwise(marks)]
    got = heard(*whole(says(0, *pieces), thinks(1, *pieces)))

    assert got.text == got.reasoning == text
    assert got.content[-1]["thinking"] == text


def test_a_reader_takes_nothing_more_after_its_answer() -> None:
    reader = Anthropic().reader(ProviderCall(model="m", prompt=Encoded([])))
    for one in server_events(whole(says(0, "a"))):
        reader.parse(one)

    assert reader.parse(ServerEvent("no json")) == []
