"""The comparison of strategies for people: figures side by side, a bar of each window, what sets them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from trimtab.cli.report import call_lines, diagnostic_line, exactness, window_bar
from trimtab.cli.screen import clean, number
from trimtab.cli.tables import print_table
from trimtab.cli.window import PROTECTED, segments
from trimtab.cli.words import first_words
from trimtab.report import Entry, Fit
from trimtab_sdk import labelled

if TYPE_CHECKING:
    from rich.console import Console

    from trimtab.cli.compare import Comparison

MOST_ROWS = 5
_MOST_LINES = 4
_MOST_NOTES = 10
_WIDEST_BAR = 72
_WIDEST_NAME = 20
_GAP = 2


def print_comparison(
    console: Console, comparison: Comparison, messages: Sequence[object], *, show_all: bool = False
) -> None:
    """Print what each strategy made of a conversation; at least one must have fitted.

    `messages` is the input, for the first words of what only some strategies keep. Of long lists the beginning
    is printed; `show_all` prints them whole.
    """
    _Report(console, messages, show_all=show_all).print(comparison)


def figures(fits: Mapping[str, Fit]) -> dict[str, list[str]]:
    """Give label → one cell a strategy: tokens, and how many messages were kept, left, shortened, inserted.

    Below the number of messages stand their reasons, each with its own number.
    """
    all_fits = list(fits.values())
    rows = {"tokens": [number(fit.tokens_after) for fit in all_fits]}
    rows |= _counted("messages kept", [[_kept_as(entry) for entry in fit.kept] for fit in all_fits])
    rows |= _counted("left out", [[entry.reason for entry in fit.excluded] for fit in all_fits])
    rows |= _counted("shortened", [[entry.reason for entry in fit.truncated] for fit in all_fits])
    return rows | _counted("inserted", [[entry.reason for entry in fit.inserted] for fit in all_fits])


def kept_alone(fits: Mapping[str, Fit]) -> dict[tuple[str, ...], list[Entry]]:
    """Give strategies that send the same messages, as one → what they send and no other strategy does."""
    alike: dict[frozenset[str], list[str]] = {}
    for name, fit in fits.items():
        alike.setdefault(frozenset(entry.id for entry in _sent(fit)), []).append(name)
    senders = Counter(chain.from_iterable(alike))
    return {
        tuple(names): [entry for entry in _sent(fits[names[0]]) if senders[entry.id] == 1]
        for names in alike.values()
    }


def inserted_texts(fit: Fit, plugin: str, messages: Sequence[object]) -> list[str]:
    """Give the texts that a plugin put into the fitted conversation, without their labels.

    What is one of `messages`, the input, is not searched: a text in there only looks like one.
    """
    known = {id(message) for message in messages}
    sent = fit.messages if fit.request is None else fit.request
    pattern = _labelled_by(plugin)
    return [text for string in _strings(sent, known) for text in pattern.findall(string)]


class _Report:
    def __init__(self, console: Console, messages: Sequence[object], *, show_all: bool) -> None:
        self._console = console
        self._messages = messages
        self._show_all = show_all
        self._plain = console.options.ascii_only

    def print(self, comparison: Comparison) -> None:
        fits = comparison.fits
        self._line(_title(next(iter(fits.values())), len(fits)))
        self._figures(fits)
        self._line()
        self._bars(comparison)
        for name, fit in fits.items():
            self._inserted(name, fit)
        self._kept_alone(fits)
        self._calls(fits)
        self._failures(comparison)
        self._notes(fits)

    def _line(self, text: str = "", style: str = "") -> None:
        # Where a program reads, a line stays a line.
        self._console.print(text, style=style or None, soft_wrap=not self._console.is_terminal)

    def _heading(self, text: str) -> None:
        self._line()
        self._line(text, style="bold")

    def _figures(self, fits: Mapping[str, Fit]) -> None:
        rows = figures(fits)
        label = max(map(len, rows))
        columns = [[_short(name), *(cells[at] for cells in rows.values())] for at, name in enumerate(fits)]
        for block in _blocks(columns, self._console.width - label):
            self._line()
            widths = [max(map(len, column)) for column in block]
            for at, name in enumerate(("", *rows)):
                cells = (column[at].rjust(width) for column, width in zip(block, widths, strict=True))
                line = (" " * _GAP).join([name.ljust(label), *cells])
                self._console.out(line.rstrip(), style=None if at else "bold", highlight=False)

    def _bars(self, comparison: Comparison) -> None:
        from rich.text import Text

        names = sorted((*comparison.fits, *comparison.errors))
        indent = max(len(_short(name)) for name in names) + _GAP
        width = min(self._console.width - indent, _WIDEST_BAR)
        for name in names:
            line = Text(_short(name).ljust(indent))
            if name in comparison.fits:
                line.append_text(window_bar(segments(comparison.fits[name]), width, plain=self._plain))
            else:
                line.append(f"[{comparison.errors[name].code}]", style="red")
            self._console.print(line, soft_wrap=not self._console.is_terminal)
        self._legend(comparison.fits)

    def _legend(self, fits: Mapping[str, Fit]) -> None:
        from rich.text import Text

        used = {row.name for fit in fits.values() for row in segments(fit) if row.tokens}
        legend = Text("")
        for row in (row for row in segments(next(iter(fits.values()))) if row.name in used):
            legend.append(row.plain_mark if self._plain else row.mark, style=row.style)
            legend.append(f" {row.name}{' ' * _GAP}")
        legend.rstrip()
        self._console.print(legend, soft_wrap=not self._console.is_terminal)

    def _inserted(self, strategy: str, fit: Fit) -> None:
        for plugin in dict.fromkeys(entry.plugin for entry in fit.inserted):
            tokens = sum(entry.tokens for entry in fit.inserted if entry.plugin == plugin)
            by = _short(strategy) if plugin == strategy else f"{_short(plugin)} with {_short(strategy)}"
            self._heading(f"inserted by {by}, {number(tokens)} tokens")
            texts = inserted_texts(fit, plugin, self._messages)
            self._first([clean(line) for text in texts for line in text.splitlines() if line.strip()])

    def _first(self, lines: Sequence[str]) -> None:
        shown = lines if self._show_all else lines[:_MOST_LINES]
        for line in shown:
            self._line(f"{' ' * _GAP}{line if self._show_all else self._cut(line)}")
        self._rest(len(lines) - len(shown), "line")

    def _cut(self, line: str) -> str:
        from rich.cells import cell_len, set_cell_size

        room = self._console.width - _GAP
        if cell_len(line) <= room:
            return line
        ellipsis = "" if self._plain else "…"
        return set_cell_size(line, room - len(ellipsis)).rstrip() + ellipsis

    def _rest(self, hidden: int, what: str) -> None:
        if hidden:
            shows = f"{what}; --all shows it" if hidden == 1 else f"{what}s; --all shows them"
            self._line(f"{' ' * _GAP}{hidden:,} more {shows}")

    def _kept_alone(self, fits: Mapping[str, Fit]) -> None:
        apart = kept_alone(fits)
        if len(apart) == 1:
            if len(fits) > 1:
                self._heading("all of them keep the same messages")
            return
        for names, entries in apart.items():
            tokens = sum(entry.tokens for entry in entries)
            what = f"{_messages(len(entries))}, {number(tokens)} tokens" if entries else "nothing"
            keep = "keeps" if len(names) == 1 else "keep"
            self._heading(f"only {_listed([_short(name) for name in names])} {keep}: {what}")
            self._entries(entries)

    def _entries(self, entries: Sequence[Entry]) -> None:
        shown = entries if self._show_all else entries[:MOST_ROWS]
        if not shown:
            return
        print_table(
            self._console,
            {
                "#": ["" if entry.index is None else str(entry.index) for entry in shown],
                "id": [clean(entry.id, limit=200) for entry in shown],
                "role": [clean(entry.role, limit=40) for entry in shown],
                "tokens": [number(entry.tokens) for entry in shown],
                "message": [first_words(self._messages, entry.index) for entry in shown],
            },
        )
        self._rest(len(entries) - len(shown), "row")

    def _calls(self, fits: Mapping[str, Fit]) -> None:
        lines = [
            f"{_short(name)}: {line}"
            for name, fit in fits.items()
            for line in call_lines(fit.calls, show_all=self._show_all)
        ]
        if lines:
            self._heading("plugins")
        for line in lines:
            self._line(line)

    def _failures(self, comparison: Comparison) -> None:
        for name, error in comparison.errors.items():
            self._line()
            self._line(f"{_short(name)}: error [{error.code}]: {clean(error.message)}", style="red")

    def _notes(self, fits: Mapping[str, Fit]) -> None:
        by_line: dict[str, list[str]] = {}
        for name, fit in fits.items():
            for line in dict.fromkeys(diagnostic_line(note) for note in fit.diagnostics):
                by_line.setdefault(line, []).append(name)
        if by_line:
            self._line()
        lines = [
            line if len(names) == len(fits) else f"{_listed([_short(name) for name in names])}: {line}"
            for line, names in by_line.items()
        ]
        shown = lines if self._show_all else lines[:_MOST_NOTES]
        for line in shown:
            self._line(line, style="yellow")
        self._rest(len(lines) - len(shown), "note")


def _title(fit: Fit, strategies: int) -> str:
    many = "1 strategy" if strategies == 1 else f"{strategies} strategies"
    room = f"{number(fit.tokens_before)} tokens into {number(fit.budget.available)} ({exactness(fit)})"
    return f"{clean(fit.model)}, format {clean(fit.format)}, {many}: {room}"


def _counted(label: str, reasons: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    counts = [Counter(clean(reason, limit=40) for reason in one) for one in reasons]
    rows = {label: [number(count.total()) for count in counts]}
    for reason in sorted(set().union(*counts)):
        rows[f"  {reason}"] = [number(count[reason] or None) for count in counts]
    return rows


def _kept_as(entry: Entry) -> str:
    return "protected" if entry.reason in PROTECTED else entry.reason


def _sent(fit: Fit) -> list[Entry]:
    return [*fit.kept, *fit.truncated]


def _blocks(columns: Sequence[list[str]], width: int) -> Iterator[list[list[str]]]:
    """Divide columns into blocks that are at most `width` cells wide, or one column."""
    block: list[list[str]] = []
    used = 0
    for column in columns:
        needed = max(map(len, column)) + _GAP
        if block and used + needed > width:
            yield block
            block, used = [], 0
        block.append(column)
        used += needed
    yield block


def _labelled_by(plugin: str) -> re.Pattern[str]:
    frames = (labelled("\0", plugin=plugin, summary=summary).split("\0") for summary in (True, False))
    heads, tails = zip(*([re.escape(edge) for edge in frame] for frame in frames), strict=True)
    return re.compile(f"(?:{'|'.join(heads)})(.*?)(?:{'|'.join(tails)})", re.DOTALL)


def _strings(value: object, known: set[int]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif id(value) in known:
        return
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, known)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item, known)


def _short(name: str) -> str:
    return clean(name, limit=_WIDEST_NAME)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _messages(many: int) -> str:
    return f"{many:,} message" if many == 1 else f"{many:,} messages"
