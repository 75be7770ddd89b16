"""Parts of messages from another wire that have no place on this one, and the words that say so."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from trimtab_plugins.codecs.message_kinds import is_plain
from trimtab_plugins.codecs.reading import shown
from trimtab_sdk import ContentPart, File, Message, Repair, Text, Unknown

REASONING = "left out the reasoning, which only the wire it came from can take back"
COMPACTION = "left out what a provider compacted, which only that provider can read"


class Cleared(NamedTuple):
    """A message that this wire can hold, and a sentence for each kind of thing that was taken out."""

    message: Message
    sentences: tuple[str, ...] = ()


def clear_all(
    messages: Sequence[Message], known: Container[str], clear: Callable[[Message], Cleared]
) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
    """Give the messages whose ids are not `known` cleared, all others as they are, and a repair for each sentence.

    One text without a name has a place on every wire, so `clear` is not asked about such a message.
    """
    out = list(messages)
    touched: dict[str, list[str]] = {}
    for at, message in enumerate(messages):
        if message.id in known or (message.name is None and is_plain(message)):
            continue
        out[at], sentences = clear(message)
        for sentence in sentences:
            touched.setdefault(sentence, []).append(message.id)
    return tuple(out), tuple(Repair(tuple(ids), sentence) for sentence, ids in touched.items())


def stand_in(part: ContentPart) -> Text:
    """Give the text that takes the place of a part."""
    named = f"file {shown(part.name)}" if isinstance(part, File) and part.name else kind_of(part)
    return Text(f"[{named} left out]")


def stand_in_sentence(part: ContentPart, role: str) -> str:
    """Give the sentence for a part that gave way to a text in a message of a role."""
    article = "an" if role == "assistant" else "a"
    return f"put a text in place of {kind_of(part)}, for which {article} {role} message has no place"


def kind_of(part: ContentPart) -> str:
    """Give the word for a part; an unknown one has that of its type."""
    if not isinstance(part, Unknown):
        return type(part).__name__.lower()
    kind = part.raw.get("type") if isinstance(part.raw, dict) else None
    return shown(kind) if isinstance(kind, str) and kind else "part"
