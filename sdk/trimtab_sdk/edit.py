"""What a plugin answers: ids to drop, spans to keep, texts to insert. Never messages.

The host rebuilds the context from its own originals, so an edit cannot express an altered, forged or doubled
message. Whatever it does say is checked first and used second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from trimtab_sdk.messages import Path

Span: TypeAlias = tuple[int, int]
"""Start and end of a piece of text to keep, in code points of the original; the end is not part of it."""

Anchor: TypeAlias = str
"""Where an insert goes: `at_gap`, `before_input`, or `before(ID)` as `before("ID")` makes it."""

AT_GAP: Anchor = "at_gap"
BEFORE_INPUT: Anchor = "before_input"
MARKER = "[…]"
"""What the host writes where it cut a text; it is counted like any other text."""


def before(message_id: str) -> Anchor:
    """Give the anchor in front of a message. When that message leaves, the anchor is where it stood."""
    return f"before({message_id})"


@dataclass(frozen=True, slots=True)
class Insert:
    """A text of the plugin's own for the model.

    The host moves it to the nearest place that no group spans, behind the protected head, and labels it with
    the plugin's name. `covers` names dropped messages this text stands for: it makes the insert a summary.
    """

    text: str
    anchor: Anchor = AT_GAP
    covers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to the context. An empty edit changes nothing; so does None.

    - `drop`: id → reason. The rest of the group leaves too. Use the reasons of the report where they fit
      (`context-shift`, `running-turn`, `low-relevance`, `summarized`); any other word becomes a note.
    - `shorten`: (id, path) → spans to keep, ascending and apart from each other. Only texts and tool-result
      texts can be shortened.
    - `insert`: texts to add; their cost is limited to a share of the budget.
    - `relevant`: ids that stay because they matter to the current input, for the report.
    - `notes`: remarks for the report.
    """

    drop: Mapping[str, str] = field(default_factory=dict)
    shorten: Mapping[tuple[str, Path], Sequence[Span]] = field(default_factory=dict)
    insert: Sequence[Insert] = ()
    relevant: Sequence[str] = ()
    notes: Sequence[str] = ()


def keep_spans(text: str, spans: Sequence[Span]) -> str:
    """Give what the host makes of `text` when only `spans` are kept: the pieces, with a marker for each cut."""
    pieces: list[str] = []
    end = 0
    for start, stop in spans:
        if start > end:
            pieces.append(MARKER)
        pieces.append(text[start:stop])
        end = stop
    if end < len(text):
        pieces.append(MARKER)
    return "".join(pieces)
