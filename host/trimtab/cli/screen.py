"""Making text fit for a terminal: outside data cleaned, a console that fails on no character."""

from __future__ import annotations

import io
import unicodedata
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_NARROWEST = 40
_NEVER_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def clean(text: str, *, limit: int = 4000) -> str:
    """Give at most `limit` characters of outside text as one line that steers no terminal.

    Line breaks and other blanks become one blank; control, format and direction characters and half surrogate
    pairs are left out.
    """
    line = " ".join(text[: limit * 4].split())
    shown = line if line.isascii() and line.isprintable() else _without_steering(line)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _without_steering(line: str) -> str:
    return "".join(sign for sign in line if unicodedata.category(sign) not in _NEVER_SHOWN)


def console_for(stream: TextIO) -> Console:
    """Make a console that writes plain text as it is: no markup, no emoji names, no colours of its own.

    It raises BrokenPipeError when its reader has left.
    """
    from rich.console import Console

    class HonestConsole(Console):
        # Rich would end the process here, with an exit code that means something else.
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    tolerate(stream)
    console = HonestConsole(file=stream, markup=False, emoji=False, highlight=False)
    if console.width < _NARROWEST:
        console.width = _NARROWEST
    return console


def tolerate(stream: TextIO | None) -> None:
    """Have a stream write `?` for what its encoding lacks, where it would raise."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether people look at this stream."""
    return stream is not None and stream.isatty()


def number(tokens: int | None) -> str:
    """Write a figure for people; a dash when it is not known."""
    return "-" if tokens is None else f"{tokens:,}"
