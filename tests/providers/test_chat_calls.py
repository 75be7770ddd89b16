from __future__ import annotations

import json
import time

import pytest

from providers.provider_streams import DONE, Heard, delta, fault_in, fragment, heard
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_sdk import Answer, ToolCall, ToolCallCompleted, ToolCallDelta, ToolCallStarted

SIX = '{"hour":6}'


def names_and_arguments(got: Heard) -> list[tuple[str, str]]:
    return [(name, arguments) for _, name, arguments in got.calls]


def test_a_call_is_put_together_by_its_index() -> None:
    got = heard(
        delta(role="assistant", content=None),
        fragment("", index=0, id="a", type="function", name="look"),
        fragment('{"ho', index=0),
        fragment('ur":6}', index=0),
        delta("tool_calls"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX)]
    assert got.arguments_told("a") == SIX
    assert got.answer.finish == "tool-calls"
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": SIX}}
    assert got.item == {"role": "assistant", "content": None, "tool_calls": [call]}


def test_fragments_of_parallel_calls_may_come_in_turn() -> None:
    got = heard(
        fragment("", index=0, id="a", name="look"),
        fragment("", index=1, id="b", name="find"),
        fragment('{"x":', index=1),
        fragment('{"y":', index=0),
        fragment("1}", index=1),
        fragment("2}", index=0),
        delta("tool_calls"),
        DONE,
    )

    assert got.calls == [("a", "look", '{"y":2}'), ("b", "find", '{"x":1}')]


def test_calls_are_told_as_they_come_and_completed_before_the_answer() -> None:
    got = heard(fragment("{}", index=0, id="a", name="look"), delta("tool_calls"), DONE)

    assert [type(event) for event in got.events] == [ToolCallStarted, ToolCallDelta, ToolCallCompleted, Answer]


@pytest.mark.parametrize("reason", ["stop", "function_call", "eos"])
def test_calls_are_what_an_answer_ended_for_whatever_the_server_says(reason: str) -> None:
    got = heard(fragment("{}", index=0, id="a", name="look"), delta(reason), DONE)

    assert got.answer.finish == "tool-calls"


def test_without_an_index_a_name_begins_a_call() -> None:
    got = heard(
        fragment(id="a", name="look"),
        fragment('{"hour"'),
        fragment(":6}"),
        fragment("{}", id="b", name="find"),
        delta("stop"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX), ("b", "find", "{}")]


def test_without_an_index_an_id_in_every_fragment_is_one_call() -> None:
    got = heard(
        fragment('{"hour"', id="a", name="look"),
        fragment(":6", id="a", name="look"),
        fragment("}", id="a", name=""),
        delta("stop"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX)]


def test_a_new_id_in_every_fragment_is_one_call_while_the_name_comes_once() -> None:
    got = heard(
        fragment("", index=0, id="a", name="look"),
        fragment('{"hour"', index=0, id="b"),
        fragment(":6}", index=0, id="c"),
        delta("tool_calls"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX)]


def test_whole_calls_that_all_have_the_same_index_are_several() -> None:
    got = heard(
        fragment(SIX, index=0, id="a", name="look"),
        fragment("{}", index=0, id="b", name="look"),
        delta("stop"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX), ("b", "look", "{}")]


def test_whole_calls_in_one_chunk_without_index_and_id_get_ids_that_differ() -> None:
    one, other = (
        {"function": {"name": "look", "arguments": {"hour": 6}}},
        {"function": {"name": "look", "arguments": {}}},
    )
    got = heard(delta("tool_calls", tool_calls=[one, other]), DONE)

    assert names_and_arguments(got) == [("look", SIX), ("look", "{}")]
    assert len({call_id for call_id, _, _ in got.calls}) == 2
    assert [call["id"] for call in got.item["tool_calls"]] == [call_id for call_id, _, _ in got.calls]
    assert all(0 < len(call_id) <= 40 for call_id, _, _ in got.calls)


def test_a_made_up_id_is_none_that_the_server_gave() -> None:
    first = heard(fragment("{}", name="look"), delta("stop"), DONE).calls[0][0]
    got = heard(fragment("{}", index=0, name="look"), fragment("{}", index=1, id=first, name="find"), DONE)

    assert len({call_id for call_id, _, _ in got.calls}) == 2


def test_made_up_ids_of_two_answers_differ() -> None:
    one = heard({**fragment("{}", name="look"), "id": "chatcmpl-1"}, delta("stop"), DONE)
    other = heard({**delta("stop", tool_calls=[{"function": {"name": "look"}}]), "id": "chatcmpl-2"}, DONE)

    assert one.calls[0][0] != other.calls[0][0]


def test_ids_that_the_server_repeats_are_kept() -> None:
    calls = [{"index": at, "id": "a", "function": {"name": "look", "arguments": "{}"}} for at in range(2)]
    got = heard(delta("tool_calls", tool_calls=calls), DONE)

    assert [call_id for call_id, _, _ in got.calls] == ["a", "a"]


def test_a_call_that_is_told_whole_once_more_is_one_call() -> None:
    got = heard(
        fragment('{"hour"', index=0, id="a", name="look"),
        fragment(":6}", index=0),
        fragment(SIX, index=0, id="a", name="look"),
        delta("tool_calls"),
        DONE,
    )

    assert got.calls == [("a", "look", SIX)]


def test_no_arguments_are_an_empty_object() -> None:
    got = heard(fragment("", index=0, id="a", name="look"), delta("tool_calls"), DONE)

    assert got.calls == [("a", "look", "{}")]
    assert got.arguments_told("a") == "{}"


def test_arguments_that_are_no_json_are_kept_to_the_letter() -> None:
    got = heard(fragment('{"hour": six', index=0, id="a", name="look"), delta("tool_calls"), DONE)

    assert got.calls == [("a", "look", '{"hour": six')]


def test_a_call_of_the_retired_kind_is_one_like_any_other() -> None:
    got = heard(
        delta(function_call={"name": "look", "arguments": ""}),
        delta(function_call={"arguments": SIX}),
        delta("function_call"),
        DONE,
    )

    assert names_and_arguments(got) == [("look", SIX)]
    assert got.answer.finish == "tool-calls"


def test_unknown_keys_of_a_call_stay_where_they_were() -> None:
    seal = {"google": {"thought_signature": "c2Vh"}}
    raw = {
        "index": 0,
        "id": "a",
        "extra_content": seal,
        "function": {"name": "look", "arguments": "{}", "mark": 1},
    }
    call = heard(delta("tool_calls", tool_calls=[raw]), DONE).item["tool_calls"][0]

    assert call["extra_content"] == seal
    assert call["function"] == {"name": "look", "arguments": "{}", "mark": 1}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_call_that_was_cut_is_never_complete(reason: str) -> None:
    got = heard(
        fragment(SIX, index=0, id="a", name="look"),
        fragment('{"ho', index=1, id="b", name="find"),
        delta(reason),
        DONE,
    )

    assert got.calls == [("a", "look", SIX)]
    assert got.answer.finish in ("length", "content-filter")
    assert len(got.item["tool_calls"]) == 2


def test_a_call_before_an_end_without_a_reason_is_complete_if_it_is_whole() -> None:
    whole = heard(fragment(SIX, index=0, id="a", name="look"), DONE)
    cut = heard(fragment('{"ho', index=0, id="a", name="look"), DONE)

    assert (whole.answer.finish, whole.calls) == ("tool-calls", [("a", "look", SIX)])
    assert (cut.answer.finish, cut.calls) == ("other", [])


def test_a_reason_in_every_chunk_ends_each_call_by_itself() -> None:
    calls = [
        delta(
            "tool_calls", tool_calls=[{"index": at, "id": name, "function": {"name": "look", "arguments": "{}"}}]
        )
        for at, name in enumerate("ab")
    ]
    got = heard(*calls, DONE)

    assert [call_id for call_id, _, _ in got.calls] == ["a", "b"]


def test_a_call_that_goes_on_after_its_end_is_a_bad_response() -> None:
    call = fragment("{}", index=0, id="a", name="look")

    assert fault_in(call, delta("tool_calls"), fragment("more", index=0)).code == "PROVIDER_BAD_RESPONSE"


def test_a_call_without_a_name_is_a_bad_response() -> None:
    assert fault_in(fragment("{}", index=0, id="a"), delta("tool_calls")).code == "PROVIDER_BAD_RESPONSE"


def test_a_text_beside_calls_stays() -> None:
    got = heard(delta(content="I look."), fragment("{}", index=0, id="a", name="look"), delta("tool_calls"), DONE)

    assert got.item["content"] == "I look."


def test_the_codec_reads_and_writes_the_calls_as_they_are() -> None:
    item = heard(
        fragment("{broken", index=0, id="a", name="look"),
        fragment("", index=1, name="find"),
        delta("tool_calls"),
        DONE,
    ).item
    codec = ChatCompletions()
    decoded = codec.decode([item])

    assert [part.name for part in decoded.messages[0].parts if isinstance(part, ToolCall)] == ["look", "find"]
    assert codec.encode(decoded.messages, decoded.originals).messages == [item]


@pytest.mark.parametrize(
    "fields",
    [{"index": 0}, {"id": "a"}, {"id": "a", "name": "look"}, {"index": 0, "id": "a", "name": "look"}],
    ids=lambda fields: "-".join(fields),
)
def test_long_arguments_take_time_that_grows_with_their_length(fields: dict[str, object]) -> None:
    few, many = seconds_for(2_000, fields), seconds_for(20_000, fields)

    assert many < max(0.5, 40 * few)


def seconds_for(size: int, fields: dict[str, object]) -> float:
    """The processor time of reading a call whose arguments come in so many fragments with these keys."""
    first = json.dumps(fragment('{"at":[{}', index=0, id="a", name="look"))
    if "index" not in fields:
        first = json.dumps(fragment('{"at":[{}', id="a", name="look"))
    more = json.dumps(fragment(',{"b":"}"}', **fields))
    chunks = [first, *[more] * size, json.dumps(fragment("]}", **fields)), delta("tool_calls"), DONE]
    start = time.process_time()
    got = heard(*chunks)
    seconds = time.process_time() - start
    assert len(got.calls) == 1
    return seconds
