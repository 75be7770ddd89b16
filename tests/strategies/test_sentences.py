import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab_strategies.sentences import LONGEST, split_sentences, visible

TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="ab .!?…。！？\n\u200d\u0301\u200b\ud83d👍🏽👩", max_size=80),
    st.text(alphabet=st.sampled_from("abc漢字🙂. "), min_size=250).map(lambda text: text * 3),
)


def letters(text: str) -> str:
    return "".join(char for char in visible(text) if char.isalnum())


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("Really?! Yes...  no.", ["Really?!", "Yes...", "no."]),
        ('He said "stop." Then (or later.) he left.', ['He said "stop."', "Then (or later.)", "he left."]),
        ("Line one\nline two\r\n\r\nline three", ["Line one", "line two", "line three"]),
        ("今天下雨。我们走吧！好吗？", ["今天下雨。", "我们走吧！", "好吗？"]),
        ("他说：「走吧。」然后走了。", ["他说：「走吧。」", "然后走了。"]),
        ("हम चलते हैं। ठीक है।", ["हम चलते हैं।", "ठीक है।"]),
        ("هل أنت هنا؟ نعم.", ["هل أنت هنا؟", "نعم."]),
        ("**Done.** Next one.", ["**Done.**", "Next one."]),
    ],
)
def test_a_sentence_ends_at_a_mark_of_its_script_or_at_a_line_break(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_dots_inside_numbers_and_addresses_end_nothing() -> None:
    text = "Version 1.2.3 costs 4.50 at www.example.org/a.b today"
    assert split_sentences(text) == [text]


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "--- \n ***", "🙂🙂", "。！", "\ud83d", "\x00\x1b"])
def test_what_has_no_letter_and_no_digit_is_no_sentence(text: str) -> None:
    assert split_sentences(text) == []


def test_hidden_marks_leave_and_joiners_stay() -> None:
    assert split_sentences("a\x00b\x1b[31m \u202eevil\u202c \u200bx\udc00 \U000e0041y.") == ["ab[31m evil x y."]
    assert split_sentences("We saw 👩\u200d🚀 at noon") == ["We saw 👩\u200d🚀 at noon"]


def test_blanks_and_tabs_become_one_blank() -> None:
    assert split_sentences("a\t\tb   c\u00a0d.") == ["a b c d."]


def test_a_long_sentence_is_cut_at_blanks() -> None:
    words = " ".join(f"word{at}" for at in range(200))
    pieces = split_sentences(words)
    assert len(pieces) > 4
    assert all(len(piece) <= LONGEST for piece in pieces)
    assert " ".join(pieces) == words


def test_a_cut_without_blanks_parts_no_letter_from_its_marks() -> None:
    pieces = split_sentences("e\u0301" * 200 + "👩🏽\u200d🚀" * 100)
    assert all(unicodedata.category(piece[0])[0] in "LS" for piece in pieces)
    assert all(not piece.endswith("\u200d") and piece[0] != "🏽" for piece in pieces)


def test_a_run_of_marks_takes_no_time_to_speak_of() -> None:
    assert len(split_sentences("." * 300_000 + "a")) == 1001
    assert split_sentences("。" * 300_000) == []


@given(TEXTS)
def test_no_letter_is_lost_or_made_up(text: str) -> None:
    assert letters("".join(split_sentences(text))) == letters(text)


@given(TEXTS)
def test_every_sentence_is_one_short_clean_line(text: str) -> None:
    for sentence in split_sentences(text):
        assert sentence == " ".join(visible(sentence).split())
        assert len(sentence) <= LONGEST + 32
        sentence.encode()
