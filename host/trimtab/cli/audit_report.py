"""An audit on the screen: one plain sentence, the window, what was sent, what left, the calls, the plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trimtab.audit_text import as_fit, headline, left_table, sent_table
from trimtab.audit_text import call_lines as provider_lines
from trimtab.cli.chat_words import many, words_of
from trimtab.cli.report import call_lines, diagnostic_line, exactness, window_bar
from trimtab.cli.screen import number
from trimtab.cli.tables import print_table
from trimtab.cli.window import Segment, segments, window_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from trimtab.audit import PromptContextAudit, Resolved
    from trimtab.report import Fit
    from trimtab.store.protocol import StoredMessage

MOST_ROWS = 20
_FIRST_ROWS = 5
_WIDEST_BAR = 72


def print_audit(
    console: Console, audit: PromptContextAudit, messages: Sequence[StoredMessage], *, show_all: bool = False
) -> None:
    """Print the record of a generation. `messages` are those of the chat, for numbers and first words.

    Of long tables the first and last rows are printed; `show_all` prints them whole, and built-in plugins too.
    """
    fit = as_fit(audit)
    _line(console, headline(audit))
    print_window(console, fit)
    known = {one.message.id: one for one in messages}
    _section(console, f"sent: {many(len(audit.blocks), 'message')}", sent_table(audit), known, show_all=show_all)
    if audit.left_out:
        title = f"left out: {many(len(audit.left_out), 'message')}"
        _section(console, title, left_table(audit), known, show_all=show_all)
    _lines(console, "calls", provider_lines(audit))
    _lines(console, "plugins", call_lines(audit.plugin_calls, show_all=show_all))
    _lines(console, "notes", [diagnostic_line(one) for one in audit.diagnostics])
    _line(console)
    _line(console, f"counted with {exactness(fit)}")


def print_window(console: Console, fit: Fit) -> None:
    """Print the window as a bar, with what its marks mean."""
    rows = segments(fit)
    plain = console.options.ascii_only
    console.print(window_bar(rows, min(console.width, _WIDEST_BAR), plain=plain))
    for line in _legend([row for row in rows if row.tokens], window_of(fit), console.width, plain=plain):
        line.rstrip()
        console.print(line, soft_wrap=True)


def _legend(rows: Sequence[Segment], window: int, width: int, *, plain: bool) -> Iterator[Text]:
    """Give lines of at most `width` cells that name the marks, none of them torn."""
    from rich.text import Text

    names = [f"{row.plain_mark if plain else row.mark} {row.name} {number(row.tokens)}" for row in rows]
    line = Text("")
    for name, style in [
        *zip(names, (row.style for row in rows), strict=True),
        (f"of {number(window)}", "default"),
    ]:
        if line and len(line) + len(name) > width:
            yield line
            line = Text("")
        line.append(name[0], style=style).append(f"{name[1:]}  ")
    yield line


def match_sentence(resolved: Resolved) -> str:
    """Say whether the messages that were made again are those that were sent."""
    if resolved.missing:
        gone = many(len(resolved.missing), "message")
        return f"{gone} of them cannot be shown any more: removed from the chat since."
    if resolved.matches is None:
        return "Whether these are the very messages that were sent cannot be told: no digest was kept."
    if resolved.matches:
        return "These are the very messages that were sent: their digest is the same."
    return "These are not quite the messages that were sent: their digest is another one."


def _section(
    console: Console,
    title: str,
    columns: Mapping[str, Sequence[str]],
    known: Mapping[str, StoredMessage],
    *,
    show_all: bool,
) -> None:
    _line(console)
    _line(console, title, style="bold")
    ids = columns["id"]
    remarks = columns.get("message", [""] * len(ids))
    cells = {
        "#": [str(known[name].seq) if name in known else "" for name in ids],
        **{name: list(columns[name]) for name in ("role", "tokens", "reason")},
        "message": [_words(known.get(name), remark) for name, remark in zip(ids, remarks, strict=True)],
    }
    hidden = 0 if show_all else max(0, len(ids) - MOST_ROWS)
    if hidden:
        cells = {name: column[:_FIRST_ROWS] + column[_FIRST_ROWS + hidden :] for name, column in cells.items()}
    print_table(console, cells)
    if hidden:
        _line(console, f"{many(hidden, 'row')} behind the first {_FIRST_ROWS} not shown; --all shows them")


def _words(stored: StoredMessage | None, remark: str) -> str:
    words = words_of(stored.message) if stored is not None else ""
    return f"({remark}) {words}".rstrip() if remark else words


def _lines(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    _line(console)
    _line(console, title, style="bold")
    for line in lines:
        _line(console, line)


def _line(console: Console, text: str = "", *, style: str = "") -> None:
    # Where a program reads, a line stays a line.
    console.print(text, style=style or None, soft_wrap=not console.is_terminal)
