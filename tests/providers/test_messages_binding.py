"""What the driver says thinking is bound to, against what a server would compare."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_plugins.providers.chatgpt import ChatGPT
from trimtab_plugins.providers.openai import OpenAI
from trimtab_sdk import BindsReasoning, BoundBlock, Encoded, ProviderCall

DRIVER = Anthropic()
MARK = {"cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "seal-1"}
HIDDEN = {"type": "redacted_thinking", "data": "seal-2"}
TEXT = {"type": "text", "text": "Hi."}


def head(system: object = None, *tools: object) -> object:
    said: list[object] = [{"role": "user", "content": "Hi."}]
    request: dict[str, object] = {"messages": said} if system is None else {"system": system, "messages": said}
    return DRIVER.bound_head(ProviderCall(model="m", prompt=Encoded(said, request), tools=tools))


def blocks(role: str, content: object, **settings: object) -> tuple[BoundBlock, ...]:
    return tuple(DRIVER.bound_blocks({"role": role, "content": content}, settings))


def test_only_anthropic_binds() -> None:
    assert isinstance(DRIVER, BindsReasoning)
    assert not isinstance(OpenAI(), BindsReasoning)
    assert not isinstance(ChatGPT(), BindsReasoning)


def test_thinking_has_its_seal_and_nothing_else_has_one() -> None:
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {"signature": "none"}}
    said = blocks("assistant", [THOUGHT, HIDDEN, TEXT, call])
    assert [block.seal for block in said] == ["seal-1", "seal-2", None, None]
    assert [block.value for block in said] == [["assistant", one] for one in (THOUGHT, HIDDEN, TEXT, call)]


def test_a_text_is_the_same_block_however_it_is_written() -> None:
    assert blocks("user", "Hi.") == blocks("user", [TEXT]) == blocks("user", [TEXT | MARK])
    assert blocks("user", "Hi.") != blocks("assistant", "Hi.")
    assert head("Be brief.") == head([{"type": "text", "text": "Be brief."} | MARK])


def test_marks_for_the_cache_are_no_part_of_it() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": [TEXT]}
    assert blocks("user", [result]) == blocks("user", [result | {"content": [TEXT | MARK]} | MARK])
    assert head(None, {"name": "look"}) == head(None, {"name": "look"} | MARK)


@pytest.mark.parametrize(
    "other",
    [
        head("Be kind.", {"name": "look"}),
        head("Be brief.", {"name": "find"}),
        head("Be brief."),
        head(None, {"name": "look"}),
    ],
)
def test_system_text_and_tools_stand_in_front(other: object) -> None:
    assert head("Be brief.", {"name": "look"}) != other


def test_what_the_later_version_is_not_sent_is_no_part_of_it() -> None:
    cited: dict[str, Any] = TEXT | {"citations": [{"type": "char_location"}]}
    assert blocks("user", [cited], version="2026-10-21") == blocks("user", [TEXT])
    assert blocks("user", [cited]) != blocks("user", [TEXT])


@pytest.mark.parametrize("message", [None, "text", {"role": "user"}, {"role": "user", "content": None}])
def test_what_is_no_message_has_no_blocks(message: object) -> None:
    assert tuple(DRIVER.bound_blocks(message, {})) == ()
