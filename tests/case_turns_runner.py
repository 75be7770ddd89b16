"""Running a case that has turns: a story for each variant it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from case_files import Case
from case_turns_play import play
from case_turns_story import Story

STORY_VARIANTS = ("for_each_provider", "for_each_strategy")
"""The fields of `expect` that say what to run."""


def run_story(case: Case, folder: Path) -> list[Story]:
    """Play a case in every variant it asks for, each on a store of its own in the folder."""
    fields = {key: value for key, value in case.expect.items() if key not in STORY_VARIANTS}
    return [play(variant, folder, label=label, expect=fields) for label, variant in _variants(case)]


def _variants(case: Case) -> Iterator[tuple[str, Case]]:
    strategy = case.settings["strategy"]
    for provider in case.expect.get("for_each_provider", [case.provider]):
        asked = _of_provider(case, provider)
        for name in case.expect.get("for_each_strategy", [strategy]):
            label = " ".join(one for one in (provider, name) if one not in (case.provider, strategy))
            yield label, asked.with_data(settings={**case.settings, "strategy": name})


def _of_provider(case: Case, provider: str) -> Case:
    if "request" in case.data:
        return case.with_data(request={**case.data["request"], "provider": provider})
    return case.with_data(expect={**case.expect, "provider": provider})
