from __future__ import annotations

import json
import time
from typing import Any

import pytest

from providers.provider_streams import CALL, DONE, delta, fault_in, heard, server_events, usage
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_sdk import Answer, Finish, ProviderFaultError, ServerEvent, TextDelta, Usage


def test_an_answer_is_its_texts_and_ends_with_done() -> None:
    got = heard(delta(role="assistant", content=""), delta(content="Half "), delta(content="past six."), DONE)

    assert got.text == "Half past six."
    assert got.item == {"role": "assistant", "content": "Half past six."}


def test_nothing_is_told_of_empty_pieces() -> None:
    got = heard(delta(role="assistant", content=""), delta(), delta("stop", content="x"), DONE)

    assert [type(event) for event in got.events] == [TextDelta, Answer]


def test_what_follows_the_end_is_not_read() -> None:
    reader = OpenAICompatible().reader(CALL)
    first, done, more = server_events([delta("stop", content="x"), DONE, delta(content="more")])
    reader.parse(first)
    reader.parse(done)

    assert reader.parse(more) == []
    assert reader.end() is None


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content-filter"),
        ("eos", "stop"),
        ("tool_calls", "other"),
        ("a new one", "other"),
    ],
)
def test_the_reason_to_end_is_named_in_our_words_and_kept_in_theirs(reason: str, finish: Finish) -> None:
    got = heard(delta(reason, content="x"), DONE)

    assert got.answer.finish == finish
    assert got.answer.state["finishReason"] == reason


def test_without_done_an_answer_is_complete_once_a_reason_was_given() -> None:
    reader = OpenAICompatible().reader(CALL)
    begun, ended, costs = server_events(
        [delta(content="x"), delta("stop"), usage(prompt_tokens=9, completion_tokens=1)]
    )
    reader.parse(begun)
    assert reader.end() is None
    reader.parse(ended)
    reader.parse(costs)
    answer = reader.end()

    assert answer is not None
    assert answer.items == ({"role": "assistant", "content": "x"},)
    assert answer.usage == Usage(input_tokens=9, output_tokens=1)
    assert reader.end() is None


def test_done_without_a_reason_ends_an_answer_for_no_known_one() -> None:
    assert heard(delta(content="x"), DONE).answer.finish == "other"


def test_done_before_anything_is_a_broken_stream() -> None:
    assert fault_in(DONE).code == "PROVIDER_STREAM_BROKEN"
    assert fault_in(usage(prompt_tokens=3), DONE).code == "PROVIDER_STREAM_BROKEN"


def test_a_refusal_is_a_text_and_a_reason_of_its_own() -> None:
    got = heard(delta(role="assistant", content=None, refusal=""), delta(refusal="I cannot"), delta("stop"), DONE)

    assert got.text == "I cannot"
    assert got.answer.finish == "refusal"
    assert got.item == {"role": "assistant", "content": None, "refusal": "I cannot"}


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_told_apart_and_kept_under_its_own_key(key: str) -> None:
    got = heard(delta(**{key: "It is "}), delta(**{key: "early."}), delta("stop", content="Six."), DONE)

    assert (got.reasoning, got.text) == ("It is early.", "Six.")
    assert got.item == {"role": "assistant", "content": "Six.", key: "It is early."}


def test_reasoning_that_was_there_and_empty_is_kept_as_empty() -> None:
    assert heard(delta(reasoning_content="", content="x"), delta("stop"), DONE).item["reasoning_content"] == ""


def test_the_same_reasoning_under_several_keys_is_told_once() -> None:
    detail = {"type": "reasoning.text", "text": "hm", "index": 0}
    got = heard(delta(reasoning="hm", reasoning_content="hm", reasoning_details=[detail]), delta("stop"), DONE)

    assert got.reasoning == "hm"


def test_details_of_reasoning_are_joined_where_they_are_text_and_left_alone_where_they_are_sealed() -> None:
    got = heard(
        delta(reasoning_details=[{"type": "reasoning.text", "text": "It ", "index": 0, "format": "v1"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "text": "is.", "index": 0, "signature": "c2ln"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "c2Vh", "index": 1}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "bGVk", "index": 1}]),
        delta("stop", content="x"),
        DONE,
    )

    assert got.reasoning == "It is."
    assert got.item["reasoning_details"] == [
        {"type": "reasoning.text", "text": "It is.", "index": 0, "format": "v1", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "c2Vh", "index": 1},
        {"type": "reasoning.encrypted", "data": "bGVk", "index": 1},
    ]


def test_unknown_keys_of_a_delta_stay_in_the_message() -> None:
    got = heard(
        delta(content="x", extra_content={"maker": {"seal": "c2Vh"}}, notes=[1]),
        delta("stop", extra_content={"maker": {"seal": "c2Vh", "n": 2}}, notes=[2], mood="calm"),
        DONE,
    )

    assert got.item["extra_content"] == {"maker": {"seal": "c2Vh", "n": 2}}
    assert (got.item["notes"], got.item["mood"]) == ([1, 2], "calm")


def test_a_server_cannot_set_the_words_by_which_a_host_marks_messages() -> None:
    marks: dict[str, Any] = {
        "id": "m0",
        "meta": {"pinned": True},
        "name": "root",
        "tool_call_id": "a",
        "prefix": True,
    }
    got = heard(delta(role="system", content="x", **marks), delta("stop"), DONE)

    assert got.item == {"role": "assistant", "content": "x"}


def test_a_spoken_answer_is_kept_by_its_id_alone() -> None:
    got = heard(delta(audio={"id": "sound_1", "data": "AAAA"}), delta("stop", content="x"), DONE)

    assert got.item["audio"] == {"id": "sound_1"}


def test_a_text_in_parts_is_read_as_one() -> None:
    parts = [{"type": "text", "text": "Half "}, {"type": "text", "text": "past."}]

    assert heard(delta("stop", content=parts), DONE).item["content"] == "Half past."


def test_a_character_that_is_cut_in_two_is_one_again() -> None:
    first, second = (
        '{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00b"}}]}',
    )
    got = heard(first, second, delta("stop"), DONE)

    assert got.text == "a😀b"
    assert got.item["content"] == "a😀b"


def test_half_a_character_becomes_the_sign_for_one() -> None:
    got = heard('{"choices":[{"delta":{"content":"a\\ud83d"}}]}', delta("stop"), DONE)

    assert got.text == got.item["content"] == "a\ufffd"


def test_numbers_that_json_does_not_have_are_stored_as_null() -> None:
    got = heard('{"choices":[{"delta":{"content":"x","pace":[NaN,1e999,2.5]}}]}', delta("stop"), DONE)

    assert got.item["pace"] == [None, None, 2.5]
    json.dumps(got.item, allow_nan=False)


def test_other_choices_are_not_read() -> None:
    other = delta("stop", content="no")
    other["choices"][0]["index"] = 1

    assert heard(other, delta("stop", content="yes"), DONE).text == "yes"


@pytest.mark.parametrize(
    "chunk",
    [
        {"id": "x", "choices": []},
        {"id": "x", "choices": None},
        {"choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}]},
        {"choices": [{"delta": None}]},
        {"object": "chat.completion.chunk"},
        "",
    ],
)
def test_chunks_that_say_nothing_are_passed_over(chunk: object) -> None:
    assert heard(delta(content="x"), chunk, delta("stop"), DONE).text == "x"


@pytest.mark.parametrize(
    "data",
    [
        "no json",
        '{"choices":',
        "[]",
        "null",
        "7",
        '{"a":1}',
        '{"choices":{}}',
        '{"choices":[7]}',
        '{"choices":[{"delta":7}]}',
        '{"choices":[{"delta":{"content":7}}]}',
        '{"choices":[{"delta":{"content":[{"type":"image"}]}}]}',
        '{"choices":[{"delta":{"reasoning":{}}}]}',
        '{"choices":[{"delta":{"reasoning_details":["x"]}}]}',
        '{"choices":[{"delta":{"reasoning_details":[{"data":7}]}}]}',
        '{"choices":[{"delta":{"tool_calls":{}}}]}',
        '{"choices":[{"delta":{"tool_calls":[7]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"type":"custom"}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"id":[]}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":7}}]}}]}',
        '{"choices":[{"finish_reason":7}]}',
        '{"choices":' + "[" * 100_000,
        '{"choices":[],"a":' + "[" * 100 + "]" * 100 + "}",
        '{"choices":[],"a":' + "9" * 5_000 + "}",
    ],
    ids=lambda data: data[:40],
)
def test_what_is_no_chunk_is_a_bad_response(data: str) -> None:
    assert fault_in(data).code == "PROVIDER_BAD_RESPONSE"


def test_an_error_in_the_stream_is_its_fault() -> None:
    error = {"error": {"message": "secret words", "type": "server_error", "code": None, "param": None}}
    got = fault_in(delta(content="x"), error)

    assert (got.code, got.retryable, got.upstream_code) == ("PROVIDER_FAILED", True, "server_error")
    assert "secret" not in repr(got)


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"code": 429, "message": "slow"}, "PROVIDER_RATE_LIMITED", True),
        ({"code": "rate_limit_exceeded"}, "PROVIDER_RATE_LIMITED", True),
        ({"code": 502, "message": "upstream"}, "PROVIDER_FAILED", True),
        ({"type": "overloaded_error"}, "PROVIDER_OVERLOADED", True),
        ({"code": "context_length_exceeded"}, "PROVIDER_CONTEXT_LENGTH", False),
        ({"message": "maximum context length is 5 tokens"}, "PROVIDER_CONTEXT_LENGTH", False),
        ({"code": "insufficient_quota"}, "PROVIDER_QUOTA_EXHAUSTED", False),
        ({"code": "unheard_of"}, "PROVIDER_FAILED", False),
        ("a sentence", "PROVIDER_FAILED", False),
        (7, "PROVIDER_FAILED", False),
    ],
)
def test_an_error_in_the_stream_is_known_by_its_words(error: object, code: str, retryable: bool) -> None:
    got = fault_in({"error": error})

    assert (got.code, got.retryable) == (code, retryable)


def test_errors_come_in_other_shapes_too() -> None:
    assert fault_in({"object": "error", "message": "m", "code": 503}).code == "PROVIDER_OVERLOADED"
    assert fault_in({"choices": [{"delta": {}, "error": {"code": 429}}]}).code == "PROVIDER_RATE_LIMITED"
    assert fault_in(delta("error")).code == "PROVIDER_FAILED"
    assert fault_in(delta("insufficient_system_resource")).retryable


def test_an_event_that_is_named_error_is_one() -> None:
    event = ServerEvent('{"id": "x", "message": "m", "type": "overloaded_error"}', event="error")
    with pytest.raises(ProviderFaultError) as caught:
        OpenAICompatible().reader(CALL).parse(event)

    assert caught.value.fault.code == "PROVIDER_OVERLOADED"


@pytest.mark.parametrize(
    "chunks",
    [
        [delta(content="x"), delta("stop"), usage(prompt_tokens=9, completion_tokens=4)],
        [delta(content="x"), {**delta("stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 4}}],
        [
            {**delta(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
            {**delta("stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
        ],
        [{**delta(content="x"), "usage": None}, delta("stop"), usage(prompt_tokens=9, completion_tokens=4)],
        [
            delta(content="x"),
            {"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 9, "completion_tokens": 4}}]},
        ],
    ],
)
def test_usage_is_told_once_wherever_it_comes(chunks: list[object]) -> None:
    got = heard(*chunks, DONE)

    assert got.usages == [Usage(input_tokens=9, output_tokens=4)]
    assert got.answer.usage == got.usages[0]


def test_usage_has_its_details_under_the_names_of_several_servers() -> None:
    details = {"cached_tokens": 5, "cache_write_tokens": 2}
    told = usage(
        prompt_tokens=9,
        completion_tokens=4,
        prompt_tokens_details=details,
        completion_tokens_details={"reasoning_tokens": 3},
    )

    whole = Usage(input_tokens=9, output_tokens=4, cached_tokens=5, cache_write_tokens=2, reasoning_tokens=3)
    assert heard(delta("stop", content="x"), told, DONE).answer.usage == whole
    other = heard(delta("stop", content="x"), usage(prompt_tokens=9, prompt_cache_hit_tokens=5), DONE)
    assert other.answer.usage == Usage(input_tokens=9, cached_tokens=5)


def test_figures_that_are_none_are_not_told() -> None:
    told = usage(prompt_tokens="9", completion_tokens=-1, total_tokens=True, prompt_tokens_details=[1])

    assert heard(delta("stop", content="x"), told, DONE).usages == []


def test_what_is_stored_for_people_is_short_and_printable() -> None:
    chunk = {**delta("stop", content="x"), "model": "a\x1b[31m" + "b" * 500, "system_fingerprint": "fp_1"}
    state = heard({**chunk, "service_tier": None, "id": 7}, DONE).answer.state

    assert state == {"model": "a[31m" + "b" * 194, "systemFingerprint": "fp_1", "finishReason": "stop"}


def test_an_answer_is_read_and_written_by_the_codec_as_the_same_message() -> None:
    item = heard(
        delta(reasoning_content="hm", extra_content={"seal": "c2Vh"}), delta("stop", content="x"), DONE
    ).item
    codec = ChatCompletions()
    decoded = codec.decode([item])

    assert codec.encode(decoded.messages, decoded.originals).messages == [item]


def test_readers_share_nothing() -> None:
    driver = OpenAICompatible()
    one, other = driver.reader(CALL), driver.reader(CALL)
    for event in server_events([delta(content="x"), delta("stop")]):
        one.parse(event)

    assert other.end() is None


def test_a_long_answer_takes_time_that_grows_with_its_length() -> None:
    assert seconds_for(20_000) < max(0.5, 40 * seconds_for(2_000))


def seconds_for(size: int) -> float:
    """The processor time of reading an answer of so many chunks."""
    detail = {"type": "reasoning.text", "text": "more ", "index": 0}
    piece = json.dumps(delta(content="word ", reasoning="more ", reasoning_details=[detail]))
    start = time.process_time()
    got = heard(*[piece] * size, delta("stop"), DONE)
    seconds = time.process_time() - start
    assert len(got.item["reasoning_details"]) == 1
    return seconds
