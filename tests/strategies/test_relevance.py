from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_requests import Desk
from trimtab_strategies.relevance import lexical, measure, query_terms

BOOK = [
    "Tobin keeps the light on the northern rock and hates visitors.",
    "The bakery opens at six and sells rye bread to sailors.",
    "The ferry to Texel leaves at nine and takes two hours.",
    "Maren is the captain's daughter; she fears the open sea.",
]
LIVRO = [
    "Tobias guarda o farol da rocha do norte e detesta visitas.",
    "A padaria abre às seis e vende pão de centeio aos marinheiros.",
    "A balsa para a ilha parte às nove e demora duas horas.",
]
BUCH = [
    "Tobias hütet das Leuchtfeuer und hasst jeden Besuch.",
    "Die Bäckerei öffnet um sechs und verkauft Roggenbrot.",
    "Die Fähre zur Insel fährt um neun und braucht zwei Stunden.",
]
书 = [
    "托宾看守北礁的灯塔，讨厌客人。",
    "面包店早上六点开门，卖黑麦面包。",
    "渡轮九点出发去岛上，要两个小时。",
]
本 = ["トビンは北の岩で灯台を守っている。", "パン屋は六時に開く。", "フェリーは九時に島へ出る。"]
TEXTS = st.lists(st.one_of(st.sampled_from(BOOK + 书), st.text(max_size=40)), max_size=8)
QUERIES = st.one_of(
    st.sampled_from(["When does the ferry leave?", "渡轮几点出发？", "", "the and of"]), st.text(max_size=30)
)


def scores(query: str, texts: list[str]) -> list[float]:
    return lexical(query_terms(query), texts).scores


@pytest.mark.parametrize(
    ("query", "texts", "best"),
    [
        ("When does the ferry leave?", BOOK, 2),
        ("What does TOBIN think of it?", BOOK, 0),
        ("Quando parte a balsa?", LIVRO, 2),
        ("Onde se vende pão aqui?", LIVRO, 1),
        ("Wann fährt denn die Fähre?", BUCH, 2),
        ("渡轮什么时候出发？", 书, 2),
        ("我想买面包", 书, 1),
        ("灯塔里住着谁？", 书, 0),
        ("フェリーはいつ出ますか", 本, 2),
        ("灯台には誰がいますか", 本, 0),
    ],
)
def test_the_text_that_speaks_of_it_scores_best_in_any_language(query: str, texts: list[str], best: int) -> None:
    found = scores(query, texts)
    assert found.index(max(found)) == best
    assert found[best] > 0.2
    assert all(score < 0.2 for at, score in enumerate(found) if at != best)


def test_one_rare_word_in_a_text_of_average_length_makes_about_a_half() -> None:
    assert scores("ferry", BOOK)[2] == pytest.approx(0.5, abs=0.05)


def test_two_words_weigh_more_than_one_and_one_twice_more_than_once() -> None:
    one, two, twice = scores(
        "ferry lantern", ["ferry at noon sharp", "ferry lantern at noon", "ferry at ferry noon"]
    )
    assert one < twice < two


def test_a_word_that_every_text_holds_weighs_less_than_a_rare_one() -> None:
    texts = [f"harbour entry number {word}" for word in ("oak", "elm", "ash", "fir", "yew", "box")]
    rare, common = scores("oak", texts)[0], scores("harbour", texts)[0]
    assert 0 < common < rare


def test_in_a_book_of_two_a_word_that_both_hold_still_says_something() -> None:
    assert min(scores("ferry", ["The ferry leaves at nine.", "The ferry has two decks."])) > 0.3


def test_a_character_in_common_by_chance_is_no_match() -> None:
    assert scores("渡轮什么时候开走", ["面包店早上六点开门"])[0] < 0.25
    assert scores("いつになったら", ["あなたは島になった"])[0] < 0.2


def test_a_single_character_weighs_less_than_a_word_of_two() -> None:
    assert 0 < scores("猫", ["我的猫睡着了"])[0] < scores("猫咪", ["我的猫咪睡了"])[0]


@pytest.mark.parametrize("query", ["", "And what is it then?", "e o que é isso?", "那是什么？", "🙂 …"])
def test_a_query_of_small_words_matches_nothing(query: str) -> None:
    found = lexical(query_terms(query), BOOK + LIVRO + 书)
    assert set(found.scores) == {0.0}
    assert found.matched == 0.0


@given(QUERIES, TEXTS)
def test_scores_are_from_0_to_1_and_the_same_each_time(query: str, texts: list[str]) -> None:
    found = lexical(query_terms(query), texts)
    assert len(found.scores) == len(texts)
    assert all(0 <= score < 1 for score in (*found.scores,))
    assert 0 <= found.matched <= 1
    assert lexical(query_terms(query), texts) == found


@given(QUERIES, TEXTS, st.randoms())
def test_the_order_of_the_texts_does_not_matter(query: str, texts: list[str], random: object) -> None:
    forward, backward = scores(query, texts), scores(query, texts[::-1])
    assert forward == backward[::-1]


def test_the_matched_share_tells_how_much_of_the_query_stands_in_the_texts() -> None:
    assert lexical(query_terms("ferry Texel"), BOOK).matched == 1
    assert 0.2 < lexical(query_terms("ferry submarine"), BOOK).matched < 0.8
    assert lexical(query_terms("submarine"), BOOK).matched == 0


def test_meaning_decides_where_no_word_is_shared() -> None:
    desk = Desk(lambda texts: [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.9, 0.1], [0.0, 1.0]])
    found, notes = measure("submarine", BOOK, desk)
    assert found.index(max(found)) == 2
    assert notes == []


def test_words_weigh_as_much_as_the_query_is_met() -> None:
    desk = Desk(lambda texts: [[1.0, 0.0]] + [[0.0, 1.0] if at else [1.0, 0.0] for at in range(4)])
    met, _ = measure("ferry", BOOK, desk)
    missed, _ = measure("ferry submarine periscope torpedo", BOOK, desk)
    assert met[2] == pytest.approx(scores("ferry", BOOK)[2] / 2)
    assert missed[2] < met[2] / 2
    assert missed[0] > met[0] > 0.4
