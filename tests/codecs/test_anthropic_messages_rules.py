"""What the wire demands of a conversation, judged by a checker written apart from the codec."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from anthropic_bodies import CHATS, SYSTEMS, Wire, answers, asks, found, say, text, thought, use
from anthropic_wire import anthropic_faults, body_errors
from conversations import neutral_chats, openai_chats
from factories import calls, message, result
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    Adapted,
    Audio,
    Compaction,
    Decoded,
    File,
    Image,
    Message,
    Reasoning,
    Repair,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    link_groups,
    protection_reasons,
)

CODEC = AnthropicMessages()
properties = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def adapt(chat: list[Wire], *protected: str) -> tuple[Adapted, list[Any]]:
    decoded = CODEC.decode(chat)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=protected)
    return adapted, CODEC.encode(adapted.messages, decoded.originals).messages


def adapt_foreign(*messages: Message, protected: Sequence[str] = ()) -> tuple[Adapted, list[Any]]:
    adapted = CODEC.adapt(messages, None, protected=protected)
    return adapted, CODEC.encode(adapted.messages).messages


def ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def sentences(adapted: Adapted) -> list[str]:
    return [repair.text for repair in adapted.repairs]


def test_a_valid_conversation_stays_as_it_is() -> None:
    chat = [
        say("user", "a"),
        say("assistant", [thought(), text("b"), use("x"), use("y")]),
        say("user", [found("y"), found("x"), text("c")]),
        say("assistant", "d"),
        say("user", "e"),
        say("user", "f"),
        say("assistant", "prefill "),
    ]
    decoded = CODEC.decode(chat)
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)


def test_an_orphan_result_leaves_and_the_rest_of_its_message_stays() -> None:
    chat = [say("user", "a"), answers("gone"), say("user", [found("lost"), text("b")])]
    adapted, sent = adapt(chat)
    assert adapted.left_out == {"m1": "unpaired"}
    assert adapted.repairs == (Repair(("m2",), "took out tool results that answer no call: lost"),)
    assert sent == [say("user", "a"), say("user", [text("b")])]


def test_a_protected_message_loses_its_orphan_result_alone_and_one_of_nothing_else_is_refused() -> None:
    adapted, sent = adapt([say("user", [text("b"), found("lost")])], "m0")
    assert (adapted.left_out, adapted.refused) == ({}, {})
    assert sent == [say("user", [text("b")])]
    adapted, _ = adapt([say("user", "a"), answers("lost")], "m1")
    assert "it is a tool result" in adapted.refused["m1"]


def test_a_call_without_result_leaves_with_its_group_and_is_refused_when_protected() -> None:
    chat = [say("user", "a"), asks("x", "y"), answers("x"), say("user", "b")]
    adapted, sent = adapt(chat)
    assert adapted.left_out == {"m1": "unpaired", "m2": "unpaired"}
    assert sent == [chat[0], chat[3]]
    adapted, _ = adapt(chat, "m1")
    assert "append a result" in adapted.refused["m1"]
    assert "(y)" in adapted.refused["m1"]


def test_the_words_of_the_user_stay_when_the_results_beside_them_leave() -> None:
    chat = [say("user", "a"), asks("x", "y"), say("user", [found("x"), text("stop")])]
    adapted, sent = adapt(chat)
    assert adapted.left_out == {"m1": "unpaired"}
    assert sent == [say("user", "a"), say("user", [text("stop")])]


def test_results_away_from_their_call_are_moved_behind_it() -> None:
    chat = [say("user", "a"), asks("x"), say("user", "b"), answers("x"), say("user", "c")]
    adapted, sent = adapt(chat)
    assert adapted.repairs == (Repair(("m3",), "moved the result of x behind its call"),)
    assert sent == [chat[0], chat[1], chat[3], chat[2], chat[4]]


def test_a_result_beside_other_words_is_moved_without_them() -> None:
    chat = [
        say("user", "a"),
        asks("x"),
        say("user", "b"),
        say("assistant", "c"),
        say("user", [found("x"), text("d")]),
    ]
    adapted, sent = adapt(chat)
    assert adapted.repairs == (Repair(("m4", "m2"), "moved the result of x into the message behind its call"),)
    assert sent == [*chat[:2], say("user", [found("x"), text("b")]), chat[3], say("user", [text("d")])]


def test_results_of_two_steps_in_one_message_are_parted() -> None:
    chat = [say("user", "a"), asks("x"), say("user", "b"), asks("y"), answers("x", "y"), say("user", "c")]
    adapted, sent = adapt(chat)
    assert sent[2] == say("user", [found("x"), text("b")])
    assert sent[4] == answers("y")
    assert anthropic_faults(sent) == []
    assert not adapted.left_out


def test_results_of_one_step_go_into_one_message_together_with_the_user_who_holds_some() -> None:
    chat = [
        say("user", "a"),
        asks("x", "y", "z"),
        answers("x"),
        answers("y"),
        say("user", [found("z"), text("b")]),
    ]
    adapted, sent = adapt(chat)
    assert adapted.repairs == ()
    assert sent == [*chat[:2], say("user", [found("x"), found("y"), found("z"), text("b")])]


def test_results_are_put_in_front_of_the_words_in_their_message() -> None:
    chat = [say("user", "a"), asks("x"), say("user", [text("b"), found("x")])]
    adapted, sent = adapt(chat)
    assert adapted.repairs == (
        Repair(("m2",), "put the tool results in front of everything else in their message"),
    )
    assert sent[2] == say("user", [found("x"), text("b")])


def test_an_answer_in_several_messages_counts_as_one_and_is_sent_as_one() -> None:
    chat = [say("user", "a"), say("assistant", [thought()]), asks("x"), asks("y"), answers("x", "y")]
    adapted, sent = adapt(chat)
    assert adapted.repairs == ()
    assert sent == [chat[0], say("assistant", [thought(), use("x"), use("y")]), chat[4]]


def test_a_system_message_of_the_list_leaves_the_step_it_stands_in() -> None:
    listed = say("system", "Use UTC.")
    chat = [say("user", "a"), asks("x"), listed, asks("y"), answers("x", "y"), say("user", "b")]
    adapted, sent = adapt(chat)
    assert adapted.repairs == (
        Repair(("m2",), "moved it behind the tool results, which follow their calls at once"),
    )
    assert sent == [chat[0], say("assistant", [use("x"), use("y")]), chat[4], listed, chat[5]]


def test_a_doubled_id_is_renamed_with_its_result() -> None:
    chat = [say("user", "a"), asks("x", "x"), answers("x", "x"), asks("x"), answers("x")]
    adapted, sent = adapt(chat)
    assert sent[1:] == [asks("x", "x-2"), answers("x", "x-2"), asks("x-3"), answers("x-3")]
    assert [repair.ids for repair in adapted.repairs] == [("m1", "m2"), ("m3", "m4")]
    assert "must be unique" in sentences(adapted)[0]


def test_a_new_name_is_nobody_elses() -> None:
    chat = [say("user", "a"), asks("x", "x", "x-2"), answers("x", "x", "x-2")]
    assert adapt(chat)[1][1] == asks("x", "x-3", "x-2")


@pytest.mark.parametrize(("given_id", "sent_id"), [("functions.look:0", "functions_look_0"), ("", "call")])
def test_an_id_the_wire_does_not_take_is_renamed_with_its_result(given_id: str, sent_id: str) -> None:
    adapted, sent = adapt_foreign(message("u"), calls("a", given_id), result("r", given_id))
    assert sent[1]["content"][0]["id"] == sent[2]["content"][0]["tool_use_id"] == sent_id
    assert adapted.repairs[0].ids == ("a", "r")


def test_blank_texts_are_taken_out_and_messages_of_nothing_leave() -> None:
    chat = [
        say("user", [text("a"), text(" \n")]),
        say("assistant", ""),
        say("user", []),
        say("assistant", [thought("", ""), text("")]),
        say("assistant", None),
        asks("x"),
        say("user", [found("x", [text(""), text("b")])]),
    ]
    adapted, sent = adapt(chat)
    assert adapted.left_out == dict.fromkeys(["m1", "m2", "m3", "m4"], "empty")
    assert sent == [say("user", [text("a")]), asks("x"), say("user", [found("x", [text("b")])])]
    assert Repair(("m0", "m6"), "took out blank texts") in adapted.repairs


def test_an_empty_result_is_sent() -> None:
    chat = [say("user", "a"), asks("x"), say("user", [{"type": "tool_result", "tool_use_id": "x"}])]
    assert adapt(chat) == (Adapted(CODEC.decode(chat).messages), chat)


def test_a_protected_message_of_nothing_is_refused() -> None:
    assert "no content" in adapt([say("user", " ")], "m0")[0].refused["m0"]


def test_blank_blocks_of_the_system_field_are_taken_out() -> None:
    body = {"system": [text(""), text("Be brief.")], "messages": [say("user", "a")]}
    decoded = CODEC.decode(body)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=("system",))
    assert CODEC.encode(adapted.messages, decoded.originals).request == {**body, "system": [text("Be brief.")]}
    decoded = CODEC.decode({**body, "system": [text(" ")]})
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=("system",))
    assert adapted.refused == {}
    assert CODEC.encode(adapted.messages, decoded.originals).request == {"messages": [say("user", "a")]}


def test_thinking_alone_leaves_and_is_refused_when_protected() -> None:
    chat = [say("user", "a"), say("assistant", [thought()]), say("user", "b")]
    adapted, sent = adapt(chat)
    assert adapted.left_out == {"m1": "wire-rule"}
    assert sent == [chat[0], chat[2]]
    assert "thinking alone" in adapt(chat, "m1")[0].refused["m1"]


def test_thinking_that_was_cut_off_before_its_signature_is_taken_out() -> None:
    chat = [say("user", "a"), say("assistant", [thought("so far", ""), text("b")])]
    adapted, sent = adapt(chat)
    assert sent[1] == say("assistant", [text("b")])
    assert sentences(adapted) == ["took out thinking that has no signature"]


def test_the_user_speaks_first() -> None:
    chat = [say("assistant", "Hello."), asks("x"), answers("x"), say("user", "a")]
    adapted, sent = adapt(chat)
    assert adapted.left_out == dict.fromkeys(["m0", "m1", "m2"], "wire-rule")
    assert sent == [chat[3]]
    assert "user speaks first" in adapt(chat, "m0")[0].refused["m0"]


def test_a_compaction_may_be_first() -> None:
    chat = [say("assistant", [{"type": "compaction", "content": "Oil came."}]), say("user", "a")]
    assert adapt(chat) == (Adapted(CODEC.decode(chat).messages), chat)


def test_a_compaction_of_another_provider_is_taken_out() -> None:
    for foreign in (Compaction("openai", "c2Vj"), Compaction("anthropic", "c2Vj")):
        adapted, sent = adapt_foreign(message("u"), Message("a", "assistant", (foreign, Text("yes"))))
        assert sent == [say("user", "u"), say("assistant", "yes")]
        assert adapted.repairs[0].ids == ("a",)


def test_parts_of_other_providers_are_taken_out_and_named() -> None:
    adapted, sent = adapt_foreign(
        Message("u", "user", (Text("hear"), Audio(data="AAAA", format="wav"), Unknown({"type": "video"}))),
        Message("a", "assistant", (Reasoning("hm", "c2ln"), Text("yes"), Image(url="https://example.org/x.png"))),
        Message("v", "user", (Text("and"), File(name="x.docx", media_type="application/msword", data="AAAA"))),
    )
    assert sent == [say("user", "hear"), say("assistant", "yes"), say("user", "and")]
    assert [(repair.ids, repair.text.partition(": ")[2]) for repair in adapted.repairs] == [
        (("u",), "a sound, a part of a kind it does not know"),
        (("a",), "reasoning of another provider, a picture"),
        (("v",), "a file"),
    ]


def test_a_message_of_what_the_wire_has_no_place_for_leaves_or_is_refused() -> None:
    sound = Message("u", "user", (Audio(data="AAAA", format="wav"),))
    assert adapt_foreign(sound, message("v"))[0].left_out == {"u": "wire-rule"}
    assert "a sound" in adapt_foreign(sound, protected=["u"])[0].refused["u"]


def test_a_foreign_message_of_nothing_but_reasoning_says_nothing() -> None:
    thinking = Message("a", "assistant", (Reasoning("hm", "c2ln"),))
    assert adapt_foreign(message("u"), thinking, message("v"))[0].left_out == {"a": "empty"}


def test_names_of_speakers_are_taken_out_in_one_repair() -> None:
    adapted, _ = adapt_foreign(message("u", name="ada"), message("v", name="bob"), message("w"))
    assert adapted.repairs == (Repair(("u", "v"), "took out the names, for the wire has no place for them"),)
    assert not any(one.name for one in adapted.messages)


@pytest.mark.parametrize(
    ("arguments", "given_input"),
    [
        ("", {}),
        ("null", {}),
        ("{broken", {"arguments": "{broken"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a": NaN}', {"arguments": '{"a": NaN}'}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
        ('{"a": "\\ud83d", "b": "\\ud83d\\ude42"}', {"a": "\ufffd", "b": "🙂"}),
    ],
)
def test_arguments_become_an_object(arguments: str, given_input: Wire) -> None:
    caller = Message("a", "assistant", (ToolCall("x", "look", arguments),))
    adapted, sent = adapt_foreign(message("u"), caller, result("r", "x"))
    assert sent[1]["content"][0]["input"] == given_input
    assert anthropic_faults(sent) == []
    assert bool(adapted.repairs) == ("arguments" in given_input)


def test_a_sound_in_a_result_is_taken_out_and_a_picture_stays() -> None:
    content = (Text("see"), Image(data="iVBORw0KGgo="), Audio(data="AAAA"))
    adapted, sent = adapt_foreign(message("u"), calls("a", "x"), Message("r", "tool", (ToolResult("x", content),)))
    assert [block["type"] for block in sent[2]["content"][0]["content"]] == ["text", "image"]
    assert "a sound" in sentences(adapted)[0]


def test_a_second_run_changes_nothing_in_a_knot_of_steps() -> None:
    chat = [say("user", "a"), asks("x"), say("user", [text("b")]), asks("y", "z"), say("assistant", [thought()])]
    chat += [answers("y"), say("user", "c"), say("user", [text("d"), found("x"), found("z")])]
    check(CODEC.decode(chat))


def check(decoded: Decoded, protected: Sequence[str] = ()) -> None:
    """Whatever comes in, what goes out is taken, is complete, and is left alone the second time."""
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=protected)
    assert adapted.left_out.keys().isdisjoint(protected)
    assert sorted([*ids(adapted.messages), *adapted.left_out]) == sorted(ids(decoded.messages))
    if adapted.refused:
        assert adapted.refused.keys() <= set(ids(adapted.messages))
        return
    again = CODEC.adapt(adapted.messages, decoded.originals, protected=protected)
    assert again == Adapted(adapted.messages)
    encoded = CODEC.encode(adapted.messages, decoded.originals)
    system = (encoded.request or {}).get("system")
    assert anthropic_faults(encoded.messages, system) == []
    assert body_errors({"model": "m", "max_tokens": 9, "stream": True, "messages": encoded.messages}) == []


@properties
@given(CHATS, SYSTEMS)
def test_every_conversation_becomes_one_that_the_wire_takes(chat: list[Wire], system: object) -> None:
    body = {"messages": chat} if system is None else {"system": system, "messages": chat}
    before = copy.deepcopy(body)
    decoded = CODEC.decode(body)
    check(decoded)
    check(decoded, list(protection_reasons(decoded.messages, link_groups(decoded.messages))))
    assert body == before


@properties
@given(neutral_chats(max_size=14))
def test_every_neutral_chat_becomes_one_that_the_wire_takes(chat: list[Wire]) -> None:
    decoded = Neutral().decode(chat)
    check(decoded)
    check(decoded, list(protection_reasons(decoded.messages, link_groups(decoded.messages))))


@properties
@given(openai_chats(max_size=14))
def test_every_chat_completions_chat_becomes_one_that_the_wire_takes(chat: list[Wire]) -> None:
    check(ChatCompletions().decode(chat))


@properties
@given(CHATS)
def test_what_was_sent_once_comes_back_as_it_is(chat: list[Wire]) -> None:
    _, sent = adapt(chat)
    adapted, again = adapt(sent)
    assert again == sent
    assert (adapted.left_out, adapted.repairs) == ({}, ())
