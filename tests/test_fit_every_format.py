"""The promises of a fit, for every format that can be written and every strategy that ships."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import trimtab
from conversations import Chat, neutral_chats
from trimtab.config import Config
from trimtab.conversion import convert
from trimtab.fitting.counting import Counter
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk import InvalidRequestError, TokenBudgetExceededError, link_groups, protection_reasons

FORMATS = [
    "anthropic-messages",
    "chat-completions",
    "gemini-contents",
    "gemini-interactions",
    "neutral",
    "openai-responses",
]
STRATEGIES = ["manual", "summarize", "truncate", "vector-recall"]
properties = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def in_format(chat: Chat, form: str) -> Any:
    """The conversation in another format, as a body where the format needs one."""
    converted = convert(chat, to=form, format="neutral", model="gpt-4.1")
    return converted.request if converted.request is not None else converted.messages


def attempt(data: Any, form: str, strategy: str, limit: int) -> trimtab.Fit | None:
    """Fit, or None when what must stay is too much or the wire cannot carry it."""
    try:
        return trimtab.fit(data, model="gpt-4.1", format=form, strategy=strategy, context_limit=limit, reserve=0)
    except (TokenBudgetExceededError, InvalidRequestError):
        return None


def recount(result: trimtab.Fit, form: str) -> int:
    """What the request costs when it is read again from the wire."""
    codec = DEFAULT_REGISTRY.codec(form, Config())
    decoded = codec.decode(result.request if result.request is not None else result.messages)
    counter = Counter(DEFAULT_REGISTRY.tokenizer("o200k_base", Config()), codec.framing("o200k_base", "gpt-4.1"))
    return result.overhead + sum(cost.tokens for cost in counter.messages(decoded.messages).values())


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMATS)
@properties
@given(chat=neutral_chats(max_size=20), share=st.floats(0.2, 1.1))
def test_every_promise_holds(form: str, strategy: str, chat: Chat, share: float) -> None:
    data = in_format(chat, form)
    whole = attempt(data, form, "truncate", 1_000_000)
    assume(whole is not None)
    assert whole is not None
    limit = max(20, int(whole.tokens_before * share))
    before = copy.deepcopy(data)
    result = attempt(data, form, strategy, limit)
    assert data == before
    assume(result is not None)
    assert result is not None
    assert result.tokens_after <= limit
    entries = [*result.kept, *result.truncated, *result.inserted]
    assert result.overhead + sum(entry.tokens for entry in entries) == result.tokens_after
    assert_groups_and_protection(data, form, result)
    again = attempt(data, form, strategy, limit)
    assert again is not None
    assert again == result


def assert_groups_and_protection(data: Any, form: str, result: trimtab.Fit) -> None:
    decoded = DEFAULT_REGISTRY.codec(form, Config()).decode(data).messages
    reported = [entry.id for entry in (*result.kept, *result.excluded, *result.truncated)]
    assert sorted(reported) == sorted(message.id for message in decoded)
    left = {entry.id for entry in result.excluded if entry.reason not in {"wire-rule", "empty"}}
    groups = link_groups(decoded)
    for group in groups:
        assert left.isdisjoint(group.ids) or left.issuperset(set(group.ids) & set(reported) - wire_left(result))
    assert left.isdisjoint(protection_reasons(decoded, groups))


def wire_left(result: trimtab.Fit) -> set[str]:
    return {entry.id for entry in result.excluded if entry.reason in {"wire-rule", "empty"}}


@pytest.mark.parametrize("form", FORMATS)
@properties
@given(chat=neutral_chats(max_size=20), share=st.floats(0.3, 1.0))
def test_what_is_sent_costs_what_the_report_says(form: str, chat: Chat, share: float) -> None:
    data = in_format(chat, form)
    whole = attempt(data, form, "truncate", 1_000_000)
    assume(whole is not None)
    assert whole is not None
    result = attempt(data, form, "truncate", max(20, int(whole.tokens_before * share)))
    assume(result is not None)
    assert result is not None
    assert recount(result, form) <= result.tokens_after


@pytest.mark.parametrize("form", FORMATS)
@properties
@given(chat=neutral_chats(max_size=16), share=st.floats(0.3, 1.0))
def test_fitting_a_fit_changes_nothing_more(form: str, chat: Chat, share: float) -> None:
    data = in_format(chat, form)
    whole = attempt(data, form, "truncate", 1_000_000)
    assume(whole is not None)
    assert whole is not None
    limit = max(20, int(whole.tokens_before * share))
    result = attempt(data, form, "truncate", limit)
    assume(result is not None)
    assert result is not None
    again = attempt(result.request if result.request is not None else result.messages, form, "truncate", limit)
    assert again is not None
    assert again.messages == result.messages
    assert again.request == result.request
