"""A chain finds a stored hash among its beginnings and hashes nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuation.turns import chain, histories
from factories import message
from trimtab.continuation import EMPTY_CHAIN, EMPTY_HISTORY, chain_history, extend_history, history_hash
from trimtab_sdk import Message, Notice


def test_a_chain_finds_how_far_a_hash_reaches() -> None:
    whole = chain("a", "b", "c")
    assert [whole.length_of(chain(*ids).hash) for ids in ("a", "ab", "abc")] == [1, 2, 3]
    assert [whole.length_of(chain(*ids).hash) for ids in ("b", "ba", "abcd", "ac")] == [None] * 4


def test_no_message_is_no_beginning() -> None:
    assert EMPTY_CHAIN.hash == EMPTY_HISTORY
    assert chain("a").length_of(EMPTY_HISTORY) is None
    assert EMPTY_CHAIN.length_of(EMPTY_HISTORY) is None


def test_a_hash_of_another_scheme_is_no_question_for_a_chain() -> None:
    with pytest.raises(ValueError, match="scheme"):
        chain("a").length_of("md5:00")


def test_a_chain_holds_neither_ephemeral_messages_nor_notices() -> None:
    talk = [message("a"), message("e", ephemeral=True), Message("n", "assistant", (Notice("x"),)), message("b")]
    assert [one.id for one in chain_history(talk).messages] == ["a", "b"]
    assert chain_history(talk) == chain_history([talk[0], talk[3]])


def test_a_longer_history_hashes_only_what_is_new() -> None:
    talk = [message(f"m{at}") for at in range(50)]
    known = chain_history(talk)
    longer = chain_history([*talk, message("new")], known=known)
    assert all(one is other for one, other in zip(longer.digests, known.digests, strict=False))
    assert all(one is other for one, other in zip(longer.links, known.links, strict=False))
    assert longer.length_of(known.hash) == 50


def test_a_shorter_beginning_is_chained_anew_but_no_message_is_hashed_again() -> None:
    talk = [message(f"m{at}") for at in range(50)]
    known = chain_history(talk)
    shifted = chain_history(talk[10:], known=known)
    assert all(one is other for one, other in zip(shifted.digests, known.digests[10:], strict=True))
    assert shifted == chain_history(talk[10:])
    assert shifted.length_of(known.hash) is None


def test_a_message_of_another_state_is_hashed_anew_and_chained_on_when_it_is_sent_the_same() -> None:
    talk = [message("a"), message("b"), message("c")]
    known = chain_history(talk)
    pinned = chain_history([talk[0], replace(talk[1], pinned=True), talk[2]], known=known)
    edited = chain_history([talk[0], message("b", "user", "B"), talk[2]], known=known)
    assert pinned.hash == known.hash
    assert edited.hash == chain_history([talk[0], message("b", "user", "B"), talk[2]]).hash != known.hash


@given(histories(max_size=8), histories(max_size=8), st.integers(0, 8))
def test_what_is_known_never_changes_a_chain(first: list[Message], second: list[Message], shared: int) -> None:
    mixed = [*first[:shared], *second[shared:]]
    with_known = chain_history(mixed, known=chain_history(first))
    assert with_known == chain_history(mixed)
    assert with_known.hash == history_hash(mixed) == extend_history(EMPTY_HISTORY, mixed)


@given(histories(min_size=1, max_size=8), st.data())
def test_every_beginning_is_found_at_its_length(history: list[Message], data: st.DataObject) -> None:
    length = data.draw(st.integers(1, len(history)))
    assert chain_history(history).length_of(history_hash(history[:length])) == length
