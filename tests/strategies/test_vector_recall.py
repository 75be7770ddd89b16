from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import judge
import trimtab
from conversations import Chat, neutral_chats
from factories import calls, message, result
from strategy_requests import Desk, ask
from talks import WORDS, count, turn
from talks import fit as fit_with
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    MARKER,
    Edit,
    InvalidRequestError,
    Message,
    Request,
    TokenBudgetExceededError,
    is_free,
    link_groups,
)
from trimtab_strategies import vector_recall
from trimtab_strategies.vector_recall import RECALLED, trimtab_shift

CASE = Path(__file__).parent.parent / "cases/79-recall-without-doubles.json"
TOBIN = "Tobin keeps the light on the northern rock and hates visitors. " * 3
BAKERY = "The bakery opens at six and sells rye bread to sailors. " * 3
WALKS = "Ann likes to walk along the shore after dark. " * 3
QUESTION = "What does Tobin think of visitors?"


def fit(chat: object, limit: int, **options: Any) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("vector-recall", vector_recall, replace=True)
    return fit_with(chat, limit, strategy="vector-recall", registry=registry, **options)


def entry(id: str, text: str, kind: str = "lorebook", **keys: object) -> dict[str, Any]:
    return turn(id, "system", text, kind=kind, **keys)


def lore(id: str, text: str, **fields: object) -> Message:
    return message(id, "system", text, source="lorebook", **fields)


def tale(question: str = QUESTION) -> Chat:
    """Three entries, six messages of old talk, and a question about one of the entries."""
    return [
        turn("s", "system", "Be brief."),
        entry("tobin", TOBIN),
        entry("bakery", BAKERY),
        entry("walks", WALKS, "memory"),
        *(turn(f"m{at}", "assistant" if at % 2 else "user") for at in range(6)),
        turn("q", text=question),
    ]


def left(result: trimtab.Fit) -> list[tuple[str, str]]:
    return [(one.id, one.reason) for one in result.excluded]


def kept(result: trimtab.Fit) -> dict[str, str]:
    return {one.id: one.reason for one in result.kept}


def dropped(messages: list[Message], budget: int, desk: Desk | None = None, **chosen: Any) -> Edit:
    return trimtab_shift(ask(messages, budget, **chosen), desk or Desk())


def test_an_entry_of_little_relevance_leaves_before_any_history() -> None:
    chat = tale()
    result = fit(chat, count(chat) - 1)
    assert left(result) == [("bakery", "low-relevance")]


def test_what_the_input_speaks_of_stays_as_relevant() -> None:
    chat = tale()
    result = fit(chat, count(chat) - 60)
    assert left(result) == [("bakery", "low-relevance"), ("walks", "low-relevance")]
    reasons = kept(result)
    assert reasons.pop("tobin") == "relevant"
    assert set(reasons.values()) == {"system", "recent", "current-input"}


def test_then_old_history_leaves_oldest_first_and_no_more_than_needed() -> None:
    chat = tale()
    result = fit(chat, count(chat) - 130)
    gone = [
        ("bakery", "low-relevance"),
        ("walks", "low-relevance"),
        ("m0", "context-shift"),
        ("m1", "context-shift"),
    ]
    assert left(result) == gone
    assert kept(result)["tobin"] == "relevant"


def test_relevant_entries_leave_when_there_is_no_old_history_left() -> None:
    chat = tale()
    protected = [one for one in chat if one["id"] in ("s", "q")]
    result = fit(chat, count(protected) + 5)
    assert dict(left(result))["tobin"] == "low-relevance"
    assert list(kept(result)) == ["s", "q"]


def test_required_and_pinned_entries_stay_however_little_they_matter() -> None:
    chat = tale()
    chat[2]["required"] = True
    chat[3]["pinned"] = True
    result = fit(chat, count(chat) - 40)
    assert left(result) == [("m0", "context-shift")]
    assert (kept(result)["bakery"], kept(result)["walks"]) == ("required", "pinned")


@pytest.mark.parametrize(
    ("question", "speaks_of_it", "does_not"),
    [
        ("Onde fica o farol do Tobias?", "Tobias guarda o farol do norte.", "A padaria vende pão de centeio."),
        ("灯塔里住着谁？", "托宾看守北礁的灯塔。", "面包店早上六点开门，卖黑麦面包。"),
        ("灯台には誰がいますか", "トビンは北の岩で灯台を守っている。", "パン屋は六時に開いて、黒パンを売る。"),
    ],
)
def test_relevance_is_seen_in_other_languages(question: str, speaks_of_it: str, does_not: str) -> None:
    chat = [
        entry("stays", speaks_of_it),
        entry("leaves", does_not),
        turn("m0"),
        turn("m1", "assistant"),
        turn("q", text=question),
    ]
    result = fit(chat, count(chat) - 1)
    assert left(result) == [("leaves", "low-relevance")]
    assert kept(result)["stays"] == "relevant"


def test_an_input_that_says_nothing_is_read_with_the_message_before_it() -> None:
    chat = tale("Go on, please.")
    chat.insert(-1, turn("a", "assistant", "Shall I tell you of Tobin and his visitors?"))
    result = fit(chat, count(chat) - 60)
    assert [name for name, _ in left(result)] == ["bakery", "walks"]
    assert kept(result)["tobin"] == "relevant"


def test_a_relevance_that_somebody_measured_counts_when_it_is_higher() -> None:
    chat = tale()
    chat[2]["relevance"] = 0.9
    chat[1]["relevance"] = 0.0
    result = fit(chat, count(chat) - 60)
    assert left(result) == [("walks", "low-relevance"), ("m0", "context-shift")]
    assert (kept(result)["tobin"], kept(result)["bakery"]) == ("relevant", "relevant")


def test_of_entries_the_least_relevant_leave_first_on_both_sides_of_the_threshold() -> None:
    measured = {"a": 0.15, "b": 0.05, "c": 0.9, "d": 0.1, "e": 0.5}
    messages = [lore(name, BAKERY, relevance=relevance) for name, relevance in measured.items()]
    edit = dropped([*messages, message("m", "assistant"), message("u", text=QUESTION)], 0)
    assert list(edit.drop) == ["b", "d", "a", "m", "e", "c"]


def test_entries_of_one_relevance_leave_by_age() -> None:
    messages = [*(lore(f"l{at}", BAKERY) for at in range(4)), message("u", text=QUESTION)]
    whole = ask(messages, 0).total
    assert list(dropped(messages, whole - 50).drop) == ["l0", "l1"]


def test_the_threshold_decides_what_leaves_before_history() -> None:
    chat = tale()
    none = fit(chat, count(chat) - 60, settings={"threshold": 0})
    assert {reason for _, reason in left(none)} == {"context-shift"}
    assert [name for name, reason in kept(none).items() if reason == "relevant"] == ["tobin"]
    every = fit(chat, count(chat) - 90, settings={"threshold": 1})
    assert left(every) == [(name, "low-relevance") for name in ("tobin", "bakery", "walks")]


@pytest.mark.parametrize("wrong", [{"threshold": 2}, {"threshold": "low"}, {"thresold": 0.1}])
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError, match="settings"):
        fit(tale(), 10_000, settings=wrong)


def test_with_shortening_on_the_last_to_leave_is_shortened() -> None:
    chat = tale()
    chat[2]["content"] = BAKERY * 10
    result = fit(chat, count(chat) - 100, settings={"shorten_messages": True})
    assert left(result) == []
    (one,) = result.truncated
    assert one.id == "bakery"
    assert result.messages[2]["content"].endswith(MARKER)  # type: ignore[index]


def test_steps_of_the_running_turn_leave_last_of_all() -> None:
    messages = [
        lore("tobin", TOBIN),
        message("m0", "assistant", WORDS * 3),
        message("u", text=QUESTION),
        calls("a0", "c0"),
        result("r0", "c0", WORDS * 3),
        calls("a1", "c1"),
        result("r1", "c1"),
    ]
    edit = dropped(messages, 40)
    assert list(edit.drop.items()) == [
        ("m0", "context-shift"),
        ("tobin", "low-relevance"),
        ("a0", "running-turn"),
        ("r0", "running-turn"),
    ]


def test_tool_results_over_their_share_are_shortened_first() -> None:
    messages = [calls("a", "c"), result("r", "c", WORDS * 60), lore("bakery", BAKERY), message("u", text=QUESTION)]
    edit = dropped(messages, 600, settings={"tool_result_share": 0.2})
    assert (list(edit.shorten), edit.drop) == ([("r", (0,))], {})


def test_it_goes_down_to_the_target_once_it_is_over_the_budget() -> None:
    messages = [*(message(f"m{at}", "assistant", WORDS) for at in range(9)), message("u", text=QUESTION)]
    whole = ask(messages, 0).total
    request = ask(messages, whole - 1, target=whole // 2)
    edit = trimtab_shift(request, Desk())
    assert whole - sum(request.tokens[name] for name in edit.drop) <= whole // 2
    assert trimtab_shift(ask(messages, whole, target=whole // 2), Desk()) == Edit()


def topics(texts: list[str]) -> list[list[float]]:
    """Vectors that know what a lighthouse and a baker have to do with."""
    known = (("light", "lamp", "beacon"), ("bread", "bakery", "hungry"), ("walk", "stroll"))
    return [[float(any(word in text.lower() for word in words)) for words in known] for text in texts]


def test_an_embedder_finds_what_is_said_in_other_words() -> None:
    messages = [
        lore("tobin", TOBIN),
        lore("bakery", BAKERY),
        lore("walks", WALKS),
        message("u", text="I am hungry."),
    ]
    whole = ask(messages, 0).total
    by_words = dropped(messages, whole - 60)
    by_meaning = dropped(messages, whole - 60, Desk(topics))
    assert list(by_words.drop) == ["tobin", "bakery"]
    assert list(by_meaning.drop) == ["tobin", "walks"]
    assert (by_meaning.relevant, by_meaning.notes) == (["bakery"], [])


def test_an_embedder_that_fails_leaves_the_words_and_is_named() -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise OSError("no disk")

    messages = [lore("tobin", TOBIN), lore("bakery", BAKERY), message("u", text=QUESTION)]
    whole = ask(messages, 0).total
    edit = dropped(messages, whole - 1, Desk(fail))
    assert list(edit.drop) == ["bakery"]
    assert edit.notes == ["relevance is by words alone: the embedder raised OSError"]


def test_without_entries_nothing_is_embedded() -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise AssertionError(texts)

    messages = [message("m0", text=WORDS), message("m1", "assistant", WORDS), message("u")]
    assert dropped(messages, 40, Desk(fail)).notes == []


def test_two_messages_of_one_text_are_each_kept_or_left_out_by_their_own_id() -> None:
    case = json.loads(CASE.read_text())
    result = fit(case["messages"], case["settings"]["budget"]["max_input"])
    given_ids = [one["id"] for one in case["messages"]]
    sent = [one["id"] for one in result.messages]  # type: ignore[index]
    assert sent == [name for name in given_ids if name in sent]
    assert len(set(sent)) == len(sent)
    assert {"s", "u5"} <= set(sent)
    assert left(result)[0] == ("u1", "context-shift")
    assert "u2" in sent
    assert result.inserted == ()
    assert result.tokens_after <= 700


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Entries, memories and history in any order, some protected, some measured, under any pressure."""
    messages: list[Message] = []
    for at in range(draw(st.integers(1, 12))):
        text = draw(st.sampled_from([TOBIN, BAKERY, WALKS, WORDS, "猫在灯塔里。" * 5, ""]))
        source = draw(st.sampled_from(["lorebook", "memory", "history", "summary"]))
        role = "system" if source != "history" else draw(st.sampled_from(["user", "assistant"]))
        flags = draw(st.fixed_dictionaries({"pinned": st.booleans(), "required": st.just(at % 5 == 4)}))
        relevance = draw(st.sampled_from([None, 0.0, 0.1, 0.5, 1.0]))
        messages.append(message(f"m{at}", role, text, source=source, relevance=relevance, **flags))
    messages.append(message("u", text=draw(st.sampled_from([QUESTION, "Bread?", "Go on.", "灯塔", ""]))))
    whole = ask(messages, 0).total
    return ask(
        messages, draw(st.integers(0, whole)), settings={"threshold": draw(st.sampled_from([0, 0.2, 0.6, 1]))}
    )


@given(requests())
@settings(deadline=None, max_examples=200)
def test_what_leaves_is_needed_free_and_in_the_promised_order(request: Request) -> None:
    edit = trimtab_shift(request, Desk())
    assert trimtab_shift(request, Desk()) == edit
    gone = list(edit.drop)
    groups = [group for group in request.groups if group.ids[0] in edit.drop]
    assert all(is_free(group, request.protected) for group in groups)
    remaining = request.total - sum(request.tokens[name] for name in gone)
    if gone:
        assert remaining + request.tokens[gone[-1]] > request.budget
    if remaining > request.budget:
        assert all(name in edit.drop or name in request.protected for name, cost in request.tokens.items() if cost)
    sources = {one.id: one.source for one in request.messages}
    if any(sources[name] not in RECALLED for name in gone):
        staying = {name for name, source in sources.items() if source in RECALLED and name not in edit.drop}
        threshold = float(str(request.settings["threshold"]))
        named = set(edit.relevant)
        assert all(name in named or name in request.protected or threshold == 0 for name in staying)


@given(neutral_chats(), st.integers(4, 900), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_fit_is_over_the_budget_and_groups_stay_whole(chat: Chat, limit: int, shorten: bool) -> None:
    try:
        result = fit(chat, limit, settings={"shorten_messages": shorten})
    except (TokenBudgetExceededError, InvalidRequestError):
        return
    assert result.tokens_after == judge.request_tokens(result.messages) <= limit  # type: ignore[arg-type]
    assert not any(one.code.isupper() for one in result.diagnostics)
    gone = {one.index for one in result.excluded}
    decoded = Neutral().decode(chat).messages
    assert all(
        len(gone.intersection(group.positions)) in (0, len(group.positions)) for group in link_groups(decoded)
    )
