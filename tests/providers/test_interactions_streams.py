from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemini_wire import step_faults, unsigned_steps
from providers.interactions_events import (
    DONE,
    INTERACTION,
    called,
    completed,
    created,
    delta,
    event_faults,
    fault_in,
    heard,
    parsed,
    said,
    start,
    status_update,
    stop,
    thought,
)
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_plugins.providers.gemini import Gemini
from trimtab_sdk import (
    Answer,
    Message,
    ReasoningDelta,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    ToolResult,
    Usage,
)

SEAL = "EuYICuMIAXLI2nyJ+w/Xq=="
USAGE = {
    "total_input_tokens": 900,
    "total_output_tokens": 40,
    "total_thought_tokens": 160,
    "total_cached_tokens": 512,
    "total_tool_use_tokens": 0,
    "total_tokens": 1100,
    "input_tokens_by_modality": [{"modality": "text", "tokens": 900}],
}
OUTPUT = {"type": "model_output", "content": [{"type": "text", "text": "Hello."}]}


def items(*events: object, **options: Any) -> list[Any]:
    return list(heard(*events, **options).answer.items)


def test_text_is_told_as_it_comes_and_kept_as_one_step() -> None:
    told = heard(created(), status_update("in_progress"), *said("Hel", "lo."), completed(), DONE)

    assert [event.text for event in told.events if isinstance(event, TextDelta)] == ["Hel", "lo."]
    assert told.item == OUTPUT
    assert told.answer.finish == "stop"


def test_the_answer_comes_with_the_event_that_completes_it() -> None:
    *_, last, after = parsed(created(), *said("Hello."), completed(), DONE)

    assert isinstance(last[-1], Answer)
    assert after == []


@pytest.mark.parametrize("size", range(5))
def test_a_stream_without_its_last_event_is_no_answer(size: int) -> None:
    cut = [created(), *said("Hello."), completed()][:size]

    assert not any(isinstance(one, Answer) for told in parsed(*cut, DONE) for one in told)


@pytest.mark.parametrize("status", ["completed", "requires_action"])
def test_a_status_that_ends_it_and_the_end_of_the_stream_make_an_answer_too(status: str) -> None:
    assert items(created(), *said("Hello."), status_update(status), DONE) == [OUTPUT]


def test_a_status_that_ends_it_alone_makes_none() -> None:
    told = parsed(created(), *said("Hello."), status_update("completed"))

    assert not any(isinstance(one, Answer) for events in told for one in events)


def test_signatures_are_kept_byte_for_byte() -> None:
    told = heard(created(), *thought(SEAL, "I ", "look."), *said("Hello.", index=1), completed())

    first, second = told.answer.items
    assert first == {
        "type": "thought",
        "signature": SEAL,
        "summary": [{"type": "text", "text": "I look."}],
    }
    assert second == OUTPUT
    assert [event.text for event in told.events if isinstance(event, ReasoningDelta)] == ["I ", "look."]


@pytest.mark.parametrize(
    ("begun", "deltas"), [({}, [SEAL[:9], SEAL[9:]]), ({"signature": SEAL}, []), ({"signature": SEAL}, [SEAL])]
)
def test_a_signature_may_come_whole_or_in_pieces_or_twice(begun: dict[str, str], deltas: list[str]) -> None:
    signed = [delta(0, "thought_signature", signature=piece) for piece in deltas]

    assert items(start(0, "thought", **begun), *signed, stop(0), completed()) == [
        {"type": "thought", "signature": SEAL}
    ]


def test_calls_are_told_in_fragments_and_kept_as_objects() -> None:
    told = heard(
        created(),
        *thought(SEAL),
        *called(1, "a", "look", '{"at"', ": 6}"),
        *called(2, "b", "find"),
        completed("requires_action"),
        DONE,
    )

    assert list(told.events)[:5] == [
        ToolCallStarted("a", "look"),
        ToolCallDelta("a", '{"at"'),
        ToolCallDelta("a", ": 6}"),
        ToolCallCompleted("a", "look", '{"at": 6}'),
        ToolCallStarted("b", "find"),
    ]
    assert told.calls == [("a", "look", '{"at": 6}'), ("b", "find", "{}")]
    assert told.answer.items[1:] == (
        {"type": "function_call", "id": "a", "name": "look", "arguments": {"at": 6}},
        {"type": "function_call", "id": "b", "name": "find", "arguments": {}},
    )
    assert told.answer.finish == "tool-calls"


def test_calls_of_two_steps_may_come_in_turn() -> None:
    told = heard(
        start(0, "function_call", id="a", name="look", arguments={}),
        start(1, "function_call", id="b", name="find", arguments={}),
        delta(1, "arguments_delta", arguments='{"b":'),
        delta(0, "arguments_delta", arguments='{"a": 1}'),
        delta(1, "arguments_delta", arguments=" 2}"),
        stop(1),
        stop(0),
        completed("requires_action"),
    )

    assert told.calls == [("b", "find", '{"b": 2}'), ("a", "look", '{"a": 1}')]
    assert [item["id"] for item in told.answer.items if isinstance(item, dict)] == ["a", "b"]


def test_arguments_may_come_with_the_start() -> None:
    told = heard(
        start(0, "function_call", id="a", name="look", arguments={"at": "Kai é"}),
        stop(0),
        completed("requires_action"),
    )

    assert told.calls == [("a", "look", '{"at":"Kai é"}')]
    assert told.arguments_told("a") == '{"at":"Kai é"}'


def test_a_call_that_nobody_stopped_ends_with_the_answer() -> None:
    begun = called(0, "a", "look", '{"at": 6}')[:-1]

    assert heard(*begun, completed("requires_action")).calls == [("a", "look", '{"at": 6}')]


@pytest.mark.parametrize(
    "text", ['{"at": 6', "[6]", '"six"', "null", '{"at": NaN}', '{"at": 1e999}', '{"a":' * 70 + "1" + "}" * 70]
)
def test_arguments_that_are_no_object_are_not_carried_out(text: str) -> None:
    """The wire wants an object, and any other object would be a call that the model did not make."""
    got = fault_in(*called(0, "a", "look", text), completed("requires_action"))

    assert got.code == "PROVIDER_BAD_RESPONSE"


def test_half_a_call_of_an_answer_that_was_cut_is_left_out() -> None:
    told = heard(*said("I look."), *called(1, "a", "look", '{"at'), completed("incomplete"), keep=True)

    assert told.calls == []
    assert [item["type"] for item in told.answer.items if isinstance(item, dict)] == ["model_output"]
    assert (told.answer.finish, told.answer.cursor) == ("length", None)


def test_a_character_that_is_cut_in_two_is_told_whole() -> None:
    told = heard(created(), *said("a\ud83d", "\ude00b"), completed(), official=False)

    assert told.text == "a\U0001f600b"
    assert told.item["content"] == [{"type": "text", "text": "a\U0001f600b"}]


def test_annotations_stand_with_their_text() -> None:
    cited = {"type": "url_citation", "url": "https://example.org/a", "start_index": 0, "end_index": 5}
    told = heard(
        start(0, "model_output"),
        delta(0, "text", text="Hello"),
        delta(0, "text_annotation_delta", annotations=[cited]),
        delta(0, "text", text="."),
        stop(0),
        completed(),
    )

    assert told.item["content"] == [{"type": "text", "text": "Hello.", "annotations": [cited]}]


def test_pictures_stand_between_texts() -> None:
    picture = {"mime_type": "image/png", "data": "iVBORw0="}
    told = heard(
        start(0, "model_output"),
        delta(0, "text", text="Here:"),
        delta(0, "image", **picture),
        delta(0, "text", text="Well?"),
        stop(0),
        completed(),
    )

    assert told.item["content"] == [
        {"type": "text", "text": "Here:"},
        {"type": "image", **picture},
        {"type": "text", "text": "Well?"},
    ]


def test_tools_that_google_runs_are_kept_as_they_came() -> None:
    result = [{"search_suggestions": "<div>tide</div>"}]
    got = items(
        start(0, "google_search_call", id="s1", arguments={"queries": []}),
        delta(0, "google_search_call", arguments={"queries": ["tide"]}, signature=SEAL),
        stop(0),
        start(1, "google_search_result", call_id="s1", result=[]),
        delta(1, "google_search_result", result=result, signature=SEAL, is_error=False),
        stop(1),
        *said("Hello.", index=2),
        completed(),
    )

    assert got == [
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["tide"]}, "signature": SEAL},
        {"type": "google_search_result", "call_id": "s1", "result": result, "signature": SEAL, "is_error": False},
        OUTPUT,
    ]


def test_a_step_of_a_kind_that_is_new_is_kept() -> None:
    step = {"type": "dream_call", "id": "d1", "depth": 2}
    assert event_faults(start(0, "dream_call", id="d1")) != []

    got = items(start(0, "dream_call", id="d1"), delta(0, "dream_call", depth=2), completed(), official=False)
    assert got == [step]


def test_what_has_no_place_is_left_out_and_named() -> None:
    told = heard(
        *said("Hello.")[:-1],
        delta(0, "google_search_call", arguments={"queries": ["tide"]}),
        delta(0, "scent_delta", scent="sea"),
        completed(),
        official=False,
    )

    assert told.answer.items == (OUTPUT,)
    (remark,) = told.answer.remarks
    assert "google_search_call, scent_delta" in remark


def test_an_answer_that_says_nothing_is_one_empty_step() -> None:
    told = heard(created(), start(0, "model_output"), stop(0), start(1, "thought"), stop(1), completed())

    assert told.answer.items == ({"type": "model_output", "content": []},)
    assert told.answer.finish == "stop"


def test_empty_steps_beside_others_leave() -> None:
    assert items(start(0, "model_output"), stop(0), *said("Hello.", index=1), completed()) == [OUTPUT]


def test_steps_may_come_with_the_last_event_alone() -> None:
    told = heard(created(), completed(steps=[OUTPUT]))

    assert (told.text, told.answer.items) == ("Hello.", (OUTPUT,))


def test_what_the_host_said_itself_is_no_part_of_the_answer() -> None:
    echo = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}

    assert items(created(), completed(steps=[echo, OUTPUT])) == [OUTPUT]


def test_text_may_go_on_where_the_answer_before_stopped() -> None:
    """After a pause no start may come for a step that was begun before."""
    assert items(created(), delta(3, "text", text="Hello."), stop(3), completed()) == [OUTPUT]


def test_usage_holds_thoughts_in_the_output_and_by_themselves() -> None:
    told = heard(created(), *said("Hello."), completed(usage=USAGE))

    usage = Usage(input_tokens=900, output_tokens=200, cached_tokens=512, reasoning_tokens=160)
    assert (told.usages, told.answer.usage) == ([usage], usage)


def test_the_last_word_on_usage_counts() -> None:
    early = status_update("in_progress", usage={"total_input_tokens": 1})
    told = heard(early, *said("Hello."), completed(usage={"total_input_tokens": 7, "total_output_tokens": 2}))

    assert told.usages == [Usage(input_tokens=7, output_tokens=2)]


@pytest.mark.parametrize("figures", [{}, {"total_input_tokens": -1}, {"total_output_tokens": "9"}, 7, None])
def test_usage_that_says_nothing_is_none(figures: object) -> None:
    told = heard(*said("Hello."), completed(usage=figures), official=False)

    assert (told.usages, told.answer.usage) == ([], None)


def test_an_answer_that_is_kept_has_its_id_as_the_cursor() -> None:
    events = [created(), *said("Hello."), completed(service_tier="standard")]

    assert heard(*events, keep=True).answer.cursor == INTERACTION
    assert heard(*events, keep=False).answer.cursor is None
    assert heard(*events).answer.state == {
        "responseId": INTERACTION,
        "model": "gemini-3.8-flash",
        "serviceTier": "standard",
        "finishReason": "completed",
    }


@pytest.mark.parametrize(
    ("status", "finish", "is_cursor"),
    [
        ("completed", "stop", True),
        ("requires_action", "other", True),
        ("incomplete", "length", False),
        ("budget_exceeded", "length", False),
        ("requires_continuation", "length", False),
        ("in_progress", "other", False),
        ("idle", "other", False),
    ],
)
def test_the_status_says_why_it_ended(status: str, finish: str, is_cursor: bool) -> None:
    answer = heard(created(), *said("Hello."), completed(status), keep=True).answer

    assert (answer.finish, answer.cursor is not None) == (finish, is_cursor)


def test_a_long_answer_pauses_with_what_to_go_on_with() -> None:
    events = [created(), *said("Hel"), completed("requires_continuation", continuation_token="tok-7")]
    kept, unkept = heard(*events, keep=True).answer, heard(*events).answer

    assert (kept.finish, unkept.finish) == ("pause", "pause")
    assert (kept.cursor, unkept.cursor) == (INTERACTION, None)
    assert "tok-7" in (kept.resume or "")
    assert INTERACTION in (kept.resume or "")
    assert "tok-7" in (unkept.resume or "")
    assert INTERACTION not in (unkept.resume or "")


def test_a_token_on_the_way_is_none_once_the_answer_is_complete() -> None:
    early = status_update("in_progress", continuation_token="tok-1")
    answer = heard(created(), early, *said("Hello."), completed()).answer

    assert (answer.finish, answer.resume) == ("stop", None)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_completed_interaction_may_have_failed(status: str) -> None:
    got = fault_in(created(), *said("Hel"), completed(status))

    assert (got.code, got.upstream_code, got.retryable) == ("PROVIDER_FAILED", status, False)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"code": 8, "message": "Resource has been exhausted"}, "RATE_LIMITED", True),
        ({"code": 14, "message": "The model is overloaded."}, "OVERLOADED", True),
        ({"code": 13, "message": "Internal error encountered."}, "FAILED", True),
    ],
)
def test_a_step_may_tell_why_it_failed(error: dict[str, object], code: str, retryable: bool) -> None:
    got = fault_in(created(), start(0, "model_output", error=error), stop(0), completed("failed"))

    assert (got.code, got.retryable) == (f"PROVIDER_{code}", retryable)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"code": "not_found", "message": "The interaction was not found."}, "CURSOR_LOST", False),
        ({"code": "service_unavailable", "message": "High demand."}, "OVERLOADED", True),
        ({"code": "rate_limit_exceeded", "message": "Slow down."}, "RATE_LIMITED", True),
        ({"code": "quota_exceeded", "message": "Daily limit."}, "QUOTA_EXHAUSTED", False),
        ({"code": "deadline_exceeded", "message": "Too slow."}, "TIMEOUT", True),
        ({"code": "internal_error", "message": "Internal."}, "FAILED", True),
        ({"code": "invalid_request", "message": "Bad thing."}, "REQUEST_REFUSED", False),
        ({"code": "unheard_of", "message": "Who knows."}, "FAILED", False),
        ({"message": "input token count (9) exceeds the maximum number of tokens (8)"}, "CONTEXT_LENGTH", False),
        ({}, "FAILED", False),
        (None, "FAILED", False),
    ],
)
def test_an_error_event_ends_the_stream(error: object, code: str, retryable: bool) -> None:
    event = {"event_type": "error", "error": error}
    assert event_faults(event) == []

    got = fault_in(created(), *said("Hel"), event)
    assert (got.code, got.retryable) == (f"PROVIDER_{code}", retryable)


@pytest.mark.parametrize(
    "event",
    [
        {"event_type": "step.start", "step": {"type": "model_output"}},
        {"event_type": "step.start", "index": 0, "step": {}},
        {"event_type": "step.start", "index": 0, "step": {"type": "text", "text": "hi"}},
        {"event_type": "step.delta", "index": 9, "delta": {"type": "arguments_delta", "arguments": "{}"}},
        {"event_type": "step.delta", "index": 9, "delta": {"type": "text", "text": 7}},
        {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "name": "look"}},
        {"event_type": "interaction.completed", "interaction": {"id": "v1_a"}},
        {"event_type": "interaction.completed", "interaction": {"id": 7, "status": "completed"}},
        {"event_type": 7},
    ],
)
def test_what_cannot_be_read_is_a_fault(event: dict[str, object]) -> None:
    got = fault_in(*said("Hello.", index=5), event, completed())

    assert (got.code, got.retryable) == ("PROVIDER_BAD_RESPONSE", False)


def test_a_step_that_begins_twice_is_a_fault() -> None:
    assert fault_in(start(0, "model_output"), start(0, "thought")).code == "PROVIDER_BAD_RESPONSE"


def test_events_that_are_new_are_passed_over() -> None:
    ping = {"event_type": "interaction.ping"}

    assert items(created(), ping, *said("Hello."), completed(), official=False) == [OUTPUT]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=6), st.text(max_size=40))
def test_arguments_may_be_cut_anywhere(cuts: list[int], value: str) -> None:
    text = json.dumps({"at": value, "deep": [{"a": 1.5}, None]})
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[one:other] for one, other in itertools.pairwise(places)]

    told = heard(*called(0, "a", "look", *pieces), completed("requires_action"))

    assert told.item["arguments"] == json.loads(text)
    assert told.arguments_told("a") == text


def test_an_answer_goes_back_as_it_came_with_its_results() -> None:
    """Google refuses a conversation in which a thought, or its signature, is not what it gave."""
    codec = GeminiInteractions()
    answer = heard(
        created(),
        *thought(SEAL, "I look."),
        *called(1, "a", "look", '{"at": 6}'),
        *called(2, "b", "find"),
        completed("requires_action"),
    ).answer
    recalled = Gemini().recall(list(answer.items), model="m", running=True, settings={})
    read = codec.decode([{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}, *recalled])
    results = [
        Message(f"r{call_id}", "tool", (ToolResult(call_id, "found"),), source="input") for call_id in ("a", "b")
    ]

    body = {"input": codec.encode([*read.messages, *results], read.originals).messages}

    assert body["input"][1:4] == list(answer.items)
    assert step_faults(body) == []
    assert unsigned_steps(body) == []
