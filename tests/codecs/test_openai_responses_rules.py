from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from responses_judge import order_faults, type_faults
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import (
    Adapted,
    ApprovalRequest,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

UNTIMED = settings(deadline=None)
CODEC = OpenAIResponses()
Wire = dict[str, Any]


def say(role: str, content: object, **keys: object) -> Wire:
    return {"role": role, "content": content, **keys}


def call(call_id: str) -> Wire:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}


def output(call_id: str, value: object = "found") -> Wire:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def thought(name: str) -> Wire:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": "sealed"}


def adapt(data: object, *protected: str) -> Adapted:
    decoded = CODEC.decode(data)
    return CODEC.adapt(decoded.messages, decoded.originals, protected=protected)


def adapt_foreign(*messages: Message, protected: Sequence[str] = ()) -> Adapted:
    return CODEC.adapt(messages, None, protected=protected)


def ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def test_the_wire_takes_any_order_of_roles_and_results_away_from_their_call() -> None:
    items = [say("assistant", "a"), call("c"), say("user", "b"), say("user", "d"), output("c"), say("system", "e")]
    decoded = CODEC.decode(items)
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)


def test_a_result_without_its_call_is_left_out() -> None:
    adapted = adapt([say("user", "a"), output("c"), say("user", "b")])
    assert (ids(adapted.messages), adapted.left_out) == (["m0", "m2"], {"m1": "unpaired"})


def test_a_result_before_its_call_answers_nothing() -> None:
    assert adapt([output("c"), call("c"), say("user", "a")]).left_out == {"m0": "unpaired", "m1": "unpaired"}


def test_a_protected_result_without_its_call_is_refused() -> None:
    adapted = adapt([say("user", "a"), output("c")], "m1")
    assert ids(adapted.messages) == ["m0", "m1"]
    assert "add the assistant message" in adapted.refused["m1"]


@pytest.mark.parametrize("tail", [[], [say("user", "never mind")]], ids=["at the end", "in the middle"])
def test_a_call_without_result_leaves_alone_when_nothing_binds_it_to_others(tail: list[Wire]) -> None:
    adapted = adapt([say("user", "a"), call("c"), call("d"), output("c"), *tail])
    assert adapted.left_out == {"m2": "unpaired"}


def test_a_call_without_result_takes_the_reasoning_and_its_other_calls_along() -> None:
    adapted = adapt([say("user", "a"), thought("r"), call("c"), call("d"), output("c"), say("user", "b")])
    assert adapted.left_out == dict.fromkeys(["r", "m2", "m3", "m4"], "unpaired")


def test_a_protected_call_without_result_is_refused_by_name() -> None:
    adapted = adapt([say("user", "a"), call("c")], "m1")
    assert "(c)" in adapted.refused["m1"]
    assert "append a result" in adapted.refused["m1"]


def test_hosted_calls_need_their_results_too() -> None:
    shell = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}
    assert adapt([shell, say("user", "a")]).left_out == {"m0": "unpaired"}


def test_a_program_may_wait_for_the_calls_it_makes() -> None:
    program = {"type": "program", "id": "p", "call_id": "p1", "code": "x", "fingerprint": "f"}
    assert adapt([say("user", "a"), program, call("c"), output("c")]).left_out == {}


@pytest.mark.parametrize("cursor", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_results_may_answer_calls_that_the_provider_holds(cursor: Wire) -> None:
    body = {**cursor, "input": [output("c"), say("user", "a")]}
    assert adapt(body).left_out == {}
    assert [message.required for message in CODEC.decode(body).messages] == [True, False]
    assert adapt({**body, **dict.fromkeys(cursor)}).left_out == {"m0": "unpaired"}


def test_a_call_in_the_input_needs_its_result_also_behind_a_cursor() -> None:
    assert adapt({"previous_response_id": "r", "input": [call("c"), say("user", "a")]}).left_out == {
        "m0": "unpaired"
    }


def test_a_reference_may_stand_for_the_call_or_for_the_result() -> None:
    reference = {"type": "item_reference", "id": "x"}
    assert adapt([reference, output("c"), call("d")]).left_out == {}


@pytest.mark.parametrize("follower", [[], [say("user", "a")], [output("c")], [say("developer", "a")]])
def test_reasoning_that_leads_nowhere_is_left_out(follower: list[Wire]) -> None:
    adapted = adapt(
        [call("c"), thought("r1"), thought("r2"), *follower, *([] if output("c") in follower else [output("c")])]
    )
    assert adapted.left_out == {"r1": "wire-rule", "r2": "wire-rule"}


def test_reasoning_before_an_empty_answer_leaves_with_it() -> None:
    assert adapt([thought("r"), say("assistant", ""), say("user", "a")]).left_out == {
        "m1": "empty",
        "r": "wire-rule",
    }


@pytest.mark.parametrize("follower", [say("assistant", "a"), {"type": "web_search_call", "id": "ws"}])
def test_reasoning_that_leads_to_an_item_stays(follower: Wire) -> None:
    assert adapt([thought("r1"), thought("r2"), follower]).left_out == {}


def test_protected_reasoning_that_leads_nowhere_is_refused() -> None:
    adapted = adapt([thought("r"), say("user", "a")], "r")
    assert "right behind it" in adapted.refused["r"]
    assert ids(adapted.messages) == ["r", "m1"]


@pytest.mark.parametrize("content", ["", " \n", None, [], [{"type": "input_text", "text": " "}]])
def test_a_message_that_says_nothing_is_left_out(content: object) -> None:
    adapted = adapt([say("user", content), say("user", "a")])
    assert (adapted.left_out, ids(adapted.messages)) == ({"m0": "empty"}, ["m1"])


def test_protected_messages_that_say_nothing_stay_or_are_refused() -> None:
    assert adapt([say("user", " ")], "m0").refused == {}
    assert "no content" in adapt([say("user", [])], "m0").refused["m0"]
    assert adapt({"instructions": " ", "input": []}, "instructions").refused == {}


def test_a_picture_and_an_item_without_words_are_not_empty() -> None:
    picture = {"type": "input_image", "detail": "auto", "image_url": "x"}
    items = [say("user", [picture]), output("c", ""), call("c"), {"type": "compaction_trigger"}, say("user", "x")]
    assert "empty" not in adapt(items).left_out.values()


def test_reasoning_of_another_provider_is_taken_out_and_named() -> None:
    adapted = adapt_foreign(
        Message("a", "assistant", (Reasoning("hm", "signed"), Text("b"))),
        Message("r", "assistant", (Reasoning("x"),)),
    )
    assert [message.parts for message in adapted.messages] == [(Text("b"),)]
    assert adapted.left_out == {"r": "empty"}
    assert [(repair.ids, "reasoning" in repair.text) for repair in adapted.repairs] == [(("a",), True)]


def test_foreign_reasoning_leaves_a_protected_message_too() -> None:
    adapted = adapt_foreign(Message("a", "assistant", (Reasoning("hm"), Text("b"))), protected=["a"])
    assert (adapted.messages[0].parts, adapted.refused) == ((Text("b"),), {})


def test_reasoning_that_was_read_here_stays() -> None:
    decoded = CODEC.decode([thought("r"), say("assistant", "a")])
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)


def test_foreign_parts_without_a_place_become_texts_that_say_so() -> None:
    sound, picture = Audio(data="AAAA"), Image(data="AAAA")
    adapted = adapt_foreign(
        Message("u", "user", (picture, sound, Unknown({"type": "hologram"}), File(file_id="f"))),
        Message("a", "assistant", (picture, File(name="a.pdf", data="AAAA"), File(text="plain"))),
        Message("c", "assistant", (ToolCall("c", "f", "{}"),)),
        Message("t", "tool", (ToolResult("c", (picture, sound), is_error=True),)),
    )
    told = Text("[audio left out]")
    assert [message.parts for message in adapted.messages] == [
        (picture, told, Text("[hologram left out]"), File(file_id="f")),
        (Text("[image left out]"), Text("[file a.pdf left out]"), Text("plain")),
        (ToolCall("c", "f", "{}"),),
        (ToolResult("c", (picture, told)),),
    ]
    assert {name for repair in adapted.repairs for name in repair.ids} == {"u", "a", "t"}
    assert type_faults({"model": "m", "input": CODEC.encode(adapted.messages).messages}) == []


def test_unknown_parts_that_this_wire_knows_after_all_keep_their_place() -> None:
    held = Unknown({"type": "input_image", "detail": "auto", "file_id": "f"})
    search = Unknown({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}})
    adapted = adapt_foreign(
        Message("u", "user", (held, Unknown({"type": "output_text", "text": "a"}))),
        Message("a", "assistant", (search, Text("b"))),
        Message("b", "assistant", (held,)),
    )
    assert [message.parts for message in adapted.messages] == [
        (held, Text("a")),
        (search, Text("b")),
        (Text("[input_image left out]"),),
    ]


def test_names_approvals_and_compactions_of_others_are_taken_out_and_named_together() -> None:
    sealed = Compaction("openai", "sealed")
    adapted = adapt_foreign(
        Message("a", "user", (Text("hi"),), name="Ilse"),
        Message("b", "user", (Text("ho"),), name="Bo"),
        Message("c", "assistant", (Text("x"), ApprovalRequest("p", "c"), Compaction("other", "y"), sealed)),
        Message("n", "system", (Notice("continuation"),)),
    )
    assert [message.name for message in adapted.messages] == [None] * 3
    assert adapted.messages[2].parts == (Text("x"), sealed)
    assert [repair.ids for repair in adapted.repairs] == [("a", "b"), ("c",), ("c",)]
    assert adapted.left_out == {"n": "empty"}


def test_a_stray_result_leaves_a_foreign_message_that_says_more() -> None:
    adapted = adapt_foreign(Message("u", "user", (ToolResult("gone", "x"), Text("and now?"))))
    assert adapted.messages[0].parts == (Text("and now?"),)
    assert adapted.left_out == {}


def test_a_protected_tool_message_without_a_result_is_refused() -> None:
    adapted = adapt_foreign(Message("t", "tool", (ApprovalRequest("p", "c"),)), protected=["t"])
    assert "no content" in adapted.refused["t"]


CONTENTS = st.sampled_from(["", " ", "ok", [], [{"type": "input_text", "text": "ok"}]])
IDS = st.sampled_from(["a", "b", "c"])
ITEMS = st.one_of(
    st.builds(say, st.sampled_from(["system", "user", "assistant"]), CONTENTS),
    st.builds(call, IDS),
    st.builds(call, IDS),
    st.builds(output, IDS),
    st.builds(output, IDS),
    st.just({"type": "reasoning", "id": "r", "summary": []}),
    st.just({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}}),
)
LISTS = st.lists(ITEMS, max_size=14)
FOREIGN_PARTS = st.lists(
    st.one_of(
        st.sampled_from([Text("ok"), Text(" "), Reasoning("hm", "sig"), Image(data="AAAA"), Audio(data="AAAA")]),
        st.builds(ToolCall, IDS, st.just("f"), st.just("{}")),
        st.builds(ToolResult, IDS, st.sampled_from(["ok", (Text("ok"), Audio(data="AAAA"))])),
    ),
    max_size=3,
).map(tuple)
FOREIGN = st.lists(
    st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), FOREIGN_PARTS), max_size=8
).map(
    lambda drawn: [Message(f"x{at}", role, parts) for at, (role, parts) in enumerate(drawn)]  # type: ignore[arg-type]
)


@UNTIMED
@given(LISTS)
def test_what_comes_out_is_what_a_server_takes(items: list[Wire]) -> None:
    decoded = CODEC.decode(items)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert adapted.refused == {}
    written = CODEC.encode(adapted.messages, decoded.originals).messages
    assert order_faults(written) == []
    assert type_faults({"model": "m", "input": written}) == []
    assert sorted([*ids(adapted.messages), *adapted.left_out]) == sorted(ids(decoded.messages))


@UNTIMED
@given(LISTS, st.data())
def test_nothing_protected_leaves_and_a_second_run_changes_nothing(items: list[Wire], data: st.DataObject) -> None:
    decoded = CODEC.decode(items)
    names = ids(decoded.messages)
    protected = data.draw(st.frozensets(st.sampled_from(names))) if names else frozenset()
    once = CODEC.adapt(decoded.messages, decoded.originals, protected=protected)
    assert protected.isdisjoint(once.left_out)
    if not once.refused:
        assert order_faults(CODEC.encode(once.messages, decoded.originals).messages) == []
    twice = CODEC.adapt(once.messages, decoded.originals, protected=protected)
    assert (twice.messages, twice.left_out, twice.refused) == (once.messages, {}, once.refused)


@UNTIMED
@given(FOREIGN)
def test_what_comes_from_elsewhere_is_written_as_a_server_takes_it(messages: list[Message]) -> None:
    adapted = CODEC.adapt(messages, None, protected=())
    written = CODEC.encode(adapted.messages)
    assert written.request is not None
    assert order_faults(written.messages) == []
    assert type_faults({"model": "m", **written.request}) == []
    again = CODEC.adapt(adapted.messages, None, protected=())
    assert again == Adapted(adapted.messages)
