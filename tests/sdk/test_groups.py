from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from factories import calls, message, result, thinking
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Message,
    Text,
    ToolCall,
    ToolResult,
    link_groups,
    pair_calls,
)


def ids(messages: list[Message]) -> list[tuple[str, ...]]:
    return [group.ids for group in link_groups(messages)]


def test_messages_without_tools_are_groups_of_their_own() -> None:
    assert ids([message("a"), message("b")]) == [("a",), ("b",)]


def test_a_call_and_its_results_are_one_group_also_when_others_stand_between() -> None:
    chat = [message("u"), calls("a", "x", "y"), message("k"), result("ry", "y"), message("v"), result("rx", "x")]
    assert ids(chat) == [("u",), ("a", "ry", "rx"), ("k",), ("v",)]


def test_a_reused_id_belongs_to_the_nearest_earlier_call() -> None:
    chat = [calls("a", "x"), result("r1", "x"), calls("b", "x"), result("r2", "x")]
    assert ids(chat) == [("a", "r1"), ("b", "r2")]


def test_two_calls_of_one_id_in_a_message_are_answered_in_order() -> None:
    chat = [calls("a", "x", "x"), result("r1", "x"), result("r2", "x")]
    assert pair_calls(chat).call_of == {(1, 0): (0, 0), (2, 0): (0, 1)}
    assert ids(chat) == [("a", "r1", "r2")]


def test_a_second_result_for_an_answered_call_is_an_orphan() -> None:
    groups = link_groups([calls("a", "x"), result("r1", "x"), result("r2", "x")])
    assert [group.orphan for group in groups] == [False, True]


def test_a_result_in_front_of_its_call_is_an_orphan_and_the_call_is_open() -> None:
    first, second = link_groups([result("r", "x"), calls("a", "x")])
    assert first.orphan
    assert second.open_calls == ("x",)


def test_a_call_and_result_in_the_same_message_are_a_pair() -> None:
    both = Message("a", "assistant", (ToolCall("s", "search", "{}"), ToolResult("s", "found"), Text("so")))
    (group,) = link_groups([both])
    assert not group.orphan
    assert group.open_calls == ()


def test_reasoning_joins_the_assistant_message_behind_it() -> None:
    assert ids([thinking("t1"), thinking("t2"), calls("a", "x"), result("r", "x")]) == [("t1", "t2", "a", "r")]
    assert ids([thinking("t"), message("u")]) == [("t",), ("u",)]


def test_the_calls_of_one_answer_stay_with_its_reasoning_when_each_is_a_message_of_its_own() -> None:
    chat = [thinking("t"), message("m", "assistant"), calls("a", "x"), calls("b", "y"), result("rx", "x")]
    assert ids(
        [*chat, result("ry", "y"), thinking("t2"), message("n", "assistant"), message("o", "assistant")]
    ) == [
        ("t", "m", "a", "b", "rx", "ry"),
        ("t2", "n"),
        ("o",),
    ]


def test_approvals_belong_to_the_group_of_their_call() -> None:
    asks = Message("q", "assistant", (ApprovalRequest("p", "x"),))
    says = Message("y", "user", (ApprovalResponse("p", True),))
    chat = [calls("a", "x"), asks, message("u"), says, result("r", "x")]
    assert ids(chat) == [("a", "q", "y", "r"), ("u",)]


def test_one_message_with_results_of_two_calls_joins_both() -> None:
    both = Message("r", "tool", (ToolResult("x", "1"), ToolResult("y", "2")))
    assert ids([calls("a", "x"), calls("b", "y"), both]) == [("a", "b", "r")]


def test_ten_thousand_calls_of_one_id_are_paired_in_one_pass() -> None:
    chat = [calls("a", *["x"] * 10_000), *(result(f"r{at}", "x") for at in range(10_000))]
    (group,) = link_groups(chat)
    assert len(group.ids) == 10_001


@given(
    st.lists(st.tuples(st.sampled_from(["user", "call", "result", "think"]), st.sampled_from("xyz")), max_size=30)
)
def test_every_message_is_in_exactly_one_group_and_order_is_kept(plan: list[tuple[str, str]]) -> None:
    makers: dict[str, Callable[[int, str], Message]] = {
        "user": lambda at, _: message(f"m{at}"),
        "call": lambda at, call: calls(f"m{at}", call),
        "result": lambda at, call: result(f"m{at}", call),
        "think": lambda at, _: thinking(f"m{at}"),
    }
    chat = [makers[kind](at, call) for at, (kind, call) in enumerate(plan)]
    groups = link_groups(chat)
    assert sorted(at for group in groups for at in group.positions) == list(range(len(chat)))
    assert [group.positions[0] for group in groups] == sorted(group.positions[0] for group in groups)
    assert all(list(group.positions) == sorted(group.positions) for group in groups)
