"""The contract, and what this strategy promises besides."""

from __future__ import annotations

import pytest
import trimtab_keep_questions

import trimtab
from trimtab.conformance import StrategyContract
from trimtab_sdk import InvalidRequestError, Message, Text, without_label

HEAD = trimtab_keep_questions.HEAD
FILLER = "The harbour office keeps a ledger of every boat that came and went. " * 3


class TestKeepQuestions(StrategyContract):
    summarizes = True

    @pytest.fixture
    def subject(self) -> object:
        return trimtab_keep_questions

    more_conversations = (
        [
            *(
                Message(f"m{at}", "assistant" if at % 2 else "user", (Text(f"{FILLER} Is it number {at}?"),))
                for at in range(20)
            ),
            Message("end", "user", (Text("And now?"),)),
        ],
    )


def chat(turns: int) -> list[dict[str, str]]:
    asked = [{"role": "user", "content": f"{FILLER} When does boat {at} leave?"} for at in range(turns)]
    told = [{"role": "assistant", "content": f"{FILLER} Boat {at} leaves at noon."} for at in range(turns)]
    return [message for pair in zip(asked, told, strict=True) for message in pair] + [
        {"role": "user", "content": "Which of them is the fastest?"}
    ]


def fitted(limit: int, **settings: object) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("keep-questions", trimtab_keep_questions)
    return trimtab.fit(
        chat(10),
        model="gpt-4o",
        context_limit=limit,
        reserve=0,
        strategy="keep-questions",
        settings=settings,
        registry=registry,
    )


def inserted(result: trimtab.Fit) -> str:
    ids = {entry.id for entry in result.inserted}
    assert len(ids) == 1
    (text,) = [one["content"] for one in result.messages if isinstance(one, dict) and HEAD in str(one["content"])]
    return without_label(text)


def test_answers_leave_before_any_question_does() -> None:
    result = fitted(700)
    assert {entry.role for entry in result.excluded} == {"assistant"}
    assert result.inserted == ()


def test_questions_that_leave_are_listed_in_their_order() -> None:
    lines = inserted(fitted(400)).splitlines()
    assert lines[0] == HEAD
    numbers = [int(line.removeprefix("- When does boat ").removesuffix(" leave?")) for line in lines[1:]]
    assert numbers == sorted(numbers)
    assert len(numbers) > 3


def test_the_list_has_at_most_so_many_lines() -> None:
    assert len(inserted(fitted(400, lines=2)).splitlines()) == 3


def test_without_lines_nothing_is_inserted() -> None:
    assert fitted(400, lines=0).inserted == ()


@pytest.mark.parametrize("settings", [{"lines": -1}, {"lines": "many"}, {"share": 0.5}, {"line": 3}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        fitted(400, **settings)
