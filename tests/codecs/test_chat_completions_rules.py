from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    Adapted,
    ApprovalRequest,
    ApprovalResponse,
    Decoded,
    Image,
    Message,
    Notice,
    Reasoning,
    Repair,
    Text,
    ToolCall,
    ToolResult,
)

UNTIMED = settings(deadline=None)
CODEC = ChatCompletions()
Wire = dict[str, Any]


def say(role: str, content: object, **keys: object) -> Wire:
    return {"role": role, "content": content, **keys}


def asks(*call_ids: str, content: object = None, **keys: object) -> Wire:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in call_ids]
    return say("assistant", content, tool_calls=calls, **keys)


def answers(call_id: str, content: object = "found") -> Wire:
    return say("tool", content, tool_call_id=call_id)


def adapt(chat: list[Wire], *protected: str) -> Adapted:
    decoded = CODEC.decode(chat)
    return CODEC.adapt(decoded.messages, decoded.originals, protected=protected)


def ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def wire_faults(messages: Sequence[Any]) -> list[str]:
    """What a server says of the order of calls and results, and of messages without content."""
    faults: list[str] = []
    owed: Counter[str] = Counter()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if owed[message["tool_call_id"]] <= 0:
                faults.append(f"{at}: a result without its call right before it")
            owed[message["tool_call_id"]] -= 1
            continue
        if +owed:
            faults.append(f"{at}: calls {sorted(+owed)} have no result")
        owed = Counter(call["id"] for call in message.get("tool_calls", ()))
        says = message.get("content") or owed or message.get("refusal")
        if not says and message.get("content") != "":
            faults.append(f"{at}: no content")
    return [*faults, *(["calls at the end have no result"] if +owed else [])]


def test_a_valid_conversation_stays_as_it_is() -> None:
    chat = [say("system", "s"), say("user", "a"), asks("c"), answers("c"), say("assistant", "b"), say("user", "d")]
    decoded = CODEC.decode(chat)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert adapted == Adapted(decoded.messages)


def test_the_wire_takes_any_order_of_roles() -> None:
    chat = [say("assistant", "a"), say("assistant", "b"), say("user", "c"), say("user", "d"), say("system", "e")]
    assert ids(adapt(chat).messages) == ["m0", "m1", "m2", "m3", "m4"]


def test_a_result_without_its_call_is_left_out() -> None:
    adapted = adapt([say("user", "a"), answers("c"), say("user", "b")])
    assert (ids(adapted.messages), adapted.left_out) == (["m0", "m2"], {"m1": "unpaired"})


def test_a_result_that_names_no_call_is_left_out() -> None:
    adapted = adapt([asks("c"), answers("c"), say("tool", "found"), say("user", "b")])
    assert (adapted.left_out, adapted.repairs) == ({"m2": "unpaired"}, ())


def test_a_result_before_its_call_answers_nothing() -> None:
    adapted = adapt([answers("c"), asks("c"), say("user", "a")])
    assert adapted.left_out == {"m0": "unpaired", "m1": "unpaired"}


def test_a_protected_result_without_its_call_is_refused() -> None:
    adapted = adapt([say("user", "a"), answers("c")], "m1")
    assert ids(adapted.messages) == ["m0", "m1"]
    assert "add the assistant message" in adapted.refused["m1"]


@pytest.mark.parametrize("tail", [[], [say("user", "never mind")]], ids=["at the end", "in the middle"])
def test_a_call_without_result_leaves_with_its_group(tail: list[Wire]) -> None:
    adapted = adapt([say("user", "a"), asks("c", "d"), answers("c"), *tail])
    assert adapted.left_out == {"m1": "unpaired", "m2": "unpaired"}
    assert ids(adapted.messages) == ["m0", *(["m3"] if tail else [])]


def test_a_protected_call_without_result_is_refused_by_name() -> None:
    adapted = adapt([say("user", "a"), asks("c", "d"), answers("c")], "m2")
    assert list(adapted.refused) == ["m1"]
    assert "(d)" in adapted.refused["m1"]
    assert "append a result" in adapted.refused["m1"]
    assert ids(adapted.messages) == ["m0", "m1", "m2"]


def test_results_away_from_their_call_move_behind_it_in_their_order() -> None:
    chat = [asks("c", "d"), say("user", "x"), answers("d"), say("user", "y"), answers("c"), say("user", "z")]
    adapted = adapt(chat)
    assert ids(adapted.messages) == ["m0", "m2", "m4", "m1", "m3", "m5"]
    assert adapted.repairs == (
        Repair(("m2",), "moved the result of d behind its call"),
        Repair(("m4",), "moved the result of c behind its call"),
    )


def test_only_the_result_that_stood_away_is_named() -> None:
    adapted = adapt([asks("c", "d"), answers("d"), say("user", "x"), answers("c")])
    assert [repair.ids for repair in adapted.repairs] == [("m3",)]


def test_a_message_that_leaves_from_between_is_no_reason_to_move() -> None:
    adapted = adapt([asks("c"), say("user", " "), answers("c")])
    assert (adapted.left_out, adapted.repairs) == ({"m1": "empty"}, ())


def test_repeated_call_ids_pair_by_position() -> None:
    adapted = adapt([asks("c", "c"), answers("c"), answers("c"), asks("c"), answers("c"), answers("c")])
    assert adapted.left_out == {"m5": "unpaired"}


def test_hostile_call_ids_stand_in_sentences_on_one_bounded_line() -> None:
    adapted = adapt([asks("x\n" * 900), say("user", "a"), answers("x\n" * 900)])
    assert "\n" not in adapted.repairs[0].text
    assert len(adapted.repairs[0].text) < 300


@pytest.mark.parametrize("content", ["", " \n\t ", None, [], [{"type": "text", "text": " "}]])
@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_a_message_that_says_nothing_is_left_out(role: str, content: object) -> None:
    adapted = adapt([say(role, content), say("user", "a")])
    assert (adapted.left_out, ids(adapted.messages)) == ({"m0": "empty"}, ["m1"])


@pytest.mark.parametrize("content", ["", " ", [{"type": "text", "text": ""}]])
def test_a_protected_empty_text_stays_since_the_wire_takes_it(content: object) -> None:
    adapted = adapt([say("user", content)], "m0")
    assert (ids(adapted.messages), adapted.refused) == (["m0"], {})


@pytest.mark.parametrize("wire", [say("user", None), say("user", []), {"role": "user"}])
def test_a_protected_message_without_content_is_refused(wire: Wire) -> None:
    adapted = adapt([wire], "m0")
    assert "no content" in adapted.refused["m0"]


@pytest.mark.parametrize(
    "wire",
    [
        say("assistant", None, refusal="no"),
        say("assistant", "", reasoning_content="hm"),
        say("assistant", None, audio={"id": "audio_1"}),
        say("user", [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]),
    ],
)
def test_a_message_says_something_by_other_means_than_text(wire: Wire) -> None:
    assert adapt([wire]).left_out == {}


def test_blank_reasoning_says_nothing() -> None:
    assert adapt([say("assistant", "", reasoning_content=" ")]).left_out == {"m0": "empty"}


def test_calls_and_empty_results_are_never_empty() -> None:
    assert adapt([asks("c", content=""), answers("c", "")]).left_out == {}


def test_mending_is_named_only_for_messages_that_are_still_there() -> None:
    chat = [say("assistant", "a", tool_calls=[]), asks("c"), say("tool", "found", callId="d")]
    assert [repair.ids for repair in adapt(chat).repairs] == [("m0",)]


def test_messages_from_elsewhere_follow_the_same_rules() -> None:
    messages = [
        Message("think", "assistant", (Reasoning("of another wire", "sig"),)),
        Message("remark", "system", (Notice("continuation"),)),
        Message("a", "assistant", (ToolCall("c", "look", "{}"), ApprovalRequest("p", "c"))),
        Message("ok", "tool", (ApprovalResponse("p", True),)),
        Message("k", "user", (Text("[summary]"),), source="summary"),
        Message("r", "tool", (ToolResult("c", "found"),)),
    ]
    adapted = CODEC.adapt(messages, None, protected=())
    assert adapted.left_out == dict.fromkeys(["think", "remark", "ok"], "empty")
    assert ids(adapted.messages) == ["a", "r", "k"]
    assert wire_faults(CODEC.encode(adapted.messages).messages) == []


def test_a_protected_empty_message_from_elsewhere_goes_out_as_an_empty_text() -> None:
    messages = [Message("u", "user", ()), Message("ok", "tool", (ApprovalResponse("p", True),))]
    adapted = CODEC.adapt(messages, None, protected=["u", "ok"])
    assert list(adapted.refused) == ["ok"]
    assert CODEC.encode(adapted.messages[:1]).messages == [say("user", "")]


def test_a_neutral_conversation_with_a_marker_in_a_pair_becomes_valid() -> None:
    chat = [
        {
            "id": "a1",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "n", "name": "f", "arguments": {}}],
        },
        {"id": "k1", "role": "user", "content": "Summary: a report each day.", "kind": "summary"},
        {"id": "r1", "role": "tool", "content": "ready", "tool_call_id": "n"},
    ]
    adapted = CODEC.adapt(Neutral().decode(chat).messages, None, protected=())
    assert ids(adapted.messages) == ["a1", "r1", "k1"]
    assert [repair.ids for repair in adapted.repairs] == [("r1",)]


CONTENTS = st.sampled_from(["", " ", "ok", None, [], [{"type": "text", "text": "ok"}]])
IDS = st.sampled_from(["a", "b", "c"])
CALLS = st.lists(IDS, min_size=1, max_size=3).map(lambda chosen: asks(*chosen))
MESSAGES = st.one_of(
    st.builds(say, st.sampled_from(["system", "user", "assistant"]), CONTENTS),
    CALLS,
    CALLS,
    st.builds(answers, IDS, CONTENTS),
    st.builds(answers, IDS, CONTENTS),
    st.builds(lambda name: say("tool", "found", toolCallId=name), IDS),
    st.builds(lambda text: say("assistant", None, reasoning_content=text), st.sampled_from(["", "hm"])),
)
CHATS = st.lists(MESSAGES, max_size=14)


def decoded_with_protected(chat: list[Wire], data: st.DataObject) -> tuple[Decoded, frozenset[str]]:
    decoded = CODEC.decode(chat)
    chosen = st.frozensets(st.sampled_from(ids(decoded.messages))) if chat else st.just(frozenset())
    return decoded, data.draw(chosen)


@UNTIMED
@given(CHATS)
def test_what_comes_out_is_what_a_server_takes(chat: list[Wire]) -> None:
    decoded = CODEC.decode(chat)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert adapted.refused == {}
    assert wire_faults(CODEC.encode(adapted.messages, decoded.originals).messages) == []
    assert wire_faults(CODEC.encode(adapted.messages).messages) == []


@UNTIMED
@given(CHATS, st.data())
def test_nothing_protected_leaves_and_a_server_takes_what_was_not_refused(
    chat: list[Wire], data: st.DataObject
) -> None:
    decoded, protected = decoded_with_protected(chat, data)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=protected)
    assert protected.isdisjoint(adapted.left_out)
    if not adapted.refused:
        assert wire_faults(CODEC.encode(adapted.messages, decoded.originals).messages) == []


@UNTIMED
@given(CHATS, st.data())
def test_a_second_run_changes_nothing(chat: list[Wire], data: st.DataObject) -> None:
    decoded, protected = decoded_with_protected(chat, data)
    once = CODEC.adapt(decoded.messages, decoded.originals, protected=protected)
    twice = CODEC.adapt(once.messages, decoded.originals, protected=protected)
    assert (twice.messages, twice.left_out, twice.refused) == (once.messages, {}, once.refused)


@UNTIMED
@given(CHATS)
def test_every_message_stays_or_is_named_and_only_results_move(chat: list[Wire]) -> None:
    decoded = CODEC.decode(chat)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert sorted([*ids(adapted.messages), *adapted.left_out]) == sorted(ids(decoded.messages))
    moved = {name for repair in adapted.repairs if repair.text.startswith("moved") for name in repair.ids}
    still = [message.id for message in decoded.messages if message.id not in {*adapted.left_out, *moved}]
    assert [name for name in ids(adapted.messages) if name not in moved] == still


def test_a_picture_alone_is_content_for_a_message_from_elsewhere() -> None:
    adapted = CODEC.adapt([Message("u", "user", (Image(data="AAAA"),))], None, protected=())
    assert adapted.left_out == {}
