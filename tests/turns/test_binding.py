"""What is known of prefixes, and what it costs to find out what is stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from trimtab.store.protocol import NewMessage, StoredMessage, Wire
from trimtab.turns.binding import Bound
from trimtab.turns.messages import as_stored
from trimtab_sdk import BoundBlock, Encoded, Message, ProviderCall, Reasoning, Text
from trimtab_sdk.errors import PluginCrashedError

WIRE = ("strict", "lines")


class Lines:
    """Prompts whose messages are lists of texts; one that begins with `?` is reasoning and its own seal."""

    def __init__(self) -> None:
        self.asked = 0

    def bound_head(self, call: ProviderCall) -> object:
        return list(call.tools)

    def bound_blocks(self, message: Any, settings: Mapping[str, object]) -> Sequence[BoundBlock]:
        self.asked += 1
        return [BoundBlock(text, text if text.startswith("?") else None) for text in message]


def bound(*tools: object) -> tuple[Bound, Lines]:
    driver = Lines()
    return Bound(driver, WIRE, ProviderCall(model="m", prompt=Encoded([]), tools=tools)), driver


def answered(knowing: Bound, prompt: list[object], *said: str, **fields: Any) -> tuple[StoredMessage, ...]:
    """Give what is stored of an answer to a prompt, and let it be learnt."""
    parts = tuple(Reasoning("", one) if one.startswith("?") else Text(one) for one in said)
    new = NewMessage(message=Message("a", "assistant", parts), wire=Wire(*WIRE, list(said), "x/1"))
    call = replace(ProviderCall(model="m", prompt=Encoded(prompt)), **fields)
    stored = as_stored(knowing.with_prefixes([new], call), turn_id="t")
    knowing.learn(stored)
    return stored


def test_reasoning_is_stale_behind_another_prefix_and_does_not_count_for_what_follows() -> None:
    knowing, _ = bound()
    answered(knowing, [["hi"]], "?1", "one")
    answered(knowing, [["ho"], ["one"], ["and"]], "?2", "two")
    assert knowing.stale(Encoded([["hi"], ["?1", "one"]])) == {}
    changed = Encoded([["ho"], ["?1", "one"], ["and"], ["?2", "two"]])
    assert knowing.stale(changed) == {"?1": frozenset({0})}
    assert knowing.stale(Encoded([["ho"], ["one"], ["and"], ["?2", "two"]])) == {}


def test_two_pieces_of_reasoning_in_one_answer_have_a_prefix_each() -> None:
    knowing, _ = bound()
    (stored,) = answered(knowing, [["hi"]], "?1", "one", "?2", "two")
    assert stored.wire is not None
    assert len(set(stored.wire.prefixes)) == 2
    assert knowing.stale(Encoded([["hi"], ["?1", "one", "?2", "two"]])) == {}
    assert knowing.stale(Encoded([["hi"], ["?1", "?2", "two"]])) == {"?2": frozenset({0})}


def test_of_two_with_the_same_seal_the_one_in_the_wrong_place_is_stale() -> None:
    knowing, _ = bound()
    answered(knowing, [["hi"]], "?1", "one")
    assert knowing.stale(Encoded([["hi"], ["?1", "one"], ["?1"]])) == {"?1": frozenset({1})}


def test_other_tools_make_all_stale() -> None:
    knowing, _ = bound("look")
    stored = answered(knowing, [["hi"]], "?1", "one")
    other, _ = bound("find")
    other.learn(stored)
    assert other.stale(Encoded([["hi"], ["?1", "one"]])) == {"?1": frozenset({0})}


@pytest.mark.parametrize("fields", [{"cursor": "c"}, {"resume": "r"}])
def test_a_prefix_that_only_the_server_knows_is_not_stored(fields: dict[str, str]) -> None:
    knowing, _ = bound()
    (stored,) = answered(knowing, [["hi"]], "?1", "one", **fields)
    assert stored.wire == Wire(*WIRE, ["?1", "one"], "x/1")
    assert not knowing.knows(Reasoning("", "?1"))


def test_the_answer_of_somebody_else_tells_nothing() -> None:
    knowing, _ = bound()
    (stored,) = answered(knowing, [["hi"]], "?1", "one")
    assert stored.wire is not None
    other, _ = bound()
    other.learn([replace(stored, wire=replace(stored.wire, provider="other")), replace(stored, wire=None)])
    other.learn([replace(stored, wire=replace(stored.wire, prefixes=("one", "too many")))])
    assert not other.knows(Reasoning("", "?1"))


def test_each_message_is_read_once_while_it_is_the_same_object() -> None:
    knowing, driver = bound()
    said: list[object] = [[f"line {at}"] for at in range(5000)]
    answered(knowing, said, "?1", "one")
    driver.asked = 0
    for turn in range(5):
        said = [*said, ["?1", "one"], [f"turn {turn}"]]
        knowing.stale(Encoded(said))
    assert driver.asked == 10
    assert knowing.stale(Encoded(said[1:])) == {"?1": frozenset(range(5))}
    knowing.stale(Encoded([["else"], *said[1:]]))
    knowing.stale(Encoded(said))
    assert driver.asked <= 12


def test_a_driver_that_fails_is_named() -> None:
    knowing, _ = bound()
    answered(knowing, [["hi"]], "?1", "one")
    with pytest.raises(PluginCrashedError) as caught:
        knowing.stale(Encoded([None]))
    assert caught.value.plugin == "strict"
