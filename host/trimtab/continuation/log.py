"""The lines continuation writes to the log. Each begins with one of four fixed texts, to be searched for.

- `[continuation][valid]`: the stored cursor is used; how many messages the provider holds and how many are sent.
- `[continuation][invalid]`: what is stored cannot be read, and where it is wrong; or a lost cursor ends the turn.
- `[continuation][degrade]`: a cursor was there and the whole history is sent; the reason.
- `[continuation][clear]`: null was stored; the cause.

A replay that nobody need wonder about writes no line. No line holds a cursor, a text of the chat or anything that
a provider or a store said.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.continuation.decision import Continuation, ContinueWithCursor, DegradeToReplay
from trimtab.continuation.persistence import ClearState, StateWrite
from trimtab.continuation.recovery import AbortTurn
from trimtab.continuation.words import LogWord


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its word, and facts as names and values. `str(line)` is the line."""

    word: LogWord
    facts: tuple[tuple[str, str | int], ...]

    def __str__(self) -> str:
        return " ".join([f"[continuation][{self.word}]", *(f"{name}={value}" for name, value in self.facts)])


def log_lines(outcome: Continuation | AbortTurn | StateWrite) -> tuple[LogLine, ...]:
    """Give the lines of a decision, of what follows a refused cursor, or of what a turn leaves."""
    if isinstance(outcome, ContinueWithCursor):
        return (LogLine("valid", (("held", outcome.held), ("sent", len(outcome.delta)))),)
    if isinstance(outcome, DegradeToReplay):
        return _lines_of_degradation(outcome)
    if isinstance(outcome, AbortTurn):
        return (LogLine("invalid", (("reason", outcome.fault), ("code", outcome.code))),)
    if isinstance(outcome, ClearState):
        return (LogLine("clear", (("cause", outcome.cause),)),)
    return ()


def _lines_of_degradation(outcome: DegradeToReplay) -> tuple[LogLine, ...]:
    degrade = LogLine("degrade", (("reason", outcome.reason),))
    if not outcome.detail:
        return (degrade,)
    return LogLine("invalid", (("reason", outcome.reason), ("fault", outcome.detail))), degrade
