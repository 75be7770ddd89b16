"""What a summary covers counts once, however often it is named."""

from __future__ import annotations

import trimtab
from factories import Strategy
from talks import WORDS, codes, count, fit, talk, turn
from trimtab_sdk import AT_GAP, Edit, Insert, Request, Services


def shifted(edit: Edit) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", Strategy(lambda request, services: edit))
    chat = talk(40)
    return fit(chat, count(chat) - 1, strategy="mine", registry=registry)


def test_one_message_named_forty_times_saves_no_more_than_once() -> None:
    result = shifted(Edit(drop={"m0": "summarized"}, insert=[Insert(WORDS * 3, AT_GAP, covers=["m0"] * 40)]))
    assert result.inserted == ()
    assert codes(result) == ["insert-refused"]


def test_a_second_summary_of_the_same_message_is_refused() -> None:
    first, second = (Insert(f"So it was, {word}.", AT_GAP, covers=["m0"]) for word in ("once", "twice"))
    result = shifted(Edit(drop={"m0": "summarized"}, insert=[first, second]))
    assert [entry.reason for entry in result.inserted] == ["summary"]
    assert codes(result) == ["insert-refused"]


def test_a_summary_of_a_summary_named_again_and_again_stays_within_its_share_and_memory() -> None:
    sizes: list[int] = []

    def answer(request: Request, services: Services) -> Edit:
        own = [one.id for one in request.messages if one.source == "summary"]
        old = [one.id for one in request.messages if one.id not in request.protected][:6]
        covers = own * 50_000 + old
        text = WORDS * (30 if own else 1)
        return Edit(drop=dict.fromkeys(covers, "summarized"), insert=[Insert(text, AT_GAP, covers=covers)])

    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", Strategy(answer))
    chat = trimtab.Conversation(
        talk(10),
        model="gpt-4.1",
        context_limit=count(talk(10)) - 1,
        reserve=0,
        format="neutral",
        strategy="mine",
        registry=registry,
    )
    for at in range(6):
        chat.append(turn(f"a{at}", "assistant"), turn(f"u{at}"))
        sizes += [entry.tokens for entry in chat.fit().inserted]
    assert sizes
    assert max(sizes) <= 128
