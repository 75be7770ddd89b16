from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
    Audio,
    Compaction,
    Decoded,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Repair,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
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


def foreign(*parts: Part, role: Role = "user", id: str = "x") -> Message:
    return Message(id, role, parts)


@pytest.mark.parametrize(
    ("message", "left", "words"),
    [
        (foreign(Reasoning("hm", "sig"), Text("a"), role="assistant"), (Text("a"),), "reasoning"),
        (foreign(Compaction("p", "blob"), Text("a"), role="assistant"), (Text("a"),), "compacted"),
        (foreign(ApprovalRequest("p", "c"), Text("a"), role="assistant"), (Text("a"),), "approvals"),
        (
            foreign(Image(data="AAAA"), role="assistant"),
            (Text("[image left out]"),),
            "image, for which an assistant",
        ),
        (
            foreign(File(name="a.pdf", url="https://x.test"), Text("a")),
            (Text("[file a.pdf left out]"), Text("a")),
            "file",
        ),
        (
            foreign(File(name="a.txt", text="plain words")),
            (Text("plain words"),),
            "file, for which a user message",
        ),
        (foreign(Audio(audio_id="audio_1")), (Text("[audio left out]"),), "audio"),
        (foreign(Unknown({"type": "hologram"})), (Text("[hologram left out]"),), "hologram"),
        (foreign(Unknown(["x"])), (Text("[part left out]"),), "part"),
        (foreign(Unknown({"type": "text"})), (Text("[text left out]"),), "text"),
    ],
)
def test_what_has_no_place_here_leaves_or_gives_way_to_a_text_and_is_named(
    message: Message, left: tuple[Part, ...], words: str
) -> None:
    adapted = CODEC.adapt([message], None, protected=("x",))
    assert adapted.messages == (replace(message, parts=left),)
    (repair,) = adapted.repairs
    assert repair.ids == ("x",)
    assert words in repair.text


def test_pictures_and_marks_in_a_result_from_elsewhere_give_way() -> None:
    answer = ToolResult("c", (Text("a"), Image(data="AAAA"), File(name="b.pdf", data="AAAA")), is_error=True)
    adapted = CODEC.adapt(
        [foreign(ToolCall("c", "look", "{}"), role="assistant", id="a"), foreign(answer)], None, protected=()
    )
    texts = (Text("a"), Text("[image left out]"), Text("[file b.pdf left out]"))
    assert adapted.messages[1].parts == (ToolResult("c", texts),)
    assert len(adapted.repairs) == 3


@pytest.mark.parametrize(
    "part",
    [
        Image(data="AAAA"),
        File(data="AAAA"),
        File(file_id="file-1"),
        Audio(data="AAAA", format="mp3"),
        Unknown({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}),
    ],
)
def test_what_has_a_place_here_stays_and_is_not_named(part: Part) -> None:
    message = foreign(part)
    assert CODEC.adapt([message], None, protected=()) == Adapted((message,))


def test_what_this_codec_read_itself_is_not_touched() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    chat = [say("assistant", [picture, {"type": "hologram"}], reasoning_content="hm"), say("user", "a")]
    decoded = CODEC.decode(chat)
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)


def test_a_thousand_thoughts_are_one_remark() -> None:
    messages = [foreign(Reasoning("hm"), Text("a"), role="assistant", id=f"m{at}") for at in range(1000)]
    (repair,) = CODEC.adapt(messages, None, protected=()).repairs
    assert len(repair.ids) == 1000


def test_words_beside_a_stray_result_stay() -> None:
    messages = [foreign(ToolResult("c", "found"), Text("and now?"))]
    adapted = CODEC.adapt(messages, None, protected=("x",))
    assert (adapted.left_out, adapted.refused) == ({}, {})
    assert adapted.messages == (foreign(Text("and now?")),)
    assert "call is not there" in adapted.repairs[0].text


def test_words_beside_the_results_of_half_a_step_stay_when_the_step_leaves() -> None:
    step = foreign(ToolCall("c", "look", "{}"), ToolCall("d", "look", "{}"), role="assistant", id="a")
    adapted = CODEC.adapt([step, foreign(ToolResult("c", "found"), Text("stop"))], None, protected=())
    assert adapted.left_out == {"a": "unpaired"}
    assert adapted.messages == (foreign(Text("stop")),)


def test_a_stray_result_leaves_and_the_answered_call_beside_it_stays() -> None:
    step = foreign(ToolCall("c", "look", "{}"), role="assistant", id="a")
    adapted = CODEC.adapt([step, foreign(ToolResult("c", "found"), ToolResult("d", "stray"))], None, protected=())
    assert adapted.left_out == {}
    assert adapted.messages == (step, foreign(ToolResult("c", "found")))


def test_only_stray_results_leave_as_a_message() -> None:
    adapted = CODEC.adapt([foreign(ToolResult("c", "a"), ToolResult("d", "b"), Text(" "))], None, protected=())
    assert adapted.left_out == {"x": "unpaired"}


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


FOREIGN_PARTS = st.one_of(
    st.sampled_from(["", " ", "ok", "and now?"]).map(Text),
    IDS.map(lambda name: ToolCall(name, "look", "{}")),
    IDS.map(lambda name: ToolResult(name, "found")),
    st.builds(lambda name: ToolResult(name, (Text("found"), Image(data="AAAA")), is_error=True), IDS),
    st.sampled_from([Reasoning("hm", "sig"), Image(data="AAAA"), File(url="https://x.test"), Audio(audio_id="a")]),
    st.sampled_from(
        [Unknown({"type": "hologram"}), Compaction("p", "blob"), Notice("n"), ApprovalRequest("p", "a")]
    ),
)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool"])
FOREIGN_CHATS = st.lists(st.tuples(ROLES, st.lists(FOREIGN_PARTS, max_size=4)), max_size=10).map(
    lambda drawn: [Message(f"m{at}", role, tuple(parts)) for at, (role, parts) in enumerate(drawn)]
)


@UNTIMED
@given(FOREIGN_CHATS)
def test_any_messages_from_elsewhere_become_what_a_server_takes(messages: list[Message]) -> None:
    CODEC.encode(messages)
    adapted = CODEC.adapt(messages, None, protected=())
    assert wire_faults(CODEC.encode(adapted.messages).messages) == []
    again = CODEC.adapt(adapted.messages, None, protected=())
    assert (again.messages, again.left_out) == (adapted.messages, {})


@UNTIMED
@given(FOREIGN_CHATS)
def test_words_from_elsewhere_are_written_or_named_as_left_out(messages: list[Message]) -> None:
    adapted = CODEC.adapt(messages, None, protected=())
    written = str(CODEC.encode(adapted.messages).messages)
    assert sorted([*ids(adapted.messages), *adapted.left_out]) == sorted(ids(messages))
    for message in messages:
        spoken = [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]
        assert message.id in adapted.left_out or all(text in written for text in spoken)
