import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import calls, message, result
from trimtab_sdk import (
    InvalidBudgetError,
    InvalidRequestError,
    Message,
    TokenBudgetExceededError,
    leaving_order,
    link_groups,
    protection_reasons,
    shift_context,
    with_tokens,
)


def ten(_: Message) -> int:
    return 10


def kept(chat: list[Message], budget: int, **options: object) -> list[str]:
    return [one.id for one in shift_context(chat, ten, budget, **options).kept]  # type: ignore[arg-type]


def test_under_budget_nothing_changes() -> None:
    chat = [message("u1"), message("a", "assistant"), message("u2")]
    assert kept(chat, 30) == ["u1", "a", "u2"]


def test_the_oldest_leave_first_and_no_more_than_needed() -> None:
    chat = [
        message("s", "system"),
        message("u1"),
        message("a1", "assistant"),
        message("a2", "assistant"),
        message("u2"),
    ]
    assert kept(chat, 49) == ["s", "a1", "a2", "u2"]
    assert kept(chat, 30) == ["s", "a2", "u2"]


def test_over_budget_it_is_cut_down_to_the_target() -> None:
    chat = [message(f"u{at}", "assistant") for at in range(10)] + [message("q")]
    assert len(kept(chat, 100, target=50)) == 5
    assert len(kept(chat, 110, target=50)) == 11


def test_a_group_leaves_whole() -> None:
    chat = [calls("a", "x"), message("k"), result("r", "x"), message("b", "assistant"), message("u")]
    assert kept(chat, 49) == ["k", "b", "u"]


def test_finished_steps_leave_after_history_and_the_open_step_stays() -> None:
    chat = [
        message("h", "assistant"),
        message("u"),
        calls("a1", "x"),
        result("r1", "x"),
        calls("a2", "y"),
        result("r2", "y"),
    ]
    assert kept(chat, 59) == ["u", "a1", "r1", "a2", "r2"]
    assert kept(chat, 49) == ["u", "a2", "r2"]


def test_an_unanswered_step_leaves_last_also_behind_younger_memories() -> None:
    chat = [calls("a", "x"), message("k", "system", source="memory"), result("r", "x"), message("u")]
    assert kept(chat, 39) == ["a", "r", "u"]


def test_ids_given_as_protected_are_closed_over_groups() -> None:
    chat = [calls("a", "x"), result("r", "x"), message("b", "assistant"), message("u")]
    assert kept(chat, 39, protected={"r"}) == ["a", "r", "u"]


def test_only_protected_left_and_over_is_an_error_that_names_them() -> None:
    chat = [message("s", "system"), message("a", "assistant"), message("u")]
    with pytest.raises(TokenBudgetExceededError) as caught:
        shift_context(chat, ten, 19)
    assert caught.value.needed == 20
    assert caught.value.allowed == 19
    assert caught.value.protected == {"s": 10, "u": 10}


@pytest.mark.parametrize("budget", [-1, 1.5, float("nan"), True, None, "9"])
def test_a_budget_that_is_no_whole_number_is_refused(budget: object) -> None:
    with pytest.raises(InvalidBudgetError):
        shift_context([message("u")], ten, budget)  # type: ignore[arg-type]


def test_doubled_ids_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="share the id"):
        shift_context([message("u"), message("u")], ten, 100)


def test_each_message_is_counted_once() -> None:
    counted: list[str] = []

    def count(one: Message) -> int:
        counted.append(one.id)
        return 10

    shift_context([message(f"a{at}", "assistant") for at in range(50)], count, 100)
    assert len(counted) == len(set(counted)) == 50


@given(
    plan=st.lists(
        st.tuples(
            st.sampled_from(["system", "user", "assistant", "call", "result"]),
            st.sampled_from("xy"),
            st.integers(0, 40),
            st.booleans(),
        ),
        max_size=25,
    ),
    budget=st.integers(0, 600),
)
def test_never_over_never_split_protected_kept_and_minimal(
    plan: list[tuple[str, str, int, bool]], budget: int
) -> None:
    chat, costs = [], {}
    for at, (kind, call, cost, pinned) in enumerate(plan):
        name = f"m{at}"
        costs[name] = cost
        if kind == "call":
            chat.append(calls(name, call))
        elif kind == "result":
            chat.append(result(name, call))
        else:
            chat.append(message(name, kind, pinned=pinned and cost > 30))
    groups = link_groups(chat)
    protected = protection_reasons(chat, groups)
    must = sum(costs[name] for name in protected)
    if must > budget:
        with pytest.raises(TokenBudgetExceededError):
            shift_context(chat, lambda one: costs[one.id], budget)
        return
    shift = shift_context(chat, lambda one: costs[one.id], budget)
    left = {one.id for one in shift.excluded}
    total = sum(costs[one.id] for one in shift.kept)
    assert total <= budget
    assert not left & protected.keys()
    assert all(left.isdisjoint(group.ids) or left.issuperset(group.ids) for group in groups)
    assert [one for one in chat if one.id not in left] == list(shift.kept)
    if left:
        order = leaving_order(chat, with_tokens(groups, [costs[one.id] for one in chat]), protected=protected)
        last = [departure.group for departure in order if left.issuperset(departure.group.ids)][-1]
        assert total + last.tokens > budget
