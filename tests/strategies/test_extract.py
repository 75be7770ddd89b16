import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab_strategies.extract import Extraction, Sentence
from trimtab_strategies.weights import centre, content_terms, emphasis, rarity

SMALL_TALK = ("Did you hear what they said?", "I wonder about the weather today.", "We talked about lunch again.")
FACTS = (
    "The ferry to Skarholm leaves at 7:40 from pier 3.",
    "Doctor Ilves found a crack in the second molar.",
    "The mortgage of the mill runs out in October.",
    "A brass quartet plays in the barn until midnight.",
)


def sentences(*texts: str) -> list[Sentence]:
    """One message for each text."""
    return [
        Sentence(text, tuple(sorted(content_terms(text))), at, emphasis(text, content_terms(text)))
        for at, text in enumerate(texts)
    ]


def extraction(*texts: str) -> Extraction:
    return Extraction(sentences(*texts), cost=lambda index: len(texts[index].split()))


def picks(room: int, *texts: str) -> list[str]:
    extract = extraction(*texts)
    extract.pick(range(len(texts)), room=room)
    return [texts[index] for index in sorted(extract.picked)]


def chatter_with_facts() -> list[str]:
    texts: list[str] = []
    for at, fact in enumerate(FACTS):
        texts += [SMALL_TALK[(at + step) % 3] for step in range(12)]
        texts.append(fact)
    return texts


def test_facts_are_picked_and_small_talk_is_not() -> None:
    assert picks(38, *chatter_with_facts()) == list(FACTS)


def test_what_was_said_twice_is_told_once() -> None:
    twin = FACTS[0].upper()
    assert picks(100, FACTS[0], FACTS[1], twin) == [FACTS[0], FACTS[1]]


def test_every_stretch_of_a_long_talk_gets_its_share() -> None:
    texts = [f"Keeper{at} moved lantern{at} and barrel{at} to harbour{at}." for at in range(120)]
    kept = [texts.index(text) for text in picks(120, *texts)]
    assert all(any(first <= at < first + 40 for at in kept) for first in (0, 40, 80))


def test_room_that_nothing_fits_into_stays_empty() -> None:
    assert picks(4, *FACTS) == []
    assert picks(0, *FACTS) == []
    assert picks(-5, *FACTS) == []


def test_room_for_everything_takes_everything_with_a_subject() -> None:
    assert picks(1000, *FACTS, "Ok.", "Thank you!") == list(FACTS)


def test_a_kept_sentence_is_not_told_again_by_a_pick() -> None:
    texts = (FACTS[0], f"Well, {FACTS[0]}", FACTS[1])
    extract = extraction(*texts)
    extract.keep(0)
    extract.pick([1, 2], room=50)
    assert list(extract.picked) == [0, 2]


def test_a_pick_that_is_undone_is_told_no_more() -> None:
    extract = extraction(*FACTS)
    extract.keep(0)
    extract.keep(1)
    terms = content_terms(FACTS[1])
    assert extract.is_covered(terms)
    extract.undo()
    assert not extract.is_covered(terms)
    assert extract.is_covered(content_terms(FACTS[0]))


def test_nothing_is_not_covered() -> None:
    extract = extraction(*FACTS)
    extract.keep(0)
    assert not extract.is_covered(())


def test_the_work_ends_when_the_pause_raises() -> None:
    def stop() -> None:
        raise TimeoutError

    extract = Extraction(sentences(*FACTS), cost=lambda index: 5, pause=stop)
    with pytest.raises(TimeoutError):
        extract.pick(range(4), room=50)


def test_few_sentences_of_a_long_talk_are_counted() -> None:
    counted: list[int] = []
    texts = [f"Crate {at} holds {at * 7919} buttons of grade {at % 13}." for at in range(4000)]

    def cost(index: int) -> int:
        counted.append(index)
        return 8

    extract = Extraction(sentences(*texts), cost=cost)
    extract.pick(range(len(texts)), room=800)
    assert 80 <= len(extract.picked) <= 100
    assert len(counted) < 400


@given(
    st.lists(st.sampled_from([*SMALL_TALK, *FACTS, "Ok.", "好的", "渡轮因为大雾停航。"]), max_size=30),
    st.integers(0, 80),
)
def test_picks_stay_within_the_room_and_come_out_alike(texts: list[str], room: int) -> None:
    extract = extraction(*texts)
    extract.pick(range(len(texts)), room=room)
    assert extract.spent == sum(len(texts[index].split()) for index in extract.picked) <= room
    again = extraction(*texts)
    again.pick(range(len(texts)), room=room)
    assert again.picked == extract.picked


def test_grammar_greetings_and_single_letters_carry_no_subject() -> None:
    assert content_terms("Hello! Is the ferry at quay b 7?") == {"ferry", "quay"}
    assert content_terms("Olá, você tem um barco?") == {"barco"}
    assert content_terms("你好，渡轮") == {"渡轮"}
    assert content_terms("Thank you very much, yes.") <= {"very", "much"}


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    rare = rarity([{"ferry", "quay"}, {"quay"}, {"quay", "fog"}])
    assert rare["ferry"] == rare["fog"] > rare["quay"] > 0


def test_a_word_that_a_stretch_comes_back_to_weighs_more_there() -> None:
    rare = rarity([{"ferry"}, {"fog"}, {"ferry"}, {"fog"}])
    weight = centre([["ferry", "fog"], ["ferry"]], rare)
    assert weight["ferry"] > weight["fog"]


def test_short_sentences_count_less_and_names_and_numbers_more() -> None:
    def factor(text: str) -> float:
        return emphasis(text, content_terms(text))

    assert factor("A crate arrived.") < factor("A crate of copper buttons arrived yesterday.")
    plain = factor("the crate of copper buttons arrived yesterday")
    assert factor("the crate of copper buttons arrived at 17") > plain
    assert factor("the crate of copper buttons came from Skarholm") > plain
    assert factor("渡轮") < factor("去海岛的渡轮因为大雾停航")
