"""The facts of the cases about cursors: case id → what covers each of its facts, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from case_covers import Waits
from case_files import Json
from case_turns_always import check_always
from case_turns_checks import holds
from case_turns_covers import Partly, StoryCover, again, ask
from case_turns_cursors import degradations, new_notices, with_a_cursor_only_what_is_new_is_sent
from case_turns_plan import plan_of
from case_turns_story import OWNER, Story, Told
from trimtab_sdk import plain_text

CHANGED = ("history_changed", "context_shifted")
ANSWER = {"status": 200, "id": "another", "text": "All right."}


def steps_of(story: Story) -> list[Json]:
    """Give the steps of the case of a story."""
    return list(story.case.data["request"]["steps"])


def with_steps(story: Story, *steps: Json, **settings: Json) -> Story:
    """Play the case of a story with other steps, and check what always holds.

    The provider compacts nothing, so that small budgets have no say in what it holds.
    """
    case = story.case
    request = {**case.data["request"], "steps": list(steps)}
    settings = {**case.settings, "provider_compaction_enabled": False, **settings}
    other = again(story, case.with_data(request=request, settings=settings))
    check_always(other)
    return other


def say(text: str, *replies: Json) -> Json:
    """Make a step in which the user says something."""
    return {"do": "turn", "user": text, "provider_replies": list(replies or (ANSWER,))}


def cursors_sent(told: Told) -> list[str | None]:
    """Give the cursor of each request of a turn."""
    return [sent.body.get("previous_response_id", sent.body.get("previous_interaction_id")) for sent in told.sent]


def system_of(story: Story) -> str:
    return str(story.case.data["request"]["chat"]["system"])


def one_answer_and_no_error_is_seen(story: Story) -> None:
    turn = story.turn(2)
    assert (turn.outcome, turn.text) == ("turn_completed", "Twelve are left.")
    answers = [one for one in turn.stored if one.message.role == "assistant"]
    assert [plain_text(one.message) for one in answers] == ["Seven are left.", "Twelve are left."]


def the_replay_is_within_the_budget(story: Story) -> None:
    """To the token: with one less, something has to leave, and the cursor is not even tried."""
    steps, needed = steps_of(story)[:2], story.turn(2).the_audit.recount
    exact = with_steps(story, *steps, budget={"max_input": needed})
    assert (exact.last.the_audit.recount, cursors_sent(exact.last)) == (needed, ["resp_1", None])
    steps[1] = {**steps[1], "provider_replies": steps[1]["provider_replies"][1:]}
    tight = with_steps(story, *steps, budget={"max_input": needed - 1})
    assert (degradations(tight.last), cursors_sent(tight.last)) == (["context_shifted"], [None])
    assert not holds(tight.last.last_sent, "How many PX-4410 left?")


def the_system_text_is_in_every_request(story: Story) -> None:
    for told in story.told:
        for sent in told.sent:
            assert holds(sent, system_of(story)), told.name


def it_is_seen_three_ways(story: Story) -> None:
    """The notice says that it went well only when it did."""
    assert degradations(story.turn(2)) == ["cursor_expired"]
    assert [one.data["recovered"] for one in new_notices(story, story.turn(2))] == [True]
    steps = steps_of(story)[:2]
    refused = {"status": 400, "error": {"message": "no", "type": "invalid_request_error"}}
    steps[1] = {**steps[1], "provider_replies": [steps[1]["provider_replies"][0], refused]}
    failed = with_steps(story, *steps)
    assert failed.last.outcome == "turn_failed"
    assert [one.data["recovered"] for one in new_notices(failed, failed.last)] == [False]


def the_last_answer_is_the_cursor(story: Story) -> None:
    assert [story.cursor(told) for told in story.told] == ["resp_1", "resp_2", "resp_3"]


def the_new_system_text_holds_at_once(story: Story) -> None:
    assert degradations(story.turn(2)) == ["system_prompt_changed"]
    assert [event.kind for event in story.turn(2).events].count("fallback_notice") == 1


def the_turn_after_the_change_goes_on_from_it(story: Story) -> None:
    sent = story.turn(2).last_sent
    assert all(holds(sent, text) for text in ("Hello", "Hello.", "Where is 5512?"))
    longer = with_steps(story, *steps_of(story), say("And 5513?"))
    assert cursors_sent(longer.last) == ["resp_2"]


def instructions_are_sent_again_unchanged(story: Story) -> None:
    first, _, second = steps_of(story)
    other = with_steps(story, first, second)
    assert cursors_sent(other.last) == ["resp_1"]
    assert [told.last_sent.head for told in other.told] == [system_of(story)] * 2


def a_pin_that_changes_nothing_breaks_nothing(story: Story) -> None:
    first, _, second = steps_of(story)
    pinned = with_steps(story, first, {"do": "pin", "turn": 1}, second)
    assert cursors_sent(pinned.last) == ["resp_1"]


def the_changed_history_is_said(story: Story) -> None:
    assert degradations(story.turn(3)) == ["history_changed"]


def whatever_takes_it_away_says_so(story: Story) -> None:
    first, second, _, third = steps_of(story)
    ways: Sequence[Sequence[Json]] = (
        [{"do": "remove", "turn": 2}, third],
        [{"do": "exclude", "turn": 2}, third],
        [{"do": "branch", "to": "a1"}, say("Order 5512 is yours")],
    )
    for way in ways:
        other = with_steps(story, first, second, *way)
        (reason,) = degradations(other.last)
        assert reason in CHANGED
        assert cursors_sent(other.last) == [None]
        assert not holds(other.last.last_sent, "Order 5512 is mine")


def no_older_cursor_is_taken(story: Story) -> None:
    """The chain of the first turn would do, and its message still names it."""
    assert cursors_sent(story.turn(3)) == [None]
    named = story.stored("a1").provider_state
    assert named is not None
    assert "resp_1" in [story.answers.get(str(value)) for value in named.values()]


def the_state_of_messages_stays(story: Story) -> None:
    before = {one.message.id: one.provider_state for one in story.turn(2).stored}
    after = {one.message.id: one.provider_state for one in story.last.stored}
    assert {name: after[name] for name in before} == before
    assert sum(state is not None for state in before.values()) == 2


def what_is_not_kept_is_never_continued(story: Story) -> None:
    other = with_steps(story, *steps_of(story)[:2], retention_hours=0)
    requests = [sent for told in other.told for sent in told.sent]
    assert [(sent.body["store"], sent.has_cursor) for sent in requests] == [(False, False)] * 2
    assert [told.chat.last_provider_state for told in other.told] == [None, None]


def an_old_cursor_is_not_tried(story: Story) -> None:
    assert cursors_sent(story.turn(3)) == [None]
    assert degradations(story.turn(3)) == ["cursor_expired"]


def the_third_turn_says_everything_again(story: Story) -> None:
    body, before = story.turn(3).last_sent.body, story.turn(1).last_sent.body
    for key in ("tools", "system_instruction", "generation_config"):
        assert body[key] == before[key], key


def each_request_has_the_cursor_or_the_history(story: Story) -> None:
    for told in story.told:
        with_a_cursor_only_what_is_new_is_sent(story, told)
        for sent in told.sent:
            news = sent.messages if sent.has_cursor else sent.messages[-1:]
            assert len(news) == 1
            assert (sent.messages == news) == (sent.has_cursor or told.name == "1")


def what_the_chain_holds_is_not_sent_again(story: Story) -> None:
    kinds = [[item.get("type", "message") for item in sent.messages] for told in story.told for sent in told.sent]
    assert kinds[1:3] == [["function_call_output"], ["message"]]
    assert [view.calls[0].id for view in story.turn(2).last_sent.views if view.calls] == ["c1"]


def what_the_chain_should_not_hold_is_not_seen(story: Story) -> None:
    first, second, _, third = steps_of(story)
    edited = with_steps(story, first, second, {"do": "edit", "turn": 1, "text": "About beds"}, third)
    assert degradations(edited.last) == ["history_changed"]
    roomy = with_steps(story, first, second, third)
    tight = with_steps(story, first, second, third, budget={"max_input": roomy.last.the_audit.recount - 1})
    assert cursors_sent(roomy.last) == ["resp_2"]
    assert degradations(tight.last) == ["context_shifted"]
    for other in (edited, tight):
        assert cursors_sent(other.last) == [None]
        assert not holds(other.last.last_sent, "First question about lamps")


def a_replay_after_a_loss_is_the_active_branch(story: Story) -> None:
    """The whole talk with a provider that keeps it, which then forgets it."""
    case = story.case
    plan = plan_of(case)
    request = {
        "provider": "openai",
        "chat": {"system": plan.system},
        "steps": [*plan.steps, {"do": "forget"}, say("Is that all?")],
    }
    data = {key: value for key, value in case.data.items() if key != "messages"}
    other = again(story, type(case)(case.id, case.file, {**data, "request": request}))
    check_always(other)
    assert degradations(other.last) == ["cursor_expired"]
    assert not any(holds(other.last.last_sent, word) for word in ("zoo", "noon", "lake"))
    branch = [one.message.id for one in other.last.stored if one.message.role != "system"][:-1]
    blocks = [block.id for block in other.last.the_audit.blocks]
    assert blocks[1:] == branch


def the_results_go_out_with_the_next_turn(story: Story) -> None:
    calls = [view.calls for view in story.last.last_sent.views if view.calls]
    answers = [view.answers for view in story.last.last_sent.views if view.answers]
    assert [call.id for listed in calls for call in listed] == [name for listed in answers for name in listed]
    assert len(answers) == 1


def the_failed_turn_says_that_its_results_are_kept(story: Story) -> None:
    ended = story.turn(2).events[-1].to_dict()
    assert "their results are kept" in str(ended["message"])
    assert story.turn(2).chat.last_provider_state is None


def nothing_is_left_at_the_provider(story: Story) -> None:
    for told in story.told:
        for sent in told.sent:
            assert sent.body["store"] is False
        assert told.chat.last_provider_state is None
        assert degradations(told) == []


def the_thought_goes_back_before_its_call(story: Story) -> None:
    """Sealed or signed, byte for byte as the server gave it, which the server checks."""
    last = story.turn(1).last_sent.messages
    kinds = [one.get("type", "message") for one in last]
    at = kinds.index("function_call")
    assert kinds[at - 1] in ("reasoning", "thought")
    assert _sealed(last[at - 1])


def the_second_try_has_no_old_reasoning(story: Story) -> None:
    """Not one text that was sealed or signed before."""
    first, second = ([*filter(None, map(_sealed, sent.messages))] for sent in story.turn(2).sent)
    assert len(first) == 2
    assert {*first}.isdisjoint(second)


def _sealed(message: Json) -> str | None:
    found = message.get("encrypted_content") or message.get("signature")
    return str(found) if found else None


def the_chain_is_that_of_the_last_answer(story: Story) -> None:
    chat = ask(story, lambda host: host.chat(story.chat_id, owner=OWNER))
    assert chat.last_provider_state == story.last.chat.last_provider_state


CURSOR_FACTS: Mapping[str, tuple[StoryCover, ...]] = {
    "55": (
        one_answer_and_no_error_is_seen,
        the_replay_is_within_the_budget,
        the_system_text_is_in_every_request,
        it_is_seen_three_ways,
        the_last_answer_is_the_cursor,
    ),
    "58": (
        the_new_system_text_holds_at_once,
        the_turn_after_the_change_goes_on_from_it,
        instructions_are_sent_again_unchanged,
        Partly(a_pin_that_changes_nothing_breaks_nothing, Waits("lorebook")),
    ),
    "60": (
        the_changed_history_is_said,
        whatever_takes_it_away_says_so,
        no_older_cursor_is_taken,
        the_state_of_messages_stays,
    ),
    "61": (
        what_is_not_kept_is_never_continued,
        an_old_cursor_is_not_tried,
        the_third_turn_says_everything_again,
    ),
    "64": (
        each_request_has_the_cursor_or_the_history,
        what_the_chain_holds_is_not_sent_again,
        what_the_chain_should_not_hold_is_not_seen,
    ),
    "own-cursor-lost-while-a-tool-runs": (
        the_failed_turn_says_that_its_results_are_kept,
        the_results_go_out_with_the_next_turn,
    ),
    "own-cursor-nothing-is-kept": (nothing_is_left_at_the_provider, the_thought_goes_back_before_its_call),
    "own-cursor-stale-reasoning": (the_second_try_has_no_old_reasoning,),
    "own-cursor-survives-a-restart": (the_chain_is_that_of_the_last_answer,),
}
"""Case id → its covers. Cases that are not here have no facts."""
