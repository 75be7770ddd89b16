"""Draw what each built-in strategy does to an example, as `docs/strategies/NAME.svg`.

    python scripts/draw_strategies.py

The upper row is the conversation, the lower one the request. A message is a bar; its width stands for its tokens.
The counts must be exact, so the extra `exact` is needed. The same code gives the same files, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

import trimtab
from trimtab.cli.window import PROTECTED
from trimtab.loading import installed

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/neutral-story.json"
MODEL = "gpt-4o"
LIMIT = 2800
SETTINGS: Mapping[str, Mapping[str, object]] = {"truncate": {"shorten_messages": True}}
"""Strategy → the settings it is drawn with; the others are drawn without any."""

WIDTH = 760
MARGIN = 20
ROW_HEIGHT = 46
TOP_ROW = 78
LOWER_ROW = 164
LEGEND = 204
LINE = 22


@dataclass(frozen=True, slots=True)
class Kind:
    """What became of a message: how that is called and drawn. Hollow bars are not sent."""

    name: str
    height: int
    light: str
    dark: str
    hollow: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A message in the picture: `share` of it, from 0 to 1, is sent."""

    label: str
    tokens: int
    kind: Kind
    share: float = 1.0


PROTECTED_KIND = Kind("protected", 46, "#0969da", "#58a6ff")
KEPT = Kind("kept", 34, "#1a7f37", "#3fb950")
RELEVANT = Kind("kept as relevant", 40, "#1b7c83", "#39c5cf")
SHORTENED = Kind("shortened", 34, "#9a6700", "#d29922")
INSERTED = Kind("inserted", 46, "#8250df", "#bc8cff")
LEFT = Kind("left out", 22, "#6e7781", "#8b949e", hollow=True)
SUMMARIZED = Kind("told in the summary", 22, "#8250df", "#bc8cff", hollow=True)
IRRELEVANT = Kind("left out as not relevant", 22, "#1b7c83", "#39c5cf", hollow=True)
BY_HAND = Kind("taken out by hand", 22, "#cf222e", "#f85149", hollow=True, dashed=True)
KINDS = (PROTECTED_KIND, KEPT, RELEVANT, SHORTENED, INSERTED, SUMMARIZED, IRRELEVANT, LEFT, BY_HAND)
BY_REASON = {
    "recent": KEPT,
    "relevant": RELEVANT,
    "summarized": SUMMARIZED,
    "low-relevance": IRRELEVANT,
    "manual": BY_HAND,
}
"""The reasons of the report that are drawn in a way of their own."""


def main() -> None:
    """Draw the pictures and say where they are."""
    parser = argparse.ArgumentParser(description="Draw what each built-in strategy does to an example.")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "strategies", help="the folder to write to")
    folder: Path = parser.parse_args().output
    for name in built_in():
        fit = fitted(name)
        if fit.tokenizer.approximate:
            sys.exit("the counts are approximate, so the pictures would be others; install the extra `exact`")
        path = folder / f"{name}.svg"
        path.write_text(draw(name, fit), encoding="utf-8", newline="\n")
        print(path)


def built_in() -> list[str]:
    """Give the names of the strategies that Trimtab itself brings."""
    return [row.name for row in installed("trimtab.strategies") if row.trust == "built-in"]


def fitted(strategy: str) -> trimtab.Fit:
    """Fit the example."""
    messages = json.loads((ROOT / EXAMPLE).read_text(encoding="utf-8"))
    return trimtab.fit(
        messages,
        model=MODEL,
        context_limit=LIMIT,
        strategy=strategy,
        settings=SETTINGS.get(strategy),
        format="neutral",
    )


def draw(name: str, fit: trimtab.Fit) -> str:
    """Give the text of the picture."""
    before, after = conversation(fit), request(fit)
    scale = (WIDTH - 2 * MARGIN) / max(sum(bar.tokens for bar in before), fit.budget.available)
    keys = [line for kind in KINDS for line in legend_line(kind, before, after)]
    height = LEGEND + LINE * -(-len(keys) // 2) - LINE // 2 + 4
    above = f"the conversation: {len(before)} messages, {fit.tokens_before:,} tokens"
    below = f"the request: {fit.tokens_after:,} of {fit.budget.available:,} tokens"
    description = f"{above}; {below}. {'; '.join(text for _, text in keys)}."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">What the strategy {escape(name)} does to a conversation</title>',
        f'<desc id="{name}-desc">{escape(description)}</desc>',
        style(),
        text(MARGIN, TOP_ROW - ROW_HEIGHT - 8, above),
        *row(before, scale, TOP_ROW),
        text(MARGIN, LOWER_ROW - ROW_HEIGHT - 8, below),
        *row(after, scale, LOWER_ROW),
        *budget_mark(fit, scale),
        *legend(keys),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def conversation(fit: trimtab.Fit) -> list[Bar]:
    """Give the bars of the input, in order, whole."""
    entries = sorted([*fit.kept, *fit.excluded, *fit.truncated], key=lambda entry: entry.index or 0)
    return [bar_of(entry, entry.original_tokens or entry.tokens) for entry in entries]


def request(fit: trimtab.Fit) -> list[Bar]:
    """Give the bars of what is sent, in order."""
    entries = {entry.id: entry for entry in (*fit.kept, *fit.truncated, *fit.inserted)}
    sent = [message["id"] for message in fit.messages if isinstance(message, dict)]
    return [bar_of(entries[name], entries[name].tokens) for name in sent]


def bar_of(entry: trimtab.Entry, tokens: int) -> Bar:
    """Give the bar of an entry; `tokens` is what it stands for."""
    kind = kind_of(entry)
    label = f"{entry.id}, {entry.role}, {tokens:,} tokens: {kind.name} ({entry.reason})"
    return Bar(label, tokens, kind, entry.tokens / tokens)


def kind_of(entry: trimtab.Entry) -> Kind:
    """Tell what became of a message by its reason in the report."""
    if entry.index is None:
        return INSERTED
    if entry.original_tokens is not None:
        return SHORTENED
    if entry.reason in PROTECTED:
        return PROTECTED_KIND
    return BY_REASON.get(entry.reason, LEFT)


def row(bars: Iterable[Bar], scale: float, bottom: int) -> Iterator[str]:
    """Draw bars side by side, standing on one line; of a bar that is sent in part the rest is hollow."""
    x = float(MARGIN)
    for bar in bars:
        full = bar.tokens * scale
        width = full * bar.share
        yield rectangle(x, bottom, width, bar.kind, bar.label)
        if bar.share < 1:
            yield rectangle(x + width, bottom, full - width, LEFT, bar.label)
        x += full


def rectangle(x: float, bottom: int, width: float, kind: Kind, label: str) -> str:
    """Draw one bar; the outline of a hollow one lies inside."""
    inset = 0.5 if kind.hollow else 0.0
    shown = max(1.0, width - 1)
    return (
        f'<rect class="{css_class(kind)}" x="{x + inset:.2f}" y="{bottom - kind.height + inset:g}" '
        f'width="{max(0.5, shown - 2 * inset):.2f}" height="{kind.height - 2 * inset:g}">'
        f"<title>{escape(label)}</title></rect>"
    )


def budget_mark(fit: trimtab.Fit, scale: float) -> list[str]:
    """Draw where the budget ends, beside the lower row."""
    x = MARGIN + (fit.budget.available - fit.overhead) * scale
    return [
        f'<line class="edge" x1="{x:.2f}" y1="{LOWER_ROW - ROW_HEIGHT - 4}" x2="{x:.2f}" y2="{LOWER_ROW + 6}"/>',
        text(x + 6, LOWER_ROW - 4, f"budget {fit.budget.available:,}"),
    ]


def legend_line(kind: Kind, before: Sequence[Bar], after: Sequence[Bar]) -> list[tuple[Kind, str]]:
    """Give the key of a kind with its figures, nothing where no message is of that kind."""
    bars = [bar for bar in (after if kind is INSERTED else before) if bar.kind is kind]
    if not bars:
        return []
    many = "1 message" if len(bars) == 1 else f"{len(bars)} messages"
    whole = sum(bar.tokens for bar in bars)
    if kind is SHORTENED:
        now = sum(round(bar.tokens * bar.share) for bar in bars)
        return [(kind, f"{kind.name}: {many}, {whole:,} to {now:,} tokens")]
    return [(kind, f"{kind.name}: {many}, {whole:,} tokens")]


def legend(keys: Sequence[tuple[Kind, str]]) -> Iterator[str]:
    """Draw the keys in two columns."""
    for at, (kind, words) in enumerate(keys):
        x = MARGIN + at % 2 * (WIDTH // 2 - MARGIN)
        y = LEGEND + at // 2 * LINE
        yield rectangle(x, y + 2, 18, replace(kind, height=14), words)
        yield text(x + 26, y, words)


def text(x: float, y: float, words: str) -> str:
    """Draw a line of text that ends above `y`."""
    return f'<text x="{x:g}" y="{y:g}">{escape(words)}</text>'


def style() -> str:
    """Give the colours for light and for dark surroundings."""
    light = "".join(f".{css_class(kind)}{{{paint(kind, kind.light)}}}" for kind in KINDS)
    dark = "".join(f".{css_class(kind)}{{{paint(kind, kind.dark)}}}" for kind in KINDS)
    return (
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2328}.edge{stroke:#1f2328}"
        f"{light}@media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}.edge{{stroke:#e6edf3}}{dark}}}</style>"
    )


def paint(kind: Kind, colour: str) -> str:
    """Give the declarations that fill a bar, or outline a hollow one."""
    if not kind.hollow:
        return f"fill:{colour}"
    dashes = ";stroke-dasharray:2 2" if kind.dashed else ""
    return f"fill:none;stroke:{colour}{dashes}"


def css_class(kind: Kind) -> str:
    """Give the name of a kind in the style sheet."""
    return kind.name.replace(" ", "-")


if __name__ == "__main__":
    main()
