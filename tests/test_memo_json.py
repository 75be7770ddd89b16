"""JSON of requests that begin as the last one did."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.memo_json import MemoJson

POOL = [{"role": "user", "content": f"{at} Grüße \ud83d\ude00 {'x' * at}"} for at in range(60)]
LISTS = st.lists(st.sampled_from(POOL), max_size=60)
STEPS = st.lists(st.tuples(st.sampled_from(["more", "other", "less"]), LISTS), max_size=12)


def plain(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@given(STEPS)
def test_the_text_is_that_of_json_whatever_was_written_before(steps: list[tuple[str, list[object]]]) -> None:
    memo = MemoJson()
    held: list[object] = list(POOL[:20])
    for step, items in steps:
        if step == "more":
            held = [*held, *items]
        elif step == "less":
            held = held[: len(items)]
        else:
            held = list(items)
        body = {"model": "m", "messages": list(held), "tools": [1] * len(items), "stream": True}

        assert memo.dumps(body) == plain(body)
        assert memo.digest(list(held)) == sha256(plain({"messages": held})).hexdigest()


def test_an_equal_object_in_the_place_of_another_is_written_for_what_it_is_now() -> None:
    memo = MemoJson()
    first: list[object] = [{"at": at} for at in range(30)]
    memo.dumps({"messages": first})
    changed: list[object] = [*first[:10], {"at": "else"}, *first[11:]]
    assert memo.dumps({"messages": changed}) == plain({"messages": changed})
    assert memo.dumps({"messages": first}) == plain({"messages": first})


def test_what_json_cannot_hold_is_refused_and_spoils_nothing() -> None:
    memo = MemoJson()
    good: list[object] = [{"at": at} for at in range(30)]
    memo.dumps({"messages": good})
    for wrong in (float("nan"), {1, 2}, object()):
        with pytest.raises((TypeError, ValueError)):
            memo.dumps({"messages": [*good, wrong]})
        assert memo.dumps({"messages": good}) == plain({"messages": good})
        assert memo.digest(good) == sha256(plain({"messages": good})).hexdigest()
