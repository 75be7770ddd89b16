"""The tools that the turns of a case call: each call answers what the case says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from case_files import Json
from trimtab.turns.tools import RunTool, Tool, ToolContext

_ANYTHING: Mapping[str, object] = {"type": "object"}
_READ = frozenset({"call", "result", "kill", "forget", "ts"})


class Bench:
    """Runs tools by script. `runs` are the names of those that ran, in the order they were begun.

    `at` is told the time of a result before it is given; `die` is called where a run says `kill`, and the tool
    never answers then. `forget` is called where the provider is to forget the chat while the tool runs.
    """

    def __init__(
        self,
        *,
        at: Callable[[str], None],
        die: Callable[[], None],
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self.runs: list[str] = []
        self._answers: dict[str, Json] = {}
        self._at = at
        self._die = die
        self._forget = forget

    def script(self, runs: Iterable[Json]) -> None:
        """Say what calls answer, by their id."""
        for run in runs:
            unread = run.keys() - _READ
            if unread:
                raise KeyError(f"a tool run with {sorted(unread)}")
            self._answers[run["call"]] = run

    def tools(self, names: Iterable[str]) -> list[Tool]:
        """Make the tools of these names."""
        return [Tool(name=name, parameters=_ANYTHING, run=self._runner(name)) for name in sorted(set(names))]

    def _runner(self, name: str) -> RunTool:
        async def run(arguments: Mapping[str, object], context: ToolContext) -> object:
            return await self._answer(name, context.call_id)

        return run

    async def _answer(self, name: str, call_id: str) -> object:
        self.runs.append(name)
        run = self._answers.pop(call_id)
        if run.get("kill"):
            self._die()
            await asyncio.Event().wait()
        if run.get("forget"):
            self._forget()
        if "ts" in run:
            self._at(run["ts"])
        return run["result"]


def names_of_calls(steps: Sequence[Json]) -> list[str]:
    """Give the names of all tools that the replies of some steps call."""
    replies = [reply for step in steps for reply in step.get("provider_replies", ())]
    inner = [one for step in steps for one in step.get("turns", ())]
    own = [call["name"] for reply in replies for call in reply.get("tool_calls", ())]
    return own + (names_of_calls(inner) if inner else [])
