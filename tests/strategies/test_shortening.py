from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judge
from factories import calls, message, result
from strategy_requests import Desk, ask
from trimtab_sdk import MARKER, Group, Message, Path, Request, Span, Text, ToolResult, keep_spans, texts_of
from trimtab_strategies.cutting import LEAST_CHARS, ROUNDS, Shape, cut_text
from trimtab_strategies.edges import is_inside
from trimtab_strategies.shortening import Cuts, drop_or_shorten, shorten_group, shorten_results

WORDS = "The quay clerk wrote down each crate, its mark and the hour it was weighed. "
LOG = "".join(f"line {at}: crate {at * 37 % 101} was weighed twice\n" for at in range(200))
TEXTS = st.one_of(
    st.lists(
        st.sampled_from(["ferry ", "Noon. ", "東京。", "👨‍👩‍👧", "e\u0301", "🇩🇪", "\n", "x" * 30]), max_size=60
    ).map("".join),
    st.text(max_size=300),
    st.integers(1, 60).map(lambda times: WORDS * times),
)


def cut(text: str, most: int, shape: Shape = "beginning") -> tuple[str, list[Span]]:
    found = cut_text(text, tokens=judge.tokens(text), most=most, shape=shape, count=judge.tokens)
    assert found is not None
    kept = keep_spans(text, found.spans)
    assert judge.tokens(kept) == found.tokens
    return kept, found.spans


def after(request: Request, cuts: Cuts) -> dict[tuple[str, Path], str]:
    """The texts of all messages as the host would send them."""
    return {
        (one.id, path): keep_spans(text, cuts[one.id, path]) if (one.id, path) in cuts else text
        for one in request.messages
        for path, text in texts_of(one)
    }


def group_of(request: Request, id: str) -> Group:
    return next(group for group in request.groups if id in group.ids)


def cost(texts: dict[tuple[str, Path], str], *ids: str) -> int:
    return sum(judge.tokens(text) for (name, _), text in texts.items() if name in ids) + 3 * len(ids)


def test_of_a_text_its_beginning_stays_up_to_the_end_of_a_sentence() -> None:
    kept, _ = cut(WORDS * 20, 100)
    assert kept.endswith(f"weighed.{MARKER}")
    assert (WORDS * 20).startswith(kept.removesuffix(MARKER))
    assert 80 <= judge.tokens(kept) <= 100


def test_of_a_tool_result_the_beginning_and_the_end_stay_in_whole_lines() -> None:
    kept, spans = cut(LOG + "Error: the scale is not level", 300, "both-ends")
    head, tail = kept.split(MARKER)
    assert len(spans) == 2
    assert head.startswith("line 0: ")
    assert head.endswith("twice")
    assert tail.startswith("\nline ")
    assert tail.endswith("\nError: the scale is not level")
    assert 270 <= judge.tokens(kept) <= 300


def test_chinese_is_cut_at_the_end_of_a_sentence() -> None:
    kept, _ = cut("码头的文员记下了每一个箱子。" * 40, 60)
    assert kept.endswith(f"箱子。{MARKER}")


@given(TEXTS, st.integers(0, 400), st.sampled_from(["beginning", "both-ends"]))
@settings(max_examples=300, deadline=None)
def test_a_cut_fits_or_is_the_smallest_saves_tokens_and_parts_no_character(
    text: str, most: int, shape: Shape
) -> None:
    whole = judge.tokens(text)
    found = cut_text(text, tokens=whole, most=most, shape=shape, count=judge.tokens)
    if found is None:
        return
    assert found.tokens == judge.tokens(keep_spans(text, found.spans)) < whole
    assert all(end - start >= LEAST_CHARS for start, end in found.spans)
    assert not any(is_inside(text, at) for span in found.spans for at in span)
    assert found.spans[0][0] == 0
    assert len(found.spans) == (1 if shape == "beginning" else 2)
    if shape == "both-ends":
        assert found.spans[1][1] == len(text)
    if found.tokens > most:
        assert sum(end - start for start, end in found.spans) <= 2 * LEAST_CHARS


@given(TEXTS, st.integers(0, 400), st.sampled_from(["beginning", "both-ends"]))
@settings(max_examples=100, deadline=None)
def test_a_text_is_counted_a_bounded_number_of_times(text: str, most: int, shape: Shape) -> None:
    desk = Desk()
    cut_text(text, tokens=judge.tokens(text), most=most, shape=shape, count=desk.count)
    assert len(desk.counted) <= ROUNDS + 1


@pytest.mark.parametrize("text", ["short", "x" * LEAST_CHARS, ""])
def test_what_is_short_already_is_not_cut(text: str) -> None:
    assert cut_text(text, tokens=50, most=1, shape="beginning", count=judge.tokens) is None


def test_what_no_place_can_be_cut_at_is_not_cut() -> None:
    text = "e" + "\u0301" * 500
    assert cut_text(text, tokens=judge.tokens(text), most=50, shape="beginning", count=judge.tokens) is None


def test_a_text_that_gets_dense_at_its_end_is_still_filled() -> None:
    text = "crate " * 500 + "".join(chr(0x3400 + 37 * at) for at in range(500))
    kept, _ = cut(text, 450)
    assert 430 <= judge.tokens(kept) <= 450


def test_only_the_longest_text_of_a_group_is_cut_where_that_is_enough() -> None:
    request = ask([calls("a", "c1", "c2"), result("r1", "c1", LOG), result("r2", "c2", WORDS)], 10_000)
    group = group_of(request, "a")
    cuts = shorten_group(request, Desk(), group, room=group.tokens - 100)
    assert list(cuts) == [("r1", (0,))]
    assert cost(after(request, cuts), *group.ids) <= group.tokens - 100


def test_texts_of_like_length_come_down_to_one_length() -> None:
    log = LOG[:3000]
    messages = [
        calls("a", "c1", "c2", "c3"),
        *(result(f"r{at}", f"c{at}", log) for at in (1, 2)),
        result("r3", "c3"),
    ]
    request = ask(messages, 10_000)
    cuts = shorten_group(request, Desk(), group_of(request, "a"), room=400)
    texts = after(request, cuts)
    first, second, third = (judge.tokens(texts[name, (0,)]) for name in ("r1", "r2", "r3"))
    assert abs(first - second) < 30
    assert first + second > 300
    assert third == judge.tokens("found")
    assert 380 <= cost(texts, "a", "r1", "r2", "r3") <= 400


def test_what_the_first_cut_saves_too_much_the_next_text_keeps() -> None:
    sentence = "crate " * 30 + "here. "
    messages = [calls("a", "c1", "c2"), result("r1", "c1", sentence * 10), result("r2", "c2", sentence * 10)]
    request = ask(messages, 10_000)
    group = group_of(request, "a")
    room = group.tokens - 270
    texts = after(request, shorten_group(request, Desk(), group, room=room))
    assert judge.tokens(texts["r1", (0,)]) < judge.tokens(texts["r2", (0,)])
    assert cost(texts, *group.ids) <= room


def test_several_texts_of_one_message_are_cut_each_at_its_path() -> None:
    parts = (Text(WORDS * 5), Text(WORDS * 4), ToolResult("c", (Text(LOG), Text("fine"))))
    request = ask([Message("m", "user", parts)], 10_000)
    cuts = shorten_group(request, Desk(), request.groups[0], room=150)
    assert sorted(cuts) == [("m", (0,)), ("m", (1,)), ("m", (2, 0))]
    assert [len(cuts["m", path]) for path in [(0,), (1,), (2, 0)]] == [1, 1, 2]
    assert cost(after(request, cuts), "m") <= 150


def test_a_group_that_cannot_be_made_small_enough_is_not_cut_at_all() -> None:
    request = ask([message("m", text=WORDS)], 10_000)
    assert shorten_group(request, Desk(), request.groups[0], room=6) == {}
    assert shorten_group(request, Desk(), request.groups[0], room=-50) == {}


def test_spans_that_hold_already_are_counted_in_and_replaced() -> None:
    request = ask([calls("a", "c"), result("r", "c", LOG)], 10_000)
    group = group_of(request, "a")
    before = shorten_group(request, Desk(), group, room=500)
    now = group._replace(tokens=cost(after(request, before), "a", "r"))
    cuts = shorten_group(request, Desk(), now, room=200, cuts=before)
    assert 150 <= cost(after(request, before | cuts), "a", "r") <= 200


def test_large_results_come_down_to_their_share_the_oldest_first_and_no_more_than_needed() -> None:
    messages = [message("u", text="go")]
    for at in range(3):
        messages += [calls(f"a{at}", f"c{at}"), result(f"r{at}", f"c{at}", LOG), message(f"v{at}", text="next")]
    whole = ask(messages, 10_000)
    budget = whole.total - 100
    eased, cuts = shorten_results(ask(messages, budget, settings={"tool_result_share": 0.1}), Desk())
    assert list(cuts) == [("r0", (0,))]
    assert judge.tokens(after(eased, cuts)["r0", (0,)]) <= budget // 10
    assert eased.total == sum(eased.tokens.values()) == sum(group.tokens for group in eased.groups)
    assert eased.total == cost(after(eased, cuts), *eased.tokens) <= budget


def test_protected_results_and_other_texts_keep_their_size() -> None:
    messages = [message("u", text=WORDS * 30), calls("a", "c"), result("r", "c", LOG)]
    request = ask(messages, 1000, settings={"tool_result_share": 0.01})
    assert shorten_results(request, Desk()) == (request, {})


@pytest.mark.parametrize("share", [None, 0, 0.0])
def test_no_share_and_a_share_of_nothing_change_nothing(share: float | None) -> None:
    messages = [message("u"), calls("a", "c"), result("r", "c", LOG), message("v")]
    request = ask(messages, 1000, settings={"tool_result_share": share})
    desk = Desk()
    assert shorten_results(request, desk) == (request, {})
    assert desk.counted == []


def test_what_leaves_is_not_shortened_besides() -> None:
    messages = [message("m0", text=WORDS * 9), message("m1", "assistant", WORDS * 9), message("u")]
    request = ask(messages, 100, settings={"shorten_messages": True})
    cuts: Cuts = {("m0", (0,)): [(0, 30)]}
    edit = drop_or_shorten(request, Desk(), [(group, "context-shift") for group in request.groups[:2]], cuts=cuts)
    assert edit.drop == {"m0": "context-shift"}
    assert list(edit.shorten) == [("m1", (0,))]
