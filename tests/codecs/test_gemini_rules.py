"""What both Gemini wires demand, judged on messages of other formats and on what was read from the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from factories import calls, message, result, thinking
from gemini_wire import SENTINEL, content_faults, step_faults, unsigned_contents, unsigned_steps
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
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

Wire = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A codec with its judges."""

    codec: GeminiContents | GeminiInteractions
    key: str
    faults: Callable[[object], list[str]]
    unsigned: Callable[[Wire], list[str]]

    def adapt(self, messages: Sequence[Message], *protected: str) -> Adapted:
        """Adapt messages of another format, twice: the second time nothing is left to do."""
        adapted = self.codec.adapt(messages, None, protected=protected)
        again = self.codec.adapt(adapted.messages, None, protected=protected)
        assert (again.messages, again.left_out, again.refused) == (adapted.messages, {}, adapted.refused)
        if not adapted.refused:
            body = self.body(adapted)
            assert self.faults(body) == []
            assert self.unsigned(body) == []
        return adapted

    def body(self, adapted: Adapted) -> Wire:
        encoded = self.codec.encode(adapted.messages)
        return encoded.request or {self.key: encoded.messages}


CONTENTS = Target(GeminiContents(), "contents", content_faults, unsigned_contents)
STEPS = Target(GeminiInteractions(), "input", step_faults, unsigned_steps)


@pytest.fixture(params=[CONTENTS, STEPS], ids=["contents", "interactions"])
def target(request: pytest.FixtureRequest) -> Target:
    found = request.param
    assert isinstance(found, Target)
    return found


def ids(adapted: Adapted) -> list[str]:
    return [one.id for one in adapted.messages]


def said(adapted: Adapted) -> list[str]:
    return [repair.text for repair in adapted.repairs]


def test_a_plain_conversation_stays_as_it_is(target: Target) -> None:
    chat = [message("s", "system"), message("a"), message("b", "assistant"), message("c")]
    assert target.adapt(chat) == Adapted(tuple(chat))


def test_a_result_without_its_call_is_left_out(target: Target) -> None:
    assert target.adapt([message("a"), result("r", "x"), message("b")]).left_out == {"r": "unpaired"}


def test_a_protected_result_without_its_call_is_refused(target: Target) -> None:
    adapted = target.adapt([message("a"), result("r", "x")], "r")
    assert "add the message with that call" in adapted.refused["r"]
    assert ids(adapted) == ["a", "r"]


def test_a_call_without_result_leaves_with_its_group(target: Target) -> None:
    adapted = target.adapt([message("a"), thinking("t"), calls("c", "x", "y"), result("r", "x"), message("b")])
    assert adapted.left_out == {"t": "empty", "c": "unpaired", "r": "unpaired"}


def test_a_protected_call_without_result_is_refused_by_name(target: Target) -> None:
    adapted = target.adapt([message("a"), calls("c", "x", "y"), result("r", "x")], "r")
    assert list(adapted.refused) == ["c"]
    assert "(y)" in adapted.refused["c"]


def test_results_away_from_their_call_move_behind_it(target: Target) -> None:
    chat = [message("a"), calls("c", "x", "y"), message("b"), result("r", "y"), result("q", "x"), message("d")]
    adapted = target.adapt(chat)
    assert ids(adapted) == ["a", "c", "r", "q", "b", "d"]
    assert "moved the result of y behind its call" in said(adapted)
    assert "moved the result of x behind its call" in said(adapted)


def test_calls_in_a_row_are_one_turn_and_their_results_follow_the_last(target: Target) -> None:
    chat = [message("a"), calls("c", "x"), calls("d", "y"), result("r", "x"), result("q", "y")]
    adapted = target.adapt(chat)
    assert ids(adapted) == ["a", "c", "d", "r", "q"]
    assert not [text for text in said(adapted) if text.startswith("moved")]


def test_system_text_between_a_call_and_its_result_moves_nothing(target: Target) -> None:
    chat = [message("a"), calls("c", "x"), message("p", "system", source="plugin"), result("r", "x")]
    assert ids(target.adapt(chat)) == ["a", "c", "p", "r"]


def test_an_answer_before_a_call_stands_in_its_turn(target: Target) -> None:
    chat = [message("a"), message("b", "assistant"), message("d", "assistant"), calls("c", "x"), result("r", "x")]
    assert ids(target.adapt(chat)) == ["a", "b", "d", "c", "r"]


def test_an_answer_and_the_calls_behind_it_become_one_content() -> None:
    adapted = CONTENTS.adapt([message("a"), message("b", "assistant"), calls("c", "x"), result("r", "x")])
    contents = CONTENTS.body(adapted)["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert "wrote an answer and the calls behind it as one content" in said(adapted)


def test_results_in_contents_of_their_own_become_one_content() -> None:
    answer = {"functionResponse": {"name": "look", "response": {"output": "found"}}}
    ask = {"functionCall": {"name": "look", "args": {}}}
    first: Wire = {"role": "user", "parts": [{"text": "a"}]}
    contents = [
        first,
        {"role": "model", "parts": [ask, ask]},
        {"role": "user", "parts": [answer]},
        {"role": "user", "parts": [answer, {"text": "hurry"}]},
    ]
    decoded = CONTENTS.codec.decode(contents)
    adapted = CONTENTS.codec.adapt(decoded.messages, decoded.originals, protected=())
    out = CONTENTS.codec.encode(adapted.messages, decoded.originals).messages
    assert out[2] == {"role": "user", "parts": [answer, answer, {"text": "hurry"}]}
    assert [(repair.ids, repair.text) for repair in adapted.repairs] == [
        (("m2", "m3"), "wrote the results of one turn as one content")
    ]
    assert content_faults(out) == []


def test_calls_that_no_user_message_stands_before_are_left_out(target: Target) -> None:
    chat = [
        message("g", "assistant"),
        thinking("t"),
        calls("c", "x"),
        result("r", "x"),
        calls("d", "y"),
        result("q", "y"),
    ]
    adapted = target.adapt([*chat, message("a")])
    assert adapted.left_out == {"t": "empty", **dict.fromkeys("crdq", "wire-rule")}
    assert ids(adapted) == ["g", "a"]


def test_a_user_message_that_leaves_with_the_call_it_approves_stands_before_no_other_call(target: Target) -> None:
    approving = Message("a", "user", (Text("go on"), ApprovalRequest("p", "x")))
    steps = [calls("c", "x"), approving, result("r", "x"), calls("d", "y"), result("q", "y")]
    assert target.adapt(steps).left_out == dict.fromkeys("cardq", "wire-rule")
    adapted = target.adapt([*steps, message("b")], "d", "q")
    assert ids(adapted) == ["b", "d", "q"]


def test_protected_calls_that_no_user_message_stands_before_are_refused(target: Target) -> None:
    adapted = target.adapt([calls("c", "x"), result("r", "x"), message("b", "assistant"), message("a")], "c", "r")
    assert "no user message stands before it" in adapted.refused["c"]


def test_the_user_message_right_behind_protected_results_moves_in_front_of_the_first_call(target: Target) -> None:
    chat = [
        message("g", "assistant"),
        calls("b", "w"),
        result("p", "w"),
        calls("c", "x"),
        result("r", "x"),
        message("a"),
    ]
    adapted = target.adapt(chat, "c", "r", "a")
    assert ids(adapted) == ["g", "a", "c", "r"]
    assert adapted.left_out == {"b": "wire-rule", "p": "wire-rule"}
    assert any(repair.ids == ("a",) and "in front of the first call" in repair.text for repair in adapted.repairs)


def test_empty_messages_are_left_out(target: Target) -> None:
    chat = [
        message("a"),
        message("b", "assistant", ""),
        message("c", "assistant", " \n"),
        Message("d", "user"),
        Message("e", "assistant", (Reasoning(),)),
        Message("f", "user", (Notice("remark"),)),
        message("g"),
    ]
    adapted = target.adapt(chat)
    assert adapted.left_out == dict.fromkeys("bcdef", "empty")
    assert [repair.ids for repair in adapted.repairs] == [("a", "g")]


@pytest.mark.parametrize("parts", [(), (Text(""),), (Notice("remark"),)])
def test_a_protected_user_message_without_content_is_refused(target: Target, parts: tuple[Text, ...]) -> None:
    assert "no content" in target.adapt([Message("a", "user", parts)], "a").refused["a"]


def test_protected_blanks_and_blank_system_text_are_no_fault(target: Target) -> None:
    adapted = target.adapt([message("s", "system", ""), message("a", text=" ")], "s", "a")
    assert (adapted.refused, ids(adapted)) == ({}, ["s", "a"])
    assert target.codec.encode(adapted.messages).request is None


def test_an_empty_thought_in_an_open_step_is_no_fault() -> None:
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "a"}]},
        {"type": "thought"},
        {"type": "function_call", "id": "x", "name": "look", "arguments": {}},
        {"type": "function_result", "call_id": "x", "result": "found"},
    ]
    decoded = STEPS.codec.decode(steps)
    adapted = STEPS.codec.adapt(decoded.messages, decoded.originals, protected={"m0", "m1", "m2", "m3"})
    assert adapted == Adapted(decoded.messages)


def test_user_messages_in_a_row_are_written_as_one_and_named(target: Target) -> None:
    adapted = target.adapt(
        [message("a"), message("p", "system", source="memory"), message("b"), message("c", "assistant")]
    )
    assert [(repair.ids, repair.text) for repair in adapted.repairs] == [
        (("a", "b"), "wrote user messages that stand in a row as one")
    ]
    assert len(target.body(adapted)[target.key]) == 2


def test_calls_of_another_provider_are_signed_once_for_each_turn(target: Target) -> None:
    chat = [
        message("a"),
        calls("c", "x", "y"),
        calls("d", "z"),
        result("r", "x"),
        result("q", "y"),
        result("p", "z"),
        calls("e", "x"),
        result("o", "x"),
    ]
    adapted = target.adapt(chat)
    (repair,) = [repair for repair in adapted.repairs if SENTINEL in repair.text]
    assert repair.ids == ("c", "e")
    assert str(target.body(adapted)).count(SENTINEL) == 2


def test_the_signature_stands_on_the_first_call_or_in_a_thought_before_it() -> None:
    chat = [message("a"), calls("c", "x", "y", text="hm"), result("r", "x"), result("q", "y")]
    first, second = CONTENTS.body(CONTENTS.adapt(chat))["contents"][1]["parts"][1:]
    assert (first["thoughtSignature"], "thoughtSignature" in second) == (SENTINEL, False)
    kinds = [step["type"] for step in STEPS.body(STEPS.adapt(chat))["input"]]
    assert kinds[:5] == ["user_input", "model_output", "thought", "function_call", "function_call"]


def test_unsigned_calls_that_were_read_from_the_wire_stay_unsigned() -> None:
    contents = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]},
    ]
    decoded = CONTENTS.codec.decode(contents)
    assert CONTENTS.codec.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)


def test_what_only_another_provider_can_read_is_taken_out_and_named(target: Target) -> None:
    answer = Message(
        "b", "assistant", (Reasoning("hm", "sig"), Compaction("openai", "zz"), Text("yes")), name="bob"
    )
    asked = Message(
        "a", "user", (Text("look"), Unknown({"type": "hologram"}), File(file_id="f1"), Audio(audio_id="s1"))
    )
    adapted = target.adapt([asked, answer])
    words = [part.text for part in adapted.messages[0].parts if isinstance(part, Text)]
    assert words == ["look", "[hologram left out]", "[file left out]", "[audio left out]"]
    assert adapted.messages[1] == message("b", "assistant", "yes")
    assert {repair.ids for repair in adapted.repairs} == {("a",), ("b",)}
    assert len(adapted.repairs) == 6


def test_a_protected_message_of_foreign_thoughts_alone_stays_and_is_not_written(target: Target) -> None:
    chat = [message("a"), thinking("t"), calls("c", "x"), result("r", "x")]
    adapted = target.adapt(chat, "t", "c", "r")
    assert ids(adapted) == ["a", "t", "c", "r"]
    assert target.codec.framing("o200k_base").message_cost(adapted.messages[1], len).tokens == 0


def test_a_message_of_foreign_thoughts_alone_is_left_out_as_empty(target: Target) -> None:
    assert target.adapt([message("a"), thinking("t"), message("b", "assistant")]).left_out == {"t": "empty"}


def test_pictures_and_files_in_results_stay_where_they_have_a_place(target: Target) -> None:
    shown = ToolResult("x", (Text("see"), Image(data="AAAA"), File(name="a.pdf", file_id="f1")))
    adapted = target.adapt([message("a"), calls("c", "x"), Message("r", "tool", (shown,))])
    assert adapted.messages[2].parts == (
        ToolResult("x", (Text("see"), Image(data="AAAA"), Text("[file a.pdf left out]"))),
    )


def test_calls_and_results_of_another_providers_own_tools_are_taken_out(target: Target) -> None:
    hosted = Message("b", "assistant", (ToolCall("h", "search", "{}"), ToolResult("h", "found"), Text("yes")))
    adapted = target.adapt([message("a"), hosted, calls("c", "h"), result("r", "h")])
    assert adapted.messages[1] == message("b", "assistant", "yes")
    assert ids(adapted) == ["a", "b", "c", "r"]


@pytest.mark.parametrize("arguments", ["{broken", "[1]", '{"a":NaN}', '{"a":"\\ud800"}', "[" * 100_000])
def test_arguments_that_are_no_object_are_wrapped_in_one(target: Target, arguments: str) -> None:
    call = Message("c", "assistant", (ToolCall("x", "look", arguments),))
    adapted = target.adapt([message("a"), call, result("r", "x")])
    body = target.body(adapted)[target.key]
    args = body[1]["parts"][0]["functionCall"]["args"] if target is CONTENTS else body[2]["arguments"]
    assert args == {"arguments": arguments}
    assert "wrapped arguments that are no JSON object in one, under the key arguments" in said(adapted)


def test_missing_arguments_are_an_empty_object(target: Target) -> None:
    call = Message("c", "assistant", (ToolCall("x", "look", ""),))
    adapted = target.adapt([message("a"), call, result("r", "x")])
    assert ToolCall("x", "look", "{}") in adapted.messages[1].parts


def test_what_an_answer_says_stands_before_its_calls(target: Target) -> None:
    answer = Message("c", "assistant", (ToolCall("x", "look", "{}"), Text("wait")))
    adapted = target.adapt([message("a"), answer, result("r", "x")])
    assert adapted.messages[1].parts == (Text("wait"), Reasoning(opaque=SENTINEL), ToolCall("x", "look", "{}"))


def test_results_and_words_of_one_foreign_message_become_two(target: Target) -> None:
    answer = Message("r", "user", (ToolResult("x", "found"), Text("hurry")))
    adapted = target.adapt([message("a"), calls("c", "x"), answer, message("b")])
    assert len(target.body(adapted)[target.key]) == (4 if target is CONTENTS else 5)


def test_results_for_different_turns_in_one_message_cannot_stand_behind_both(target: Target) -> None:
    answer = Message("r", "user", (ToolResult("x", "found"), ToolResult("y", "found")))
    chat = [message("a"), calls("c", "x"), message("b"), calls("d", "y"), answer]
    assert target.adapt(chat).left_out == dict.fromkeys("cdr", "wire-rule")
    assert "different turns" in target.adapt(chat, "c", "d", "r").refused["r"]


def test_notices_and_approvals_are_never_written(target: Target) -> None:
    answer = Message("b", "assistant", (Text("yes"), ApprovalRequest("p", "x"), Notice("remark")))
    adapted = target.adapt([message("a"), answer])
    assert (
        target.body(adapted)[target.key][1]
        == target.body(target.adapt([message("a"), message("b", "assistant", "yes")]))[target.key][1]
    )


def test_system_text_is_joined_by_blank_lines_at_the_head(target: Target) -> None:
    chat = [
        message("s", "system"),
        message("a"),
        message("d", "developer"),
        Message("i", "system", (Text("i"), Image(data="AAAA"))),
    ]
    adapted = target.adapt(chat, "s", "d", "i")
    body = target.body(adapted)
    assert body.get("system_instruction") == "s\n\nd\n\ni" or body["systemInstruction"] == {
        "parts": [{"text": "s\n\nd\n\ni"}]
    }
    assert "left out what is no text in a system message" in said(adapted)
