"""The facts of the cases that run through turns: case id → what covers each of its facts, in their order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from case_checks import NEAREST_VOCABULARY
from case_counting import count_text
from case_files import Case, dump
from case_turns_checks import holds
from case_turns_covers import StoryCover, again, ask
from case_turns_facts_cursors import CURSOR_FACTS, a_replay_after_a_loss_is_the_active_branch
from case_turns_story import OWNER, Story, Told
from trimtab.host import Host
from trimtab_sdk import plain_text

SAME_PREFIX_AT_LEAST = 24
DEEPSEEK_MODELS: Mapping[str, str | None] = {"deepseek-reasoner": None, "deepseek-v4-pro": "I look."}
"""A model of each generation → the thinking of a former turn that it is sent again."""


def thoughts_sent(told: Told) -> list[str | None]:
    """Give the reasoning beside each message with calls of the last request, None where there is no field."""
    messages = [one for one in told.last_sent.messages if one.get("tool_calls")]
    return [message.get("reasoning_content") for message in messages]


def the_stored_thought_goes_back_with_its_calls(story: Story) -> None:
    """By the rule of both generations: an empty one where the model gave none."""
    given = story.case.messages[2]["reasoning_content"]
    for model in DEEPSEEK_MODELS:
        told = again(story, _asking(story.case, model)).last
        assert told.last_sent.body["model"] == model
        assert thoughts_sent(told) == [given, ""]
        assert dump(given)[1:-1].encode() in told.last_sent.raw


def _asking(case: Case, model: str) -> Case:
    return case.with_data(settings={**case.settings, "model": model})


def thoughts_go_to_no_server_that_refuses_them(story: Story) -> None:
    """They are for the server that gave them, and where its settings want them."""
    other = again(story, story.case.with_data(expect={"provider": "without-reasoning"}))
    assert thoughts_sent(other.last) == [None, None]


def the_thought_is_counted(story: Story) -> None:
    words = count_text(story.case.messages[2]["reasoning_content"], NEAREST_VOCABULARY)
    stored = story.stored(2)
    with_thought = story.last.block(stored.message.id)
    without = story.last.block(story.stored(4).message.id)
    assert story.last.the_audit.tokenizer.profile == "deepseek"
    assert with_thought is not None
    assert without is not None
    assert with_thought.tokens - without.tokens >= words - 2


def the_rule_is_the_same_on_every_turn(story: Story) -> None:
    """Once its turn is over, R1 is not sent the thinking again, nor in the turn after that; V4 always is."""
    request = {
        "provider": "deepseek",
        "chat": {"system": story.case.messages[0]["content"]},
        "steps": [
            {
                "do": "turn",
                "user": "Is PX-4410 in stock?",
                "provider_replies": [
                    {"reasoning": "I look.", "tool_calls": [{"id": "c", "name": "stock_level", "arguments": {}}]},
                    {"text": "Seven."},
                ],
                "tool_runs": [{"call": "c", "result": "7"}],
            },
            {"do": "turn", "user": "Sure?", "provider_replies": [{"text": "Yes."}]},
            {"do": "turn", "user": "Really?", "provider_replies": [{"text": "Yes, yes."}]},
        ],
    }
    data = {key: value for key, value in story.case.data.items() if key != "messages"}
    played = Case("47", story.case.file, {**data, "request": request})
    for model, later in DEEPSEEK_MODELS.items():
        other = again(story, _asking(played, model))
        assert other.faults == ()
        assert [thoughts_sent(told) for told in other.told] == [["I look."], [later], [later]], model
        before, after = (told.last_sent.messages for told in other.told[1:])
        assert dump(after[: len(before)]) == dump(before)


def the_last_step_is_the_open_one(story: Story) -> None:
    reasons = {at: block.reason for at in range(6) if (block := story.last.block(story.stored(at).message.id))}
    assert (reasons[1], reasons[4], reasons[5]) == ("current-input", "open-step", "open-step")
    assert reasons[0] == "system"


def the_request_is_the_active_branch(story: Story) -> None:
    branch = [one.message.id for one in story.last.stored[:-1]]
    assert [block.id for block in story.last.the_audit.blocks] == branch
    assert [story.ids[name] for name in ("s", "u1", "a1", "u2b")] == branch


def the_request_is_the_active_branch_also_after_a_loss(story: Story) -> None:
    the_request_is_the_active_branch(story)
    a_replay_after_a_loss_is_the_active_branch(story)


def what_was_taken_back_stays_away(story: Story) -> None:
    """Under pressure too, where recall and summaries look for what has left."""
    limit = story.last.the_audit.recount - 1
    for strategy in ("vector-recall", "summarize", "truncate"):
        settings = {**story.case.settings, "strategy": strategy, "budget": {"max_input": limit}}
        tight = again(story, story.case.with_data(settings=settings)).last
        assert tight.the_audit.left_out, strategy
        assert not any(holds(tight.last_sent, word) for word in ("zoo", "noon", "lake")), strategy


def the_audit_has_the_branch_alone(story: Story) -> None:
    audit = story.last.the_audit
    named = {block.id for block in audit.blocks} | {one.id for one in audit.left_out}
    assert named.isdisjoint(story.ids[name] for name in ("u2", "a2", "u3"))


def the_order_is_that_of_writing_after_loading(story: Story) -> None:
    loaded = ask(story, lambda host: host.messages(story.chat_id, owner=OWNER))
    names = {message_id: name for name, message_id in story.ids.items()}
    given = [one["id"] for one in story.case.messages]
    assert [names[one.message.id] for one in loaded][: len(given)] == given
    times = [one.created_at for one in loaded]
    assert times != sorted(times)


def the_last_three_are_those_written_last(story: Story) -> None:
    stored = story.last.stored
    asked = ask(story, lambda host: host.messages(story.chat_id, owner=OWNER, after=stored[-4].seq, limit=3))
    assert [one.message.id for one in asked] == [one.message.id for one in stored[-3:]]


def listing_and_audit_have_one_order(story: Story) -> None:
    listed = [one.message.id for one in story.last.stored]
    audited = [block.id for block in story.last.the_audit.blocks]
    assert audited == listed[: len(audited)]
    assert len(audited) == len(story.case.messages)


def length_is_stored_and_told(story: Story) -> None:
    first = story.turn(1)
    assert first.events[-1].to_dict()["finish"] == "length"
    assert first.turn is not None
    assert first.turn.finish == "length"
    assert first.stored[-1].status == "incomplete"


def thinking_alone_is_no_finished_answer(story: Story) -> None:
    thinking = {"status": 200, "reasoning": "First the date, then", "finish": "length"}
    steps = story.case.data["request"]["steps"]
    first = {**steps[0], "provider_replies": [thinking]}
    request = {**story.case.data["request"], "steps": [first, *steps[1:]]}
    other = again(story, story.case.with_data(request=request))
    answers = [one for one in other.turn(1).stored if one.message.role == "assistant"]
    assert [one.status for one in answers] in ([], ["incomplete"])
    assert other.turn(2).outcome == "turn_completed"
    assert [one["role"] for one in other.last.last_sent.messages].count("assistant") == 0


def the_turn_goes_on_from_what_was_said(story: Story) -> None:
    said = [one.get("content") for one in story.turn(2).last_sent.messages]
    assert said[-2:] == ["Dear Mr Van Dijk, we are", "Go on"]
    assert story.turn(2).outcome == "turn_completed"


def the_edited_message_has_a_second_revision(story: Story) -> None:
    edited = story.ids["u2"]
    block = story.last.block(edited)
    assert block is not None
    assert (block.revision, story.stored("u2").revision) == (2, 2)
    former = ask(story, lambda host: host.store.message_at(story.chat_id, edited, 1, owner=OWNER))
    assert former is not None
    assert plain_text(former) == "Book the Heron for six."


def a_branch_is_chosen_by_its_last_message(story: Story) -> None:
    async def branch(host: Host) -> list[str]:
        await host.branch(story.chat_id, story.ids["a3"], owner=OWNER)
        return [one.message.id for one in await host.messages(story.chat_id, owner=OWNER)]

    there = ask(story, branch)
    assert there == [story.ids[name] for name in ("s", "u1", "a1", "u3", "a3")]


def no_summary_covers_what_was_left_out(story: Story) -> None:
    changes = [block.change for block in story.last.the_audit.blocks]
    covered = {name for one in changes if one is not None for name in one.covers}
    assert covered
    assert covered.isdisjoint(story.ids[name] for name in ("u1", "a1"))


def what_was_sent_is_stored_with_its_cost(story: Story) -> None:
    for told in story.told:
        for one in told.stored:
            block = told.block(one.message.id)
            assert (one.counted is None) == (block is None), f"{told.name}: {one}"
            assert block is None or one.counted is None or one.counted.cost.tokens == block.tokens


def the_refused_input_is_nowhere(story: Story) -> None:
    kept = story.place.read_bytes()
    assert b"Open the gate." in kept
    assert b"Close the gate." not in kept
    assert b"Lock the gate." not in kept


def the_broken_answer_is_kept_with_its_turn(story: Story) -> None:
    failed = story.turn(2)
    assert failed.turn is not None
    assert failed.turn.partial == "On Monday the vet"
    assert [plain_text(one.message) for one in failed.stored].count("On Monday the vet") == 0


def the_dead_turn_says_that_it_was_interrupted(story: Story) -> None:
    dead = story.turn(1).turn
    assert dead is not None
    assert dead.state == "running"
    ended = ask(story, lambda host: host.get_turn(dead.id, owner=OWNER))
    assert ended.error is not None
    assert (ended.state, ended.error["code"]) == ("failed", "TURN_INTERRUPTED")


def no_tool_ran(story: Story) -> None:
    assert [told.tool_runs for told in story.told] == [()] * len(story.told)


def each_turn_is_counted_for_its_model(story: Story) -> None:
    profiles = [told.the_audit.tokenizer.profile for told in story.told]
    assert profiles == ["o200k_base", "o200k_base", "cl100k_base", "o200k_base"]


def the_whole_result_is_stored(story: Story) -> None:
    result = story.ids["r1"]
    whole = ask(story, lambda host: host.full_text(story.chat_id, result, owner=OWNER))
    runs = story.case.data["request"]["steps"][0]["tool_runs"]
    assert whole is not None
    assert whole == runs[0]["result"]
    assert len(plain_text(story.stored("r1").message)) < len(whole)


def the_result_keeps_to_its_share(story: Story) -> None:
    block = story.last.block(story.ids["r1"])
    budget = story.last.the_audit.budget.available
    assert block is not None
    assert budget / 8 < block.tokens <= budget / 4 + 8


def the_times_go_backwards(story: Story) -> None:
    times = [one.created_at for one in story.last.stored]
    assert times != sorted(times)
    assert len(set(times)) == 4


def the_last_turn_is_the_last_begun(story: Story) -> None:
    for told in story.told:
        assert told.turn is not None
        assert told.turn.input_ids == (story.ids[f"u{told.name}"],)


def all_have_one_time(story: Story) -> None:
    assert len({one.created_at for one in story.last.stored}) == 1


def the_strategy_rests_after_the_restart(story: Story) -> None:
    asked = [told.name for told in story.told if told.the_audit.plugin_calls]
    assert asked == ["3"]


def most_requests_go_on_from_the_one_before(story: Story) -> None:
    sent = [told.last_sent.messages for told in story.told]
    same = [dump(after[: len(before)]) == dump(before) for before, after in itertools.pairwise(sent)]
    assert len(same) == 30
    assert same.count(True) >= SAME_PREFIX_AT_LEAST


def the_unknown_call_is_answered_with_an_error(story: Story) -> None:
    results = [event.to_dict() for event in story.turn(1).events if event.kind == "tool_result"]
    assert {one["name"]: one["isError"] for one in results} == {"weigh": False, "weigh_twice": True}


STORY_FACTS: Mapping[str, tuple[StoryCover, ...]] = {
    **CURSOR_FACTS,
    "47": (
        the_stored_thought_goes_back_with_its_calls,
        the_stored_thought_goes_back_with_its_calls,
        thoughts_go_to_no_server_that_refuses_them,
        the_thought_is_counted,
        the_rule_is_the_same_on_every_turn,
        the_last_step_is_the_open_one,
    ),
    "54": (
        the_request_is_the_active_branch_also_after_a_loss,
        what_was_taken_back_stays_away,
        the_audit_has_the_branch_alone,
    ),
    "65": (
        the_order_is_that_of_writing_after_loading,
        the_last_three_are_those_written_last,
        listing_and_audit_have_one_order,
    ),
    "71": (
        length_is_stored_and_told,
        thinking_alone_is_no_finished_answer,
        the_turn_goes_on_from_what_was_said,
    ),
    "own-turn-branch-and-return": (a_branch_is_chosen_by_its_last_message,),
    "own-turn-calls-cut-by-the-output-limit": (no_tool_ran,),
    "own-turn-clock-goes-backwards": (the_times_go_backwards, the_last_turn_is_the_last_begun),
    "own-turn-edit-in-the-middle": (the_edited_message_has_a_second_revision,),
    "own-turn-equal-times": (all_have_one_time,),
    "own-turn-exclude-after-a-summary": (no_summary_covers_what_was_left_out,),
    "own-turn-killed-while-a-tool-runs": (the_dead_turn_says_that_it_was_interrupted, no_tool_ran),
    "own-turn-model-switch": (each_turn_is_counted_for_its_model,),
    "own-turn-pinned-over-thirty-turns": (most_requests_go_on_from_the_one_before,),
    "own-turn-restart-between-turns": (what_was_sent_is_stored_with_its_cost,),
    "own-turn-retry-after-a-cut-stream": (the_broken_answer_is_kept_with_its_turn,),
    "own-turn-summary-over-a-restart": (the_strategy_rests_after_the_restart,),
    "own-turn-tool-result-over-its-share": (the_whole_result_is_stored, the_result_keeps_to_its_share),
    "own-turn-two-at-once": (the_refused_input_is_nowhere,),
    "own-turn-unknown-tool-is-called": (the_unknown_call_is_answered_with_an_error,),
}
"""Case id → its covers. Cases that are not here have no facts."""
