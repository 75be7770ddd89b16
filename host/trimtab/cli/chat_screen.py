"""A turn on the screen: the answer as it comes, then how full the window is and what there is to say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from trimtab.cli.chat_words import SEVERITY_STYLES, fullness, many, streamed
from trimtab.cli.screen import clean, console_for, is_terminal
from trimtab.continuation.notices import SENTENCES, FallbackNotice
from trimtab.turns.events import (
    ContextReady,
    ModelFallback,
    ToolResultReady,
    TurnCancelled,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnPaused,
)
from trimtab_sdk.provider import ReasoningDelta, TextDelta, ToolCallCompleted

if TYPE_CHECKING:
    from trimtab.audit import PromptContextAudit

_FINISHES = {
    "length": "The answer was cut at its longest length; it is marked as incomplete.",
    "content-filter": "The provider's filter ended the answer.",
    "refusal": "The model refused to answer.",
}
_LONGEST = 2000
_ARGUMENTS = 100
_WIDEST_BAR = 72


class Screen:
    """Shows turns. The answer goes to stdout; all else does on a terminal, and to stderr where stdout is none."""

    def __init__(self) -> None:
        self._out: TextIO = sys.stdout
        self.is_terminal = is_terminal(self._out)
        self.console = console_for(self._out if self.is_terminal or sys.stderr is None else sys.stderr)
        self._answers = console_for(self._out)
        self._told: set[str] = set()
        self._column = 0
        self._thinking = False

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line that is no part of an answer."""
        self._end_line()
        self.console.print(text, style=style or None, soft_wrap=not self.console.is_terminal)

    def show(self, event: TurnEvent) -> None:
        """Show an event of a turn."""
        match event:
            case TextDelta(text=text):
                self._answer(streamed(text))
            case ReasoningDelta(text=text) if self.is_terminal:
                self._think(streamed(text))
            case ContextReady(diagnostics=diagnostics):
                for one in diagnostics:
                    self._note(f"[{clean(str(one['code']), limit=80)}] {clean(str(one['message']))}")
            case FallbackNotice(event=degraded):
                self.line(SENTENCES[degraded.reason], style="yellow")
            case ModelFallback(next_provider=provider, next_model=model, code=code):
                self.line(f"{model} of {provider} is asked instead [{code}]", style="yellow")
            case ToolCallCompleted(name=name, arguments=arguments):
                self.line(f"calls {clean(name, limit=80)}({clean(arguments, limit=_ARGUMENTS)})", style="dim")
            case ToolResultReady(is_error=True, name=name, text=text):
                self.line(f"{clean(name, limit=80)} failed: {clean(text, limit=200)}", style="yellow")
            case _:
                self._end(event)

    def bar(self, audit: PromptContextAudit, ended: TurnCompleted) -> None:
        """Show what the window holds after a turn."""
        from trimtab.audit_text import as_fit
        from trimtab.cli.report import exactness, window_bar
        from trimtab.cli.window import segments

        fit = as_fit(audit)
        self._end_line()
        width = min(self.console.width, _WIDEST_BAR)
        self.console.print(window_bar(segments(fit), width, plain=self.console.options.ascii_only))
        left = f"; {many(len(audit.left_out), 'message')} left out" if audit.left_out else ""
        said = f"{fullness(ended.snapshot)}{left} ({exactness(fit)})"
        self.line(said, style=SEVERITY_STYLES[ended.snapshot.severity] or "dim")

    def _end(self, event: TurnEvent) -> None:
        match event:
            case TurnCompleted(finish=finish) if finish in _FINISHES:
                self.line(_FINISHES[finish], style="yellow")
            case TurnFailed():
                self.line(f"[{event.code}] {clean(event.message, limit=_LONGEST)}", style="red")
                if event.stored:
                    self.line("What you said is kept; /retry tries again.")
            case TurnCancelled():
                self.line("Cancelled. What had come is kept; /retry asks again.", style="yellow")
            case TurnPaused(pending=pending):
                names = ", ".join(clean(call.name, limit=80) for call in pending)
                self.line(f"The turn waits for results of {names}; /cancel ends it.", style="yellow")

    def _note(self, text: str) -> None:
        """Show a remark of the fit once, since most of them come again with every turn."""
        if text not in self._told:
            self._told.add(text)
            self.line(text, style="yellow")

    def _answer(self, text: str) -> None:
        if self._thinking:
            self._end_line()
            self._thinking = False
        self._write(text)

    def _think(self, text: str) -> None:
        self._thinking = True
        self._answers.print(text, style="dim", end="", soft_wrap=True)
        self._column = 0 if text.endswith("\n") else 1

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._column = 0 if text.endswith("\n") else 1

    def _end_line(self) -> None:
        if self._column:
            self._write("\n")
