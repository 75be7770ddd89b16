"""A fact about fits that speaks of turns too: what was fitted is a chat that goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from case_files import Case
from case_run import Run
from case_turns_always import check_always
from case_turns_play import play


def the_turn_after_that_works_too(runs: Sequence[Run]) -> None:
    """The chat is stored, its last user message said, and one more after it. For neutral messages."""
    case = runs[0].case if runs[0].origin is None else runs[0].origin.setup.case
    *told, last = case.messages
    steps = [
        {"do": "turn", "user": last["content"], "provider_replies": [{"text": "Here it is."}]},
        {"do": "turn", "user": "Thank you.", "provider_replies": [{"text": "You are welcome."}]},
    ]
    request = {"provider": "openai-compatible", "chat": {"messages": told}, "steps": steps}
    data = {key: value for key, value in case.data.items() if key != "messages"}
    with tempfile.TemporaryDirectory() as folder:
        story = play(Case(case.id, case.file, {**data, "request": request}), Path(folder))
    check_always(story)
    assert [one.outcome for one in story.told] == ["turn_completed"] * 2
