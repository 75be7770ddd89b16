from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from providers.provider_streams import Heard
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.providers.dry_run import DryRun
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_sdk import Encoded, ProviderCall, TextDelta, ToolSpec

TALK: list[object] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "When does the ferry leave?"},
    {"role": "assistant", "content": "At half past six."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "And on   Sunday?"}, {"type": "image_url", "image_url": {}}],
    },
]
LOOK, FIND = ToolSpec("look"), ToolSpec("find")
WISHES: dict[str, Any] = {
    "tool_calls": [
        {"name": "look", "arguments": {"at": 6}},
        {"name": "gone"},
        {"name": "find", "arguments": "{bad"},
    ]
}


def answered(messages: list[object], *tools: ToolSpec, limit: int | None = None, **settings: object) -> Heard:
    driver = DryRun()
    call = ProviderCall(
        model="m-1",
        prompt=Encoded(messages),
        tools=tuple(driver.write_tools(tools, settings)),
        max_output_tokens=limit,
        settings=settings,
    )
    return Heard(list(driver.respond(call)))


def test_the_answer_is_an_account_of_the_context() -> None:
    got = answered(TALK, LOOK, FIND, limit=100)

    assert got.text == (
        "Dry run for the model m-1: nothing was sent.\n"
        "Messages: 1 assistant, 1 system, 2 user.\n"
        "Tools: look, find.\n"
        "Output limit: 100 tokens.\n"
        "Last text of the user: “And on Sunday?”"
    )
    assert got.item == {"role": "assistant", "content": got.text}
    assert (got.answer.finish, got.answer.usage) == ("stop", None)


def test_it_comes_in_pieces_and_is_always_the_same() -> None:
    one, other = answered(TALK), answered(TALK)

    assert sum(isinstance(event, TextDelta) for event in one.events) > 3
    assert one.events == other.events


def test_an_empty_context_has_an_account_too() -> None:
    text = answered([]).text

    assert "Messages: none." in text
    assert "Tools: none." in text
    assert text.endswith("Last text of the user: none")


def test_a_long_text_is_quoted_in_short() -> None:
    text = answered([{"role": "user", "content": "word " * 1_000}]).text

    assert text.endswith("word…”")
    assert len(text) < 300


def test_a_reply_of_the_settings_goes_before_the_account() -> None:
    assert answered(TALK, reply="Half past six.").text == "Half past six."
    assert answered(TALK, reply="").item == {"role": "assistant", "content": ""}


def test_tools_that_are_offered_are_asked_for_once() -> None:
    got = answered(TALK, LOOK, FIND, **WISHES)

    assert [(name, arguments) for _, name, arguments in got.calls] == [("look", '{"at": 6}'), ("find", "{bad")]
    assert got.answer.finish == "tool-calls"
    results = [{"role": "tool", "tool_call_id": call_id, "content": "x"} for call_id, _, _ in got.calls]
    after = answered([*TALK, got.item, *results], LOOK, FIND, **WISHES)
    assert after.calls == []
    assert "2 tool" in after.text


def test_the_next_input_asks_for_them_again_under_other_ids() -> None:
    first = answered(TALK, LOOK, **WISHES)
    results: list[object] = [{"role": "tool", "tool_call_id": first.calls[0][0], "content": "x"}]
    again = answered([*TALK, first.item, *results, {"role": "user", "content": "And now?"}], LOOK, **WISHES)

    assert [name for _, name, _ in again.calls] == ["look"]
    assert again.calls[0][0] != first.calls[0][0]


def test_tools_that_are_not_offered_are_not_asked_for() -> None:
    assert answered(TALK, **WISHES).calls == []


def test_what_it_answers_the_codec_reads_and_writes() -> None:
    codec = ChatCompletions()
    for got in (answered(TALK), answered(TALK, LOOK, FIND, **WISHES)):
        decoded = codec.decode([got.item])
        assert codec.encode(decoded.messages, decoded.originals).messages == [got.item]


def test_it_writes_the_requests_of_the_real_one() -> None:
    call = ProviderCall(model="m", prompt=Encoded(TALK), max_output_tokens=5)

    assert DryRun().request(call) == OpenAICompatible().request(call)


def test_the_real_one_never_answers_by_itself() -> None:
    with pytest.raises(NotImplementedError, match="through a server"):
        OpenAICompatible().respond(ProviderCall(model="m", prompt=Encoded(TALK)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"reply": 7},
        {"tool_calls": {}},
        {"tool_calls": [{}]},
        {"tool_calls": [{"name": "x", "arguments": 7}]},
        {"x": 1},
    ],
)
def test_settings_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    schema = Draft202012Validator(dict(DryRun().settings_schema or {}))

    assert list(schema.iter_errors(wrong))
    assert list(schema.iter_errors({"reply": "x", **WISHES})) == []
