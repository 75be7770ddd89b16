"""Conversations that go from any format to any other."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
import trimtab_sdk
from conversations import Chat, neutral_chats
from trimtab.conversion import Conversion, convert, translator, written_by
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk import (
    InvalidRequestError,
    Message,
    TokenBudgetExceededError,
    ToolCall,
    ToolResult,
    UnknownFormatError,
    pair_calls,
    plain_text,
    texts_of,
)

CONFIG = trimtab.Config()
FORMATS = DEFAULT_REGISTRY.codec_names(CONFIG)
WRITTEN = tuple(name for name in FORMATS if written_by(DEFAULT_REGISTRY.codec(name, CONFIG)) == name)
READ_ONLY = tuple(name for name in FORMATS if name not in WRITTEN)
PAIRS = list(product(WRITTEN, WRITTEN))
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
properties = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def say(id: str, role: str, content: object, **keys: object) -> dict[str, Any]:
    return {"id": id, "role": role, "content": content, **keys}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id: str, **arguments: object) -> dict[str, Any]:
    return {"id": id, "name": "look", "arguments": arguments}


STORY: Chat = [
    say("s", "system", "Be brief."),
    say(
        "u1",
        "user",
        [text("What is on this picture?"), {"type": "image", "media_type": "image/png", "data": PICTURE}],
    ),
    say(
        "a1",
        "assistant",
        "Let me look.",
        blocks=[{"type": "thinking", "thinking": "I need the shelves", "signature": "c2ln"}],
        tool_calls=[call("c1", shelf=9), call("c2", shelf=3)],
    ),
    say(
        "r1",
        "tool",
        [text("a lamp"), {"type": "image", "media_type": "image/png", "data": PICTURE}],
        tool_call_id="c1",
    ),
    say("r2", "tool", "nothing there", tool_call_id="c2", is_error=True),
    say("a2", "assistant", "A lamp."),
    say("u2", "user", "And on the third shelf?"),
    say("a3", "assistant", None, tool_calls=[call("c1", shelf=3)]),
    say("r3", "tool", "a net", tool_call_id="c1"),
    say("a4", "assistant", "A net."),
    say("u3", "user", "Thanks!"),
]
EXPORT = {
    "title": "Shelves",
    "mapping": {
        "n0": {"parent": None, "message": None},
        "n1": {
            "parent": "n0",
            "message": {
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": ["What is there?"]},
            },
        },
        "n2": {
            "parent": "n1",
            "message": {
                "author": {"role": "assistant"},
                "content": {"content_type": "text", "parts": ["A lamp."]},
            },
        },
    },
    "current_node": "n2",
}
SESSION = [
    {"type": "summary", "summary": "Shelves", "leafUuid": "r"},
    {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "What is there?"}},
    {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "u",
        "message": {
            "id": "m",
            "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"shelf": 9}}],
        },
    },
    {
        "type": "user",
        "uuid": "r",
        "parentUuid": "a",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "A lamp."}]},
    },
]
DATA_SET = {"conversations": [{"from": "human", "value": "What is there?"}, {"from": "gpt", "value": "A lamp."}]}
TRANSCRIPTS: dict[str, object] = {"chatgpt-export": EXPORT, "claude-code": SESSION, "sharegpt": DATA_SET}


def wire(conversion: Conversion) -> object:
    return conversion.messages if conversion.request is None else conversion.request


def read(conversion: Conversion) -> tuple[Message, ...]:
    return DEFAULT_REGISTRY.codec(conversion.format, CONFIG).decode(wire(conversion)).messages


def words(messages: Sequence[Message]) -> str:
    return "\n".join(plain_text(message) for message in messages)


def pairs(messages: Sequence[Message]) -> list[tuple[str, object, str]]:
    """Each call with the text of its result, in the order of the results."""
    found = []
    for (at, index), (call_at, call_index) in pair_calls(messages).call_of.items():
        asked, answered = messages[call_at].parts[call_index], messages[at].parts[index]
        assert isinstance(asked, ToolCall)
        assert isinstance(answered, ToolResult)
        texts = [one for place, one in texts_of(messages[at]) if place[0] == index]
        found.append((asked.name, _value_of(asked.arguments), "\n".join(texts)))
    return found


def _value_of(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def test_every_reader_has_an_example_here() -> None:
    assert set(TRANSCRIPTS) == set(READ_ONLY)
    assert {"chat-completions", "neutral"} <= set(WRITTEN)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_story_with_tools_pictures_and_thoughts_goes_from_any_format_to_any_other(
    source: str, target: str
) -> None:
    told = convert(STORY, to=source, format="neutral")
    before = read(told)
    conversion = convert(wire(told), to=target, format=source)
    after = read(conversion)
    assert (conversion.source, conversion.format) == (source, target)
    assert not {note.code for note in conversion.notes} & {"unpaired"}
    for message in before:
        assert all(line in words(after) for line in plain_text(message).splitlines())
    asked = [
        ("look", {"shelf": 9}, "a lamp"),
        ("look", {"shelf": 3}, "nothing there"),
        ("look", {"shelf": 3}, "a net"),
    ]
    assert [(name, arguments) for name, arguments, _ in pairs(after)] == [one[:2] for one in asked]
    for (*_, answered), (*_, expected) in zip(pairs(after), asked, strict=True):
        assert expected in answered


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_conversion_is_recognized_as_what_it_is(source: str, target: str) -> None:
    told = convert(STORY, to=source, format="neutral")
    again = convert(wire(told), to=target)
    assert again.source == source
    assert convert(wire(again), to=target).source == target


@pytest.mark.parametrize("target", WRITTEN)
def test_a_conversion_needs_no_more_repairs(target: str) -> None:
    data = wire(convert(STORY, to=target, format="neutral"))
    again = convert(data, to=target, format=target)
    assert again.notes == ()
    assert wire(again) == data


@pytest.mark.parametrize(("source", "target"), list(product(READ_ONLY, WRITTEN)))
def test_a_transcript_goes_to_any_format(source: str, target: str) -> None:
    conversion = convert(TRANSCRIPTS[source], to=target)
    assert conversion.source == source
    assert all(line in words(read(conversion)) for line in ("What is there?", "A lamp."))


def test_what_a_reader_passed_over_is_named() -> None:
    notes = convert(SESSION, to="chat-completions").notes
    assert [note.message for note in notes] == ["not part of the talk, and passed over: 1 summary lines"]


@pytest.mark.parametrize("target", READ_ONLY)
def test_a_format_that_is_only_read_cannot_be_the_target(target: str) -> None:
    with pytest.raises(UnknownFormatError, match=f"{target} can be read, not written; .* written as neutral"):
        convert(STORY, to=target)


def test_a_format_nobody_knows_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownFormatError, match=r"no format 'papyrus'; known are .*neutral") as caught:
        convert(STORY, to="papyrus")
    assert "neutral" in caught.value.known
    with pytest.raises(UnknownFormatError, match="no format reads this input"):
        convert("hi", to="neutral")


def test_the_same_format_gives_the_very_objects_and_the_whole_body() -> None:
    body = {"model": "gpt-4o", "temperature": 0.5, "messages": [{"role": "user", "content": "hi"}]}
    conversion = convert(body, to="chat-completions")
    assert conversion.request == body
    assert conversion.messages[0] is body["messages"][0]  # type: ignore[index]
    assert conversion.notes == ()


def test_the_same_format_is_repaired_and_each_repair_named() -> None:
    chat = [
        {"role": "tool", "tool_call_id": "gone", "content": "found"},
        {"role": "assistant", "content": "a", "tool_calls": []},
        {"role": "user", "content": " "},
    ]
    conversion = convert(chat, to="chat-completions")
    assert conversion.messages == [{"role": "assistant", "content": "a"}]
    told = [(note.code, note.ids) for note in conversion.notes]
    assert told == [("unpaired", ("m0",)), ("empty", ("m2",)), ("wire-rule", ("m1",))]


def test_every_loss_on_the_way_to_chat_completions_is_named() -> None:
    notes = [(note.code, note.ids) for note in convert(STORY, to="chat-completions").notes]
    assert notes == [("wire-rule", ("a1",)), ("wire-rule", ("r1",)), ("wire-rule", ("r2",))]


def test_fields_of_a_body_that_formats_spell_differently_are_named() -> None:
    body = {"model": "gpt-4o", "tools": [], "stream": None, "messages": [{"role": "user", "content": "hi"}]}
    (note,) = convert(body, to="neutral").notes
    assert "model, tools of the request body" in note.message


def test_keys_of_messages_that_are_no_part_of_a_format_are_named() -> None:
    (note,) = convert([{"role": "user", "content": "hi", "mood": "calm"}], to="neutral").notes
    assert "the keys mood" in note.message


@pytest.mark.parametrize("target", [name for name in WRITTEN if name != "neutral"])
def test_kinds_and_flags_that_a_format_has_no_keys_for_are_named(target: str) -> None:
    notes = convert([say("p", "user", "You are Ilse.", kind="persona")], to=target).notes
    assert any("keeps no kinds and flags" in note.message for note in notes)


def test_kinds_and_flags_stay_where_there_are_keys_for_them() -> None:
    chat = [say("p", "user", "You are Ilse.", kind="persona", pinned=True)]
    assert convert(chat, to="neutral").messages == chat


def test_half_an_emoji_is_replaced_and_named() -> None:
    conversion = convert([{"role": "user", "content": "\ud83d"}], to="neutral")
    assert "U+FFFD" in conversion.notes[0].message


def test_the_account_is_json() -> None:
    account = convert(STORY, to="chat-completions").to_dict()
    assert json.loads(json.dumps(account)) == account
    assert (account["source"], account["format"], account["messages"]) == (
        "neutral",
        "chat-completions",
        len(STORY),
    )


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "deepseek-chat"])
def test_the_model_decides_between_formats_that_look_alike_as_it_does_for_a_fit(model: str) -> None:
    chat = [say("u", "user", "hi")]
    assert convert(chat, to="neutral", model=model).source == trimtab.fit(chat, model=model).format
    assert convert(chat, to="neutral", model="ghost").source == convert(chat, to="neutral").source


@pytest.mark.parametrize("target", WRITTEN)
@properties
@given(neutral_chats())
def test_any_conversation_goes_to_any_format_and_every_loss_is_named(target: str, chat: Chat) -> None:
    before = copy.deepcopy(chat)
    conversion = convert(chat, to=target, format="neutral")
    assert chat == before
    named = {name for note in conversion.notes for name in note.ids}
    written = words(read(conversion))
    for message in chat:
        if message["id"] not in named and isinstance(message["content"], str):
            assert message["content"].strip() in written


@pytest.mark.parametrize("target", WRITTEN)
@properties
@given(neutral_chats())
def test_there_and_back_texts_and_pairs_are_the_same(target: str, chat: Chat) -> None:
    there = convert(chat, to=target, format="neutral")
    back = convert(wire(there), to="neutral", format=target)
    once, twice = read(there), read(back)
    assert sorted(words(once).split()) == sorted(words(twice).split())
    assert pairs(once) == pairs(twice)


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if "neutral" not in pair])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(neutral_chats(max_size=12))
def test_no_conversation_stops_between_two_wires(source: str, target: str, chat: Chat) -> None:
    told = convert(chat, to=source, format="neutral")
    read(convert(wire(told), to=target, format=source))


def fit_to(chat: object, to: str, limit: int, **options: Any) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_codec(to, translator(chat, to=to, format="neutral"), replace=True)
    return trimtab.fit(
        chat, model="gpt-4.1", context_limit=limit, reserve=0, format=to, registry=registry, **options
    )


@pytest.mark.parametrize("target", WRITTEN)
def test_a_fit_can_end_in_another_format(target: str) -> None:
    chat = [say("p", "user", "You are Ilse, who keeps the lamps.", kind="persona")]
    chat += [say(f"m{at}", "user" if at % 2 else "assistant", f"{at} " + "word " * 40) for at in range(20)]
    result = fit_to(chat, target, 600, pins=["m4"])
    assert result.format == target
    assert result.tokens_after <= 600
    assert {entry.id for entry in result.excluded}.isdisjoint({"p", "m4", "m19"})
    assert len(result.excluded) > 5
    data = result.messages if result.request is None else result.request
    messages = DEFAULT_REGISTRY.codec(target, CONFIG).decode(data).messages
    assert "You are Ilse" in words(messages)
    assert convert(data, to=target, format=target).notes == ()


@pytest.mark.parametrize("target", WRITTEN)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chat=neutral_chats(), limit=st.integers(20, 400))
def test_any_fit_in_another_format_is_within_the_budget_and_accounts_for_all(
    target: str, chat: Chat, limit: int
) -> None:
    try:
        result = fit_to(chat, target, limit)
    except (TokenBudgetExceededError, InvalidRequestError):
        return
    assert result.tokens_after <= limit
    told = [entry.id for entry in (*result.kept, *result.excluded, *result.truncated)]
    assert sorted(told) == sorted(message["id"] for message in chat)


def test_a_registered_codec_is_found_by_its_name_until_it_is_taken_out() -> None:
    registry = trimtab.ContextStrategyRegistry()
    codec = translator(STORY, to="neutral")
    with pytest.raises(trimtab_sdk.ConfigError, match="is taken"):
        registry.register_codec("neutral", codec)
    take_out = registry.register_codec("story", codec)
    assert registry.codec("story", CONFIG) is codec
    assert "story" in registry.codec_names(CONFIG)
    take_out()
    with pytest.raises(UnknownFormatError):
        registry.codec("story", CONFIG)


def test_a_conversation_that_is_read_by_a_translator_can_go_on() -> None:
    chat = [{"role": "user", "content": "hi"}]
    codec = translator(chat, to="neutral", format="chat-completions")
    decoded = codec.decode(chat)
    longer = codec.splice(decoded, 1, 1, [{"role": "assistant", "content": "ho", "mood": "calm"}])
    assert longer.uncounted == ()
    written: list[Any] = codec.encode(longer.messages, longer.originals).messages
    assert [message["id"] for message in written] == ["m0", "m1"]
