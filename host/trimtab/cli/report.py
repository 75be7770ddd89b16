"""The report of a fit for people: the window, what left and why, what was changed and by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from trimtab.cli.screen import clean, number
from trimtab.cli.tables import print_table
from trimtab.cli.window import Segment, cells, segments, window_of
from trimtab.cli.words import first_words
from trimtab.report import Diagnostic, Entry, Fit, PluginCall

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

MOST_ROWS = 20
_FIRST_ROWS = 10
_LAST_ROWS = 5
_MOST_IDS = 5
_WIDEST_BAR = 72

_Cell: TypeAlias = Callable[[Entry], str]


def print_report(console: Console, fit: Fit, messages: Sequence[object], *, show_all: bool = False) -> None:
    """Print the account of a fit. `messages` is the input, for the first words of what left.

    Of long tables the first and last rows are printed; `show_all` prints them whole, and the calls of built-in
    plugins too.
    """
    _Report(console, messages, show_all=show_all).print(fit)


class _Report:
    def __init__(self, console: Console, messages: Sequence[object], *, show_all: bool) -> None:
        self._console = console
        self._messages = messages
        self._show_all = show_all
        self._plain = console.options.ascii_only
        self._below: frozenset[str] = frozenset()

    def print(self, fit: Fit) -> None:
        self._below = _results_below_calls(fit.excluded)
        self._line(_title(fit))
        self._window(fit)
        self._left_out(fit.excluded)
        self._shortened(fit.truncated)
        self._inserted(fit.inserted)
        self._calls(fit.calls)
        self._diagnostics(fit.diagnostics)
        self._line()
        self._line(totals(fit, plain=self._plain))

    def _line(self, text: str = "", style: str = "") -> None:
        # Where a program reads, a line stays a line.
        self._console.print(text, style=style or None, soft_wrap=not self._console.is_terminal)

    def _heading(self, text: str) -> None:
        self._line()
        self._line(text, style="bold")

    def _window(self, fit: Fit) -> None:
        rows = segments(fit)
        self._console.print(window_bar(rows, min(self._console.width, _WIDEST_BAR), plain=self._plain))
        self._console.print(_legend(rows, window_of(fit), plain=self._plain))

    def _left_out(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        reasons = Counter(clean(entry.reason) for entry in entries).most_common()
        tokens = sum(entry.tokens for entry in entries)
        summary = ", ".join(f"{many:,} {reason}" for reason, many in reasons)
        self._heading(f"left out: {_messages(len(entries))}, {tokens:,} tokens ({summary})")
        self._table(
            entries,
            {
                "#": _index,
                "id": _id,
                "role": self._branch,
                "tokens": _tokens,
                "reason": _reason,
                "message": self._words,
            },
        )

    def _shortened(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        self._heading(f"shortened: {_messages(len(entries))}")
        self._table(
            entries,
            {
                "#": _index,
                "id": _id,
                "role": _role,
                "tokens": self._both_costs,
                "reason": _reason,
                "message": self._words,
            },
        )

    def _inserted(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        self._heading(f"inserted: {len(entries):,} {'text' if len(entries) == 1 else 'texts'}")
        self._table(entries, {"id": _id, "role": _role, "tokens": _tokens, "plugin": _plugin, "reason": _reason})

    def _calls(self, calls: Sequence[PluginCall]) -> None:
        lines = call_lines(calls, show_all=self._show_all)
        if lines:
            self._heading("plugins")
        for line in lines:
            self._line(line)

    def _table(self, entries: Sequence[Entry], columns: Mapping[str, _Cell]) -> None:
        shown, hidden = self._shown(entries)
        cells = {name: [cell(entry) for entry in shown] for name, cell in columns.items()}
        if hidden:
            for name, column in cells.items():
                last = name == ("message" if "message" in cells else "id")
                column.insert(_FIRST_ROWS, f"{hidden:,} more" if last else "")
        print_table(self._console, cells)
        if hidden:
            self._line(f"{hidden:,} more rows; --all shows them")

    def _shown(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], int]:
        if self._show_all or len(entries) <= MOST_ROWS:
            return entries, 0
        return [*entries[:_FIRST_ROWS], *entries[-_LAST_ROWS:]], len(entries) - _FIRST_ROWS - _LAST_ROWS

    def _words(self, entry: Entry) -> str:
        return first_words(self._messages, entry.index, limit=max(80, self._console.width))

    def _both_costs(self, entry: Entry) -> str:
        return f"{number(entry.original_tokens)} {_arrow(plain=self._plain)} {_tokens(entry)}"

    def _branch(self, entry: Entry) -> str:
        branch = "`- " if self._plain else "└ "
        return branch + _role(entry) if entry.id in self._below else _role(entry)

    def _diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        if not diagnostics:
            return
        self._line()
        shown = diagnostics if self._show_all else diagnostics[:MOST_ROWS]
        for diagnostic in shown:
            self._line(diagnostic_line(diagnostic), style="yellow")
        if len(shown) < len(diagnostics):
            self._line(f"and {len(diagnostics) - len(shown):,} more notes; --all shows them")


def totals(fit: Fit, *, plain: bool = False) -> str:
    """Give one line: tokens before and after, the budget, how it was counted, how many messages left."""
    counted = sum(entry.index is not None for entry in fit.kept) + len(fit.excluded) + len(fit.truncated)
    left = f"{len(fit.excluded):,} of {_messages(counted)} left out" if fit.excluded else "no message left out"
    arrow = _arrow(plain=plain)
    tokens = f"{fit.tokens_before:,} {arrow} {fit.tokens_after:,} tokens of {fit.budget.available:,}"
    return f"{tokens} ({exactness(fit)}); {left}"


def exactness(fit: Fit) -> str:
    """Say with which tokenizer a fit was counted, and what of it is approximate."""
    tokenizer = fit.tokenizer
    profile = clean(tokenizer.profile)
    if tokenizer.approximate:
        return f"{profile}, approximate"
    parts = {"framing": tokenizer.framing, "images": tokenizer.images}
    rough = [name for name, exactness in parts.items() if exactness == "approximate"]
    return f"{profile}, {' and '.join(rough)} approximate" if rough else f"{profile}, exact"


def _title(fit: Fit) -> str:
    return f"{clean(fit.model)}, strategy {clean(fit.strategy)}, format {clean(fit.format)}"


def _messages(many: int) -> str:
    return f"{many:,} message" if many == 1 else f"{many:,} messages"


def _arrow(*, plain: bool) -> str:
    return "->" if plain else "→"


def _text(words: str) -> Text:
    from rich.text import Text

    return Text(words)


def window_bar(rows: Sequence[Segment], width: int, *, plain: bool) -> Text:
    """Draw the segments of a window as a bar of `width` cells."""
    bar = _text("")
    for row, many in zip(rows, cells([row.tokens for row in rows], width), strict=True):
        bar.append((row.plain_mark if plain else row.mark) * many, style=row.style)
    return bar


def _legend(rows: Sequence[Segment], window: int, *, plain: bool) -> RenderableType:
    from rich.table import Table

    legend = Table.grid(padding=(0, 2))
    legend.add_column(no_wrap=True)
    legend.add_column(justify="right", no_wrap=True)
    legend.add_column(justify="right", no_wrap=True)
    for row in rows:
        name = _text(row.plain_mark if plain else row.mark)
        name.stylize(row.style)
        name.append(f" {row.name}", style="default")
        legend.add_row(name, _text(number(row.tokens)), _text(_percent(row.tokens, window)))
    legend.add_row(_text("  window"), _text(number(window)), _text(""))
    return legend


def _percent(tokens: int, window: int) -> str:
    return f"{tokens * 100 / window:.1f} %" if window else ""


def _results_below_calls(entries: Sequence[Entry]) -> frozenset[str]:
    """Give the ids of the tool results that left together with the message above them."""
    return frozenset(
        below.id
        for above, below in pairwise(entries)
        if below.role == "tool" and above.role in ("assistant", "tool") and below.reason != "unpaired"
    )


def _index(entry: Entry) -> str:
    return "" if entry.index is None else str(entry.index)


def _id(entry: Entry) -> str:
    return clean(entry.id, limit=200)


def _role(entry: Entry) -> str:
    return clean(entry.role, limit=40)


def _tokens(entry: Entry) -> str:
    return number(entry.tokens)


def _reason(entry: Entry) -> str:
    return clean(entry.reason, limit=40)


def _plugin(entry: Entry) -> str:
    return clean(entry.plugin, limit=80)


def call_lines(calls: Sequence[PluginCall], *, show_all: bool = False) -> list[str]:
    """Give a clean line for each call of a plugin that is not built in; `show_all` gives all calls."""
    return [_call_line(call) for call in calls if show_all or not call.built_in]


def _call_line(call: PluginCall) -> str:
    by = clean(call.plugin, limit=80)
    if call.distribution and not call.built_in:
        by += f" ({clean(f'{call.distribution} {call.version}', limit=120)})"
    return f"{by}, {_trust(call)}, {number(round(call.seconds * 1000))} ms: {_made(call)}"


def _trust(call: PluginCall) -> str:
    if call.built_in:
        return "built-in"
    return "confined" if call.confined else "trusted"


def _made(call: PluginCall) -> str:
    """Say what a call made of the request, or what went wrong."""
    if call.restored:
        return f"[{clean(call.rejected)}] nothing used; restored {_named(call.restored)}"
    if call.rejected:
        return f"[{clean(call.rejected)}] nothing used"
    made = {"left out": call.dropped, "shortened": call.shortened, "inserted": call.inserted}
    told = [f"{what} {many:,}" for what, many in made.items() if many]
    if call.inserted:
        told[-1] += f" ({call.insert_tokens:,} tokens)"
    return ", ".join(told) or "changed nothing"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS:,} more" if len(ids) > _MOST_IDS else ""
    return ", ".join(clean(name, limit=60) for name in ids[:_MOST_IDS]) + more


def diagnostic_line(diagnostic: Diagnostic) -> str:
    """Give a remark as one clean line: its code, its text, and ids that the text does not name."""
    line = f"[{clean(diagnostic.code)}] {clean(diagnostic.message)}"
    words = {word.strip(".,;:()'\"") for word in diagnostic.message.split()}
    unnamed = [name for name in diagnostic.ids if name not in words]
    if unnamed:
        line += f" ({_named(unnamed)})"
    if diagnostic.plugin and diagnostic.plugin not in line:
        by = " ".join(part for part in (diagnostic.plugin, diagnostic.distribution, diagnostic.version) if part)
        line += f" [{clean(by)}]"
    return line
