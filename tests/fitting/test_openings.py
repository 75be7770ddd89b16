from typing import Any

import trimtab

WORDS = "The quay clerk wrote down each crate, its mark and the hour it was weighed. "


def chat() -> list[dict[str, Any]]:
    turns = [{"role": ("user", "assistant")[at % 2], "content": f"{at}: {WORDS * 3}"} for at in range(9)]
    return [*turns, {"role": "user", "content": [{"type": "text", "text": "And now?"}]}]


def fit(limit: int, **options: Any) -> trimtab.Fit:
    given = {"model": "gpt-4.1", "format": "anthropic-messages", "context_limit": limit, "reserve": 0, **options}
    return trimtab.fit(chat(), **given)


def test_a_pinned_answer_keeps_the_user_message_in_front_of_it_where_the_user_must_speak_first() -> None:
    result = fit(250, pins=[3])
    kept = {entry.index: entry.reason for entry in result.kept}
    assert kept[2] == kept[3] == "pinned"
    assert [one["role"] for one in result.messages][:2] == ["user", "assistant"]  # type: ignore[index]


def test_a_pinned_user_message_needs_no_other() -> None:
    kept = {entry.index for entry in fit(250, pins=[4]).kept}
    assert 4 in kept
    assert 2 not in kept


def test_where_the_model_may_speak_first_nothing_is_added() -> None:
    kept = {entry.index for entry in fit(250, pins=[3], format="chat-completions").kept}
    assert 3 in kept
    assert 2 not in kept
