from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from providers.responses_streams import (
    SEAL,
    Json,
    asked,
    begun,
    call,
    completed,
    delta,
    done,
    event,
    fault_in,
    heard,
    message,
    reasoning,
    response,
    server_events,
    whole,
)
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_plugins.providers.openai import OpenAI
from trimtab_sdk import Answer, ReasoningDelta, ServerEvent, TextDelta, Usage

OFFICIAL: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
CREATED = event("created", response=response(status="in_progress", usage=None))
ANSWER = message("Half ", "past six.", phase="final_answer")
CUSTOM: Json = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "run", "input": "ls"}
TEXT_STREAM = [
    CREATED,
    event("in_progress", response=response(status="in_progress", usage=None)),
    begun(ANSWER),
    event(
        "content_part.added",
        item_id="msg_1",
        output_index=0,
        content_index=0,
        part={"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    ),
    delta("output_text", "Half "),
    delta("output_text", "past", content_index=1),
    delta("output_text", " six.", content_index=1),
    event("output_text.done", item_id="msg_1", output_index=0, content_index=1, text="past six.", logprobs=[]),
    done(ANSWER),
    completed(ANSWER),
]
TOOL_STREAM = [
    CREATED,
    begun(reasoning()),
    done(reasoning()),
    begun(call("look", ""), 1),
    begun(call("find", "", at=2), 2),
    delta("function_call_arguments", '{"at"', 1),
    delta("function_call_arguments", "{}", 2),
    delta("function_call_arguments", ": 6}", 1),
    done(call("find", "{}", at=2), 2),
    done(call("look", '{"at": 6}'), 1),
    completed(),
]


@pytest.mark.parametrize(
    "events",
    [
        TEXT_STREAM,
        TOOL_STREAM,
        whole(reasoning("a"), CUSTOM),
        [delta("refusal", "No."), delta("reasoning_summary_text", "a"), delta("reasoning_text", "a")],
        [event("failed", response=response(status="failed", error={"code": "server_error", "message": "m"}))],
    ],
)
def test_the_streams_of_these_tests_are_what_the_official_types_say(events: list[Json]) -> None:
    for one in server_events(events):
        OFFICIAL.validate_python(json.loads(one.data))


def test_a_text_is_told_piece_by_piece_and_its_item_kept_as_it_came() -> None:
    got = heard(*TEXT_STREAM)

    assert [one.text for one in got.events if isinstance(one, TextDelta)] == ["Half ", "past", " six."]
    assert got.answer.items == (ANSWER,)
    assert got.answer.finish == "stop"


def test_usage_is_told_once_with_what_was_cached_and_thought() -> None:
    usage = Usage(input_tokens=120, output_tokens=40, cached_tokens=64, cache_write_tokens=32, reasoning_tokens=25)
    got = heard(*TEXT_STREAM)

    assert got.usages == [usage]
    assert got.answer.usage == usage


def test_a_stream_without_usage_has_none() -> None:
    got = heard(*whole(ANSWER, usage=None))

    assert (got.usages, got.answer.usage) == ([], None)


def test_what_is_worth_looking_at_is_in_the_state() -> None:
    assert heard(*TEXT_STREAM).answer.state == {
        "responseId": "resp_7f",
        "model": "gpt-6-astra",
        "serviceTier": "default",
        "status": "completed",
    }


def test_parallel_calls_are_told_with_the_names_of_their_beginning() -> None:
    got = heard(*TOOL_STREAM)

    assert got.started == [("call_1", "look"), ("call_2", "find")]
    assert got.calls == [("call_2", "find", "{}"), ("call_1", "look", '{"at": 6}')]
    assert got.arguments_told("call_1") == '{"at": 6}'
    assert got.answer.finish == "tool-calls"


def test_items_stand_in_the_order_of_the_output_not_of_their_ends() -> None:
    items = heard(*TOOL_STREAM).answer.items

    assert items == (reasoning(), call("look", '{"at": 6}'), call("find", "{}", at=2))


def test_sealed_reasoning_is_that_of_the_whole_item_byte_for_byte() -> None:
    (item, _) = heard(*whole(reasoning("I look."), ANSWER)).answer.items

    assert isinstance(item, dict)
    assert item["encrypted_content"] == SEAL
    assert item["id"] == "rs_1"


def test_summaries_of_reasoning_are_told_with_a_gap_between_them() -> None:
    got = heard(
        delta("reasoning_summary_text", "First "),
        delta("reasoning_summary_text", "this."),
        delta("reasoning_summary_text", "Then that.", summary_index=1),
        *whole(reasoning("First this.", "Then that."), ANSWER)[1:],
    )

    assert got.reasoning == "First this.\n\nThen that."


def test_reasoning_that_is_shown_whole_is_told_as_well() -> None:
    got = heard(delta("reasoning_text", "Hm."), *whole(reasoning(content=[]), ANSWER)[1:])

    assert [one for one in got.events if isinstance(one, ReasoningDelta)] == [ReasoningDelta("Hm.")]


def test_a_server_without_deltas_is_heard_all_the_same() -> None:
    got = heard(*whole(reasoning("I look."), message("Six."), call("look", "{}")))

    assert (got.text, got.reasoning) == ("Six.", "I look.")
    assert got.arguments_told("call_1") == "{}"
    assert got.calls == [("call_1", "look", "{}")]


def test_items_that_stand_in_the_last_event_alone_are_taken_from_there() -> None:
    got = heard(CREATED, completed(reasoning(), message("Six.")))

    assert got.text == "Six."
    assert got.answer.items == (reasoning(), message("Six."))


def test_a_text_whose_item_never_comes_is_kept() -> None:
    got = heard(
        CREATED, delta("output_text", "Half "), event("incomplete", response=response(status="incomplete"))
    )

    assert got.answer.items == ({"type": "message", "role": "assistant", "content": "Half "},)


def test_a_custom_call_is_a_call() -> None:
    got = heard(begun(CUSTOM), delta("custom_tool_call_input", "l"), done(CUSTOM), completed(CUSTOM))

    assert got.calls == [("call_1", "run", "ls")]
    assert got.arguments_told("call_1") == "ls"
    assert got.answer.items == (CUSTOM,)


def test_a_refusal_is_text_and_the_reason_of_the_end() -> None:
    refused = message(content=[{"type": "refusal", "refusal": "I will not."}])
    got = heard(delta("refusal", "I will "), delta("refusal", "not."), done(refused), completed(refused))

    assert (got.text, got.answer.finish) == ("I will not.", "refusal")


def test_items_of_the_servers_own_tools_and_compactions_are_kept_as_they_came() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": SEAL, "created_by": "server"}
    unheard_of = {"type": "dream", "id": "dr_1", "of": ["sheep"]}
    got = heard(*whole(compaction, search, unheard_of, message("Six.")))

    assert got.answer.items[:3] == (compaction, search, unheard_of)
    assert got.answer.finish == "stop"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", "length"),
        ("content_filter", "content-filter"),
        ("max_messages", "other"),
        ("steered", "other"),
        ("unheard_of", "other"),
    ],
)
def test_an_incomplete_answer_says_why(reason: str, finish: str) -> None:
    last = response(status="incomplete", incomplete_details={"reason": reason})
    got = heard(
        delta("output_text", "Half"),
        done(message("Half", status="incomplete")),
        event("incomplete", response=last),
    )

    assert got.answer.finish == finish
    assert got.answer.state["incompleteReason"] == reason


def test_a_call_that_the_output_limit_cut_is_not_complete() -> None:
    cut = call("look", '{"at"', status="incomplete")
    last = response(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    got = heard(
        begun(cut), delta("function_call_arguments", '{"at"'), done(cut), event("incomplete", response=last)
    )

    assert (got.started, got.calls) == ([("call_1", "look")], [])
    assert got.answer.finish == "length"


@pytest.mark.parametrize(("keep", "cursor"), [(True, "resp_7f"), (False, None)])
def test_the_id_of_an_answer_is_a_cursor_when_the_server_may_keep_it(keep: bool, cursor: str | None) -> None:
    assert heard(*TEXT_STREAM, keep=keep).answer.cursor == cursor


def test_an_answer_that_the_server_did_not_store_has_no_cursor() -> None:
    assert heard(*whole(ANSWER, store=False), keep=True).answer.cursor is None


def test_an_answer_with_a_call_that_got_lost_has_no_cursor() -> None:
    last = event("incomplete", response=response(status="incomplete"))

    assert heard(begun(call("look", "")), last, keep=True).answer.cursor is None


def test_reasoning_that_the_server_left_out_is_remarked_on_with_its_reasons() -> None:
    removed = {"type": "reasoning", "action": "removed"}
    changes = [
        {"id": "rs_1", "reason": "prefix_mismatch", **removed},
        {"id": "rs_2", "reason": "prefix_mismatch", **removed},
        {"id": "rs_3", "reason": "model_mismatch", **removed},
        {"id": "rs_4", "reason": "not a word\n", **removed},
    ]

    assert heard(*whole(ANSWER, input_transformations=changes)).answer.remarks == (
        "The provider left out reasoning of earlier answers (model_mismatch: 1, prefix_mismatch: 2, unknown: 1).",
    )
    assert heard(*whole(ANSWER, input_transformations=[])).answer.remarks == ()


def test_events_of_unknown_kinds_mean_nothing() -> None:
    strange = [event("web_search_call.searching", item_id="ws_1"), {"type": "dream", "delta": 7}, "", "[DONE]"]

    assert heard(*strange, *TEXT_STREAM, *strange).text == "Half past six."


def test_an_event_may_have_its_kind_in_its_name_alone() -> None:
    reader = OpenAI().reader(asked())

    assert reader.parse(ServerEvent('{"delta": "hi", "output_index": 0}', event="response.output_text.delta")) == [
        TextDelta("hi")
    ]


@pytest.mark.parametrize("size", range(len(TEXT_STREAM)))
def test_a_stream_that_breaks_off_is_no_answer(size: int) -> None:
    reader = OpenAI().reader(asked())
    told = [one for each in server_events([*TEXT_STREAM[:size], "[DONE]"]) for one in reader.parse(each)]

    assert not any(isinstance(one, Answer) for one in told)
    assert reader.end() is None


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "m", "param": None},
        {"type": "error", "error": {"type": "server_error", "code": None, "message": "m"}},
        {"type": "error", "status": 500, "error": {"code": "server_error", "message": "m"}},
        {"error": {"type": "server_error", "message": "m"}},
        event("failed", response=response(status="failed", error={"code": "server_error", "message": "m"})),
    ],
)
def test_an_error_in_a_stream_is_a_fault_in_each_of_its_shapes(error: Json) -> None:
    got = fault_in(CREATED, delta("output_text", "Half"), error)

    assert (got.code, got.retryable, got.upstream_code) == ("PROVIDER_FAILED", True, "server_error")


def test_a_response_that_failed_without_a_word_failed() -> None:
    assert fault_in(event("failed", response=response(status="failed"))).code == "PROVIDER_FAILED"
    assert fault_in(event("cancelled", response=response(status="cancelled"))).code == "PROVIDER_FAILED"


@pytest.mark.parametrize(
    "spoilt",
    [
        "no json",
        "[]",
        "{}",
        event("output_text.delta", delta=7, output_index=0),
        done({"type": "message", "role": "assistant", "content": 7}),
        done(message("Six.", role="user")),
        done({"no": "type"}),
        done(call("look", "{}", call_id="")),
        done(call("", "{}", call_id="")),
        done(message("Six.", type=["message"])),
        completed(message("Six.", id=[])),
        done({"type": "compaction", "id": "cmp_1"}),
        event("completed", response=response(), output=7) | {"response": 7},
    ],
)
def test_what_cannot_be_read_is_a_fault(spoilt: object) -> None:
    assert fault_in(CREATED, spoilt).code == "PROVIDER_BAD_RESPONSE"


def test_arguments_that_contradict_what_was_told_of_them_are_a_fault() -> None:
    got = fault_in(begun(call("look", "")), delta("function_call_arguments", '{"at": 1'), done(call("look", "{}")))

    assert got.code == "PROVIDER_BAD_RESPONSE"


def test_two_calls_with_one_id_are_a_fault() -> None:
    assert fault_in(done(call("look", "{}")), done(call("find", "{}"), 1)).code == "PROVIDER_BAD_RESPONSE"


def test_halves_of_a_character_are_told_as_one() -> None:
    emoji = message("\U0001f6a2!")
    got = heard(delta("output_text", "\ud83d"), delta("output_text", "\udea2!"), done(emoji), completed(emoji))

    assert got.text == "\U0001f6a2!"
    assert got.answer.items == (emoji,)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.builds(lambda text, at: message(text, at=at), st.text(min_size=1), st.integers(0, 99)),
            st.builds(lambda text, at: reasoning(text, at=at), st.text(), st.integers(0, 99)),
            st.builds(
                lambda fields, at: call("look", json.dumps(fields), at=at),
                st.dictionaries(st.text(), st.integers()),
                st.integers(0, 99),
            ),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda item: (item["type"], item["id"]),
    )
)
def test_whatever_was_answered_is_written_again_as_it_came(items: list[Json]) -> None:
    sent = json.loads(json.dumps(items).encode("utf-8", "surrogatepass"))
    answer = heard(*whole(*sent)).answer
    codec = OpenAIResponses()
    decoded = codec.decode(list(answer.items))

    assert [json.dumps(one) for one in codec.encode(decoded.messages, decoded.originals).messages] == [
        json.dumps(one) for one in answer.items
    ]
    assert list(answer.items) == sent
