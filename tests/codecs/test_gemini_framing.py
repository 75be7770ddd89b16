from __future__ import annotations

import pytest

from factories import calls, message, result
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_sdk import (
    Audio,
    Cost,
    File,
    Framing,
    Image,
    Message,
    Notice,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

CODECS = [GeminiContents(), GeminiInteractions()]
STEP = 3
USER, ASSISTANT, TOOL = (STEP + len(role) for role in ("user", "assistant", "tool"))


@pytest.fixture(params=CODECS, ids=["contents", "interactions"])
def framing(request: pytest.FixtureRequest) -> Framing:
    codec = request.param
    assert isinstance(codec, GeminiContents | GeminiInteractions)
    return codec.framing("o200k_base", "gemini-3.8-flash")


def cost(framing: Framing, *parts: object, role: str = "user") -> Cost:
    return framing.message_cost(Message("m", role, parts), len)  # type: ignore[arg-type]


def test_a_text_costs_its_tokens_its_role_and_three(framing: Framing) -> None:
    assert framing.message_cost(message("a", text="hello"), len) == Cost(USER + 5, frozenset({"framing"}))


def test_a_call_costs_its_name_and_arguments_and_its_id_nothing(framing: Framing) -> None:
    assert framing.message_cost(calls("c", "a-very-long-id"), len).tokens == ASSISTANT + len("look{}")


def test_a_result_costs_its_texts(framing: Framing) -> None:
    assert framing.message_cost(result("r", "x", "found"), len).tokens == TOOL + 5
    parts = ToolResult("x", (Text("found"), Text("it")))
    assert cost(framing, parts, role="tool").tokens == TOOL + 7


def test_a_signature_costs_nothing_and_is_marked(framing: Framing) -> None:
    assert cost(framing, Reasoning("hm", "c2ln" * 100), role="assistant") == Cost(
        ASSISTANT + 2, frozenset({"framing", "parts"})
    )


def test_a_message_that_is_not_written_costs_nothing(framing: Framing) -> None:
    assert cost(framing).tokens == 0
    assert cost(framing, Notice("remark")).tokens == 0


def test_pictures_are_priced_by_model_and_resolution(framing: Framing) -> None:
    low, high = (cost(framing, Image(data="AAAA", detail=detail)) for detail in ("low", "high"))
    assert low.tokens < high.tokens
    assert (
        cost(framing, ToolResult("x", (Image(data="AAAA", detail="low"),)), role="tool").tokens
        >= low.tokens - USER
    )


def test_sounds_files_and_unknown_parts_are_marked(framing: Framing) -> None:
    for part in (Audio(data="AAAA"), File(data="AAAA"), Unknown({"code": "print(1)"})):
        priced = cost(framing, part)
        assert priced.tokens > USER
        assert "parts" in priced.approximate


def test_a_signature_in_an_unknown_part_costs_nothing(framing: Framing) -> None:
    bare, signed = ({"code": "1"}, {"code": "1", "signature": "c2ln" * 200})
    assert cost(framing, Unknown(bare)).tokens == cost(framing, Unknown(signed)).tokens


def test_tools_and_response_format_cost_their_json(framing: Framing) -> None:
    empty = framing.request_cost(tools=(), response_format=None, count=len)
    assert empty == Cost(3, frozenset({"framing"}))
    full = framing.request_cost(tools=({"name": "f"},), response_format={"type": "object"}, count=len)
    assert full.tokens == 3 + len('{"name":"f"}') + len('{"type":"object"}')


def test_what_becomes_several_steps_costs_as_many() -> None:
    answer = Message("c", "assistant", (Text("hm"), ToolCall("x", "f", "{}"), ToolCall("y", "g", "{}")))
    steps = GeminiInteractions()
    written = steps.decode(steps.encode((answer,)).messages).messages
    assert len(written) == 3
    framing = steps.framing("o200k_base")
    assert framing.message_cost(answer, len).tokens == sum(
        framing.message_cost(one, len).tokens for one in written
    )


def test_results_beside_words_cost_two_contents() -> None:
    framing = GeminiContents().framing("o200k_base")
    assert cost(framing, ToolResult("x", "found"), Text("hurry")).tokens == 2 * USER + 10
