"""Reasoning that a wire binds to its prefix, in one fit and over many turns."""

from __future__ import annotations

from typing import Any

import trimtab

WORDS = "The quay clerk wrote down each crate, its mark and the hour it was weighed. "


def exchange(number: int, words: int = 3) -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": f"thought {number}", "signature": f"c2ln{number}"}
    answer = {"type": "text", "text": f"answer {number}: {WORDS * words}"}
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": [thought, answer]},
    ]


def body(exchanges: int) -> dict[str, Any]:
    messages = [one for number in range(exchanges) for one in exchange(number)]
    return {"system": "Be brief.", "messages": [*messages, {"role": "user", "content": "And now?"}]}


def thoughts(messages: list[Any]) -> list[str]:
    return [
        block["thinking"]
        for one in messages
        if isinstance(one["content"], list)
        for block in one["content"]
        if block["type"] == "thinking"
    ]


def options(limit: int) -> dict[str, Any]:
    return {"model": "gpt-4.1", "format": "anthropic-messages", "context_limit": limit, "reserve": 0}


def test_reasoning_stays_while_nothing_leaves_and_goes_behind_the_cut() -> None:
    given = body(6)
    whole = trimtab.fit(given, **options(100_000))
    assert thoughts(whole.messages) == [f"thought {number}" for number in range(6)]
    cut = trimtab.fit(given, **options(whole.tokens_after - 1))
    assert cut.excluded
    assert thoughts(cut.messages) == []
    named = [one.ids for one in cut.diagnostics if "reasoning" in one.message]
    assert named
    assert {name for ids in named for name in ids} <= {entry.id for entry in cut.kept}


def test_over_the_turns_old_reasoning_stays_out_and_new_reasoning_stays_in() -> None:
    given = body(8)
    whole = trimtab.fit(given, **options(100_000)).tokens_after
    talking = trimtab.Conversation(given, **options(whole - 1))
    first = talking.fit()
    assert thoughts(first.messages) == []
    _, answer = exchange(100, words=0)
    talking.append(answer, {"role": "user", "content": "Go on."})
    second = talking.fit()
    assert thoughts(second.messages) == ["thought 100"]
    assert second.messages[: len(first.messages)] == first.messages


def test_a_change_by_a_later_cut_takes_the_newer_reasoning_too() -> None:
    given = body(8)
    whole = trimtab.fit(given, **options(100_000)).tokens_after
    talking = trimtab.Conversation(given, **options(whole - 1))
    talking.fit()
    sent: list[list[str]] = []
    for number in range(100, 110):
        talking.append(*exchange(number)[1:], {"role": "user", "content": "Go on."})
        sent.append(thoughts(talking.fit().messages))
    assert sent[0] == ["thought 100"]
    cuts = [at for at in range(1, len(sent)) if len(sent[at]) <= len(sent[at - 1])]
    assert cuts
    assert sent[cuts[0]] == []


def test_a_report_stays_readable_when_the_conversation_goes_on_changing() -> None:
    talking = trimtab.Conversation(body(3), **options(100_000))
    before = talking.fit()
    talking.remove(1)
    talking.edit(0, {"role": "user", "content": "another question altogether"})
    after = talking.fit()
    assert len(before.kept) == len(after.kept) + 1
    assert before.overhead + sum(entry.tokens for entry in before.kept) == before.tokens_after
