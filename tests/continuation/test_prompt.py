"""Which message travels how."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from factories import message
from trimtab.continuation import Prompt, split_prompt
from trimtab_sdk import Image, Message, Notice


def ids(messages: Sequence[Message]) -> list[str]:
    return [one.id for one in messages]


def test_system_text_at_the_head_is_the_system_prompt_and_the_talk_is_history() -> None:
    prompt = split_prompt(
        [
            message("s", "system", source="system"),
            message("p", "system", source="persona"),
            message("d", "developer", source="system"),
            message("l", "system", source="lorebook"),
            message("u", "user"),
            message("a", "assistant"),
        ],
        system_anywhere=True,
    )
    assert ids(prompt.system) == ["s", "p", "d", "l"]
    assert ids(prompt.history) == ["u", "a"]


def test_summaries_memories_and_texts_of_plugins_are_history_whatever_their_role() -> None:
    passing = [message(source, "system", source=source) for source in ("summary", "memory", "plugin")]
    talk = [message("s", "system"), *passing, message("p", "system", source="persona"), message("u")]
    for anywhere in (True, False):
        prompt = split_prompt(talk, system_anywhere=anywhere)
        assert ids(prompt.system) == ["s", "p"]
        assert ids(prompt.history) == ["summary", "memory", "plugin", "u"]


def test_system_text_behind_the_talk_is_history_only_where_the_wire_lets_it_stand_there() -> None:
    talk = [message("s", "system"), message("u"), message("late", "system")]
    assert ids(split_prompt(talk, system_anywhere=True).history) == ["u", "late"]
    assert ids(split_prompt(talk, system_anywhere=False).system) == ["s", "late"]


def test_ephemeral_system_text_goes_into_the_instructions_of_the_request() -> None:
    lore = message("l", "system", source="lorebook", ephemeral=True)
    prompt = split_prompt([message("s", "system"), lore, message("u")], system_anywhere=True)
    assert prompt == Prompt((message("s", "system"),), (message("u"),), (lore,), ())


def test_ephemeral_messages_that_are_no_instructions_can_only_stand_inside() -> None:
    said = message("e1", "user", ephemeral=True)
    seen = Message("e2", "system", (Image(data="AAAA"),), ephemeral=True)
    prompt = split_prompt([said, seen, message("u")], system_anywhere=False)
    assert ids(prompt.inside) == ["e1", "e2"]
    assert ids(prompt.history) == ["u"]


def test_a_message_of_notices_alone_is_nowhere() -> None:
    remark = Message("n", "assistant", (Notice("a"), Notice("b")))
    assert split_prompt([remark], system_anywhere=True) == Prompt()


def test_a_message_without_parts_is_still_a_message() -> None:
    assert ids(split_prompt([Message("u", "user")], system_anywhere=True).history) == ["u"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
            st.sampled_from(["system", "persona", "lorebook", "memory", "history", "summary", "plugin"]),
            st.booleans(),
        )
    ),
    st.booleans(),
)
def test_every_message_is_in_exactly_one_part_and_in_order(
    drawn: list[tuple[str, str, bool]], anywhere: bool
) -> None:
    talk = [
        message(f"{at:03}", role, source=source, ephemeral=ephemeral)
        for at, (role, source, ephemeral) in enumerate(drawn)
    ]
    prompt = split_prompt(talk, system_anywhere=anywhere)
    parts = [prompt.system, prompt.history, prompt.scoped, prompt.inside]
    assert sorted(name for part in parts for name in ids(part)) == ids(talk)
    assert all(ids(part) == sorted(ids(part)) for part in parts)
