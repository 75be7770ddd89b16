"""Tables that keep their figures whole when the terminal is narrow, and stay quick when they are long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

MESSAGE = "message"
ID = "id"
_FIGURES = frozenset({"#", "tokens", "context", "max input", "max output"})
_ROOMY = 80
_LEAST_ID = 5
_LEAST_MESSAGE = 11
_WIDEST_ID = 40


def print_table(console: Console, columns: Mapping[str, Sequence[str]], *, width: int | None = None) -> None:
    """Print name → cells, all columns of one length, in lines of `width` cells, the console's by default.

    The message column takes what the others leave, the id column shrinks and then goes; the others keep their
    width, whatever becomes of the line.
    """
    width = console.width if width is None else width
    header, *rows = _lines(columns, width, plain=console.options.ascii_only)
    console.out(header, style="bold", highlight=False)
    if rows:
        console.out("\n".join(rows), highlight=False)


def _lines(columns: Mapping[str, Sequence[str]], width: int, *, plain: bool) -> Iterator[str]:
    from rich.cells import cell_len

    gap = 2 if width >= _ROOMY else 1
    natural = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    widths = _widths(natural, width, gap)
    for row in zip(*((name, *columns[name]) for name in widths), strict=True):
        cells = (
            _fitted(cell, room, right=name in _FIGURES, ellipsis="" if plain else "…")
            for cell, (name, room) in zip(row, widths.items(), strict=True)
        )
        yield (" " * gap).join(cells).rstrip()


def _widths(natural: dict[str, int], width: int, gap: int) -> dict[str, int]:
    if MESSAGE not in natural:
        return natural
    widths = dict(natural)
    rest = width - sum(natural[name] + gap for name in natural if name not in (MESSAGE, ID))
    if ID not in natural or rest < _LEAST_ID + gap + _LEAST_MESSAGE:
        widths.pop(ID, None)
    else:
        widths[ID] = min(natural[ID], _WIDEST_ID, max(_LEAST_ID, (rest - gap) * 2 // 5))
        rest -= widths[ID] + gap
    widths[MESSAGE] = max(1, min(natural[MESSAGE], rest))
    return widths


def _fitted(cell: str, room: int, *, right: bool, ellipsis: str) -> str:
    from rich.cells import cell_len, set_cell_size

    size = cell_len(cell)
    if size > room:
        return set_cell_size(cell, room - len(ellipsis)) + ellipsis
    blanks = " " * (room - size)
    return blanks + cell if right else cell + blanks
