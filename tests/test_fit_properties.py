"""What holds for every conversation and every budget."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import judge
import trimtab
from conversations import Chat, neutral_chats, openai_chats
from talks import count
from trimtab_sdk import InvalidRequestError, TokenBudgetExceededError, link_groups, protection_reasons

STRATEGIES = st.sampled_from(["truncate", "manual"])
FORMATS = st.sampled_from(["neutral", "chat-completions"])
properties = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def attempt(chat: Chat, limit: int, **options: Any) -> trimtab.Fit | None:
    """Fit, or None when what must stay is over the budget or the wire cannot carry it."""
    try:
        return trimtab.fit(chat, model="gpt-4.1", context_limit=limit, reserve=0, **options)
    except TokenBudgetExceededError as error:
        assert error.needed > error.allowed
        return None
    except InvalidRequestError as error:
        assert error.ids
        return None


@st.composite
def cases(draw: st.DrawFn) -> tuple[Chat, int, dict[str, Any]]:
    """A conversation, a limit somewhere around what it costs, and options."""
    form = draw(FORMATS)
    chat = draw(neutral_chats() if form == "neutral" else openai_chats())
    pins = draw(st.lists(st.integers(0, len(chat) - 1), max_size=2)) if chat else []
    whole = judge.request_tokens(chat)
    limit = draw(st.integers(4, max(5, whole + 10)))
    return chat, limit, {"format": form, "strategy": draw(STRATEGIES), "pins": pins}


@properties
@given(cases())
def test_every_fit_keeps_every_promise(case: tuple[Chat, int, dict[str, Any]]) -> None:
    chat, limit, options = case
    before = copy.deepcopy(chat)
    result = attempt(chat, limit, **options)
    assert chat == before
    if result is None:
        return
    assert result.tokens_after <= limit
    assert result.tokens_after == judge.request_tokens(result.messages)  # type: ignore[arg-type]
    entries = [*result.kept, *result.truncated, *result.inserted]
    assert result.overhead + sum(entry.tokens for entry in entries) == result.tokens_after
    reported = [entry.index for entry in (*result.kept, *result.excluded, *result.truncated)]
    assert sorted(reported) == list(range(len(chat)))  # type: ignore[type-var]
    assert result.inserted == ()
    again = attempt(chat, limit, **options)
    assert again is not None
    assert again == result


@properties
@given(cases())
def test_groups_are_whole_protected_stays_and_order_is_kept(case: tuple[Chat, int, dict[str, Any]]) -> None:
    chat, limit, options = case
    result = attempt(chat, limit, **options)
    assume(result is not None)
    assert result is not None
    decoded = decode(chat, options["format"])
    groups = link_groups(decoded)
    pins = {decoded[at].id for at in options["pins"]}
    left = {entry.id for entry in result.excluded}
    assert all(left.isdisjoint(group.ids) or left.issuperset(group.ids) for group in groups)
    protected = protection_reasons(decoded, groups, pins=pins)
    assert left.isdisjoint(protected)
    sent = [id(one) for one in result.messages]
    stayed = [chat[entry.index] for entry in result.kept if entry.index is not None]
    moved = {name for one in result.diagnostics if one.code == "wire-rule" for name in one.ids}
    if not moved:
        assert sent == [id(one) for one in stayed]
    for entry in result.kept:
        if entry.id in protected and entry.id not in moved:
            assert entry.index is not None
            assert id(chat[entry.index]) in sent


@properties
@given(cases())
def test_nothing_more_leaves_than_needed(case: tuple[Chat, int, dict[str, Any]]) -> None:
    chat, limit, options = case
    result = attempt(chat, limit, **options)
    assume(result is not None)
    assert result is not None
    by_budget = {
        entry.id: entry.tokens for entry in result.excluded if entry.reason in {"context-shift", "running-turn"}
    }
    if not by_budget:
        return
    decoded = decode(chat, options["format"])
    whole = [group for group in link_groups(decoded) if by_budget.keys() >= set(group.ids)]
    smallest = min(sum(by_budget[name] for name in group.ids) for group in whole)
    newest = max(whole, key=lambda group: group.positions[0])
    assert smallest > 0
    last = sum(by_budget[name] for name in newest.ids)
    steps = any(entry.reason == "running-turn" for entry in result.excluded)
    if not steps:
        assert result.tokens_after + last > limit


@properties
@given(cases())
def test_fitting_a_fit_changes_nothing(case: tuple[Chat, int, dict[str, Any]]) -> None:
    chat, limit, options = case
    options["pins"] = []
    result = attempt(chat, limit, **options)
    assume(result is not None)
    assert result is not None
    again = attempt(result.messages, limit, **options)  # type: ignore[arg-type]
    assert again is not None
    assert again.messages == result.messages


@properties
@given(neutral_chats())
def test_under_budget_a_neutral_chat_comes_back_as_the_same_objects(chat: Chat) -> None:
    assume(not any("meta" in one for one in chat))
    result = trimtab.fit(chat, model="gpt-4.1", format="neutral", context_limit=100_000)
    assert [id(one) for one in result.messages] == [id(one) for one in chat]
    assert result.excluded == ()


def decode(chat: Chat, form: str) -> Any:
    from trimtab.config import Config
    from trimtab.loading.registry import DEFAULT_REGISTRY

    return DEFAULT_REGISTRY.codec(form, Config()).decode(chat).messages


def test_an_agent_run_of_two_hundred_steps_fits_into_a_quarter() -> None:
    chat: Chat = [
        {"id": "s", "role": "system", "content": "You mend code."},
        {"id": "u", "role": "user", "content": "Find out why the build fails."},
    ]
    for step in range(200):
        call = {"id": f"c{step}", "name": "grep", "arguments": {"pattern": f"error_{step}"}}
        chat.append({"id": f"a{step}", "role": "assistant", "content": None, "tool_calls": [call]})
        chat.append(
            {"id": f"r{step}", "role": "tool", "tool_call_id": f"c{step}", "content": f"line {step}: " * 40}
        )
    whole = count(chat)
    result = trimtab.fit(chat, model="gpt-4.1", format="neutral", context_limit=whole // 4, reserve=0)
    assert result.tokens_after <= whole // 4
    assert {entry.reason for entry in result.excluded} == {"running-turn"}
    reasons = {entry.id: entry.reason for entry in result.kept}
    assert reasons["s"] == "system"
    assert reasons["u"] == "current-input"
    assert reasons["a199"] == reasons["r199"] == "open-step"
    gone = [entry.id for entry in result.excluded]
    assert gone == [name for step in range(len(gone) // 2) for name in (f"a{step}", f"r{step}")]


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4"])
def test_both_exact_profiles_count_as_the_judge_does(model: str) -> None:
    profile = "o200k_base" if model == "gpt-4.1" else "cl100k_base"
    chat = [
        {"role": "system", "content": "Antworte kurz. 短く答えて。"},
        {"role": "user", "name": "ann", "content": "def f(x):\n    return x  # 🙂 <|endoftext|>"},
    ]
    result = trimtab.fit(chat, model=model)
    assert result.tokenizer.profile == profile
    assert result.tokens_after == judge.request_tokens(chat, profile)
