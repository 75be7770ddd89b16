from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import judge
import trimtab
from conversations import Chat, neutral_chats
from factories import calls, message, result
from strategy_requests import Desk, ask
from talks import WORDS, count, fit, ids, talk, turn
from trimtab_sdk import MARKER, Edit, InvalidRequestError, TokenBudgetExceededError
from trimtab_strategies import truncate

LOG = "".join(f"line {at}: crate {at * 37 % 101} was weighed twice\n" for at in range(120))


def step(at: int, text: str) -> Chat:
    call = {"id": f"c{at}", "name": "read", "arguments": {"page": at}}
    return [
        {"id": f"a{at}", "role": "assistant", "content": None, "tool_calls": [call]},
        {"id": f"r{at}", "role": "tool", "tool_call_id": f"c{at}", "content": text},
        turn(f"v{at}", "assistant", f"That was page {at}."),
        turn(f"u{at}", "user", "And the next one?"),
    ]


def text_of(fitted: trimtab.Fit, id: str) -> str:
    return str(next(one["content"] for one in fitted.messages if one["id"] == id))  # type: ignore[index]


def test_the_oldest_leave_and_no_more_than_needed() -> None:
    chat = talk(9)
    fitted = fit(chat, count(chat) - 1)
    assert ids(fitted.excluded) == ["m0"]


def test_it_goes_down_to_the_target_once_it_is_over_the_budget() -> None:
    messages = [*(message(f"m{at}", "assistant", WORDS) for at in range(9)), message("u")]
    whole = ask(messages, 0).total
    over = ask(messages, whole - 1, target=whole // 2)
    kept = whole - sum(over.tokens[name] for name in truncate.trimtab_shift(over, Desk()).drop)
    assert whole // 2 - over.tokens["m0"] < kept <= whole // 2
    assert truncate.trimtab_shift(ask(messages, whole, target=whole // 2), Desk()) == Edit()


def test_results_that_are_short_enough_for_the_budget_are_not_short_enough_for_the_target() -> None:
    messages = [message("m", "assistant", WORDS * 9), calls("a", "c"), result("r", "c", LOG), message("u")]
    whole = ask(messages, 0).total
    request = ask(messages, whole - 1, target=200, settings={"tool_result_share": 0.05})
    edit = truncate.trimtab_shift(request, Desk())
    assert list(edit.drop) == ["m"]
    assert list(edit.shorten) == [("r", (0,))]


def test_the_last_to_leave_is_shortened_to_what_fits() -> None:
    chat = talk(9)
    chat[1]["content"] = WORDS * 30
    whole = count(chat)
    fitted = fit(chat, whole - 300, settings={"shorten_messages": True})
    (entry,) = fitted.truncated
    assert (entry.id, fitted.excluded) == ("m0", ())
    assert text_of(fitted, "m0").endswith(f"weighed.{MARKER}")
    assert whole - 340 <= fitted.tokens_after <= whole - 300


def test_a_tool_result_over_its_share_is_shortened_before_anything_leaves() -> None:
    chat = [turn("s", "system", "Be brief."), turn("u", text="Read it."), *step(0, LOG), *step(1, "short")]
    whole = count(chat)
    plain = fit(chat, whole - 200)
    shared = fit(chat, whole - 200, settings={"tool_result_share": 0.3})
    assert {"u", "a0", "r0"} <= set(ids(plain.excluded))
    assert shared.excluded == ()
    assert ids(shared.truncated) == ["r0"]
    text = text_of(shared, "r0")
    assert text.startswith("line 0: ")
    assert text.rstrip().endswith("twice")
    assert judge.tokens(text) <= 0.3 * (whole - 200)


def test_where_that_is_not_enough_the_oldest_leave_after_it() -> None:
    chat = [turn("s", "system", "Be brief."), *talk(9)[1:], *step(0, LOG), *step(1, LOG)]
    limit = count(chat) // 5
    fitted = fit(chat, limit, settings={"tool_result_share": 0.2})
    assert "r1" in ids(fitted.truncated)
    assert ids(fitted.excluded)[0] == "m0"
    assert judge.tokens(text_of(fitted, "r1")) <= 0.2 * limit
    assert fitted.tokens_after <= limit


def test_under_budget_no_tool_result_is_touched() -> None:
    chat = [turn("u", text="Read it."), *step(0, LOG)]
    fitted = fit(chat, count(chat), settings={"tool_result_share": 0.01})
    assert (fitted.truncated, fitted.excluded) == ((), ())


@pytest.mark.parametrize("strategy", ["truncate", "manual"])
@pytest.mark.parametrize("share", [-0.1, 1.5, "half"])
def test_a_share_is_a_number_from_0_to_1(strategy: str, share: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        fit(talk(), 10_000, strategy=strategy, settings={"tool_result_share": share})
    assert caught.value.path == "settings.tool_result_share"


def test_manual_shortens_as_truncate_does() -> None:
    chat = [turn("u", text="Read it."), *step(0, LOG), *step(1, LOG)]
    options: dict[str, Any] = {"settings": {"tool_result_share": 0.2, "shorten_messages": True}}
    limit = count(chat) // 2
    one, other = (fit(chat, limit, strategy=name, **options) for name in ("truncate", "manual"))
    assert one.messages == other.messages
    assert one.truncated


def is_slice_of(text: str, original: str) -> bool:
    """Whether a text is pieces of the original, in order, with a marker for each cut."""
    at = 0
    for piece in text.split(MARKER):
        found = original.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


@given(
    neutral_chats(),
    st.integers(4, 900),
    st.booleans(),
    st.sampled_from([None, 0, 0.05, 0.3, 1]),
    st.sampled_from(["truncate", "manual"]),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_setting_puts_a_fit_over_the_budget_or_words_into_a_message(
    chat: Chat, limit: int, shorten: bool, share: float | None, strategy: str
) -> None:
    chosen = {"shorten_messages": shorten} | ({} if share is None else {"tool_result_share": share})
    try:
        fitted = fit(chat, limit, strategy=strategy, settings=chosen)
    except (TokenBudgetExceededError, InvalidRequestError):
        return
    assert fitted.tokens_after == judge.request_tokens(fitted.messages) <= limit  # type: ignore[arg-type]
    originals = {one["id"]: one["content"] for one in chat}
    for entry in fitted.truncated:
        assert is_slice_of(text_of(fitted, entry.id), originals[entry.id])
        assert entry.original_tokens is not None
        assert entry.tokens < entry.original_tokens
    assert not any(one.code in ("PLUGIN_REJECTED", "PROTECTED_CONTEXT_REMOVED") for one in fitted.diagnostics)
