"""What the readers of stored transcripts have in common.

A transcript is a file that an app keeps for itself. It is read, never written: what comes out is neutral.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from trimtab_plugins.codecs.framing import ChatFraming
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_plugins.codecs.reading import shown
from trimtab_plugins.codecs.splicing import refuse_taken_ids
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, InvalidRequestError, Message, Originals, Repair


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a reader remembers: a sentence for each kind of thing in the file that is no part of the talk."""

    notes: tuple[str, ...] = ()


class TranscriptReader:
    """The half of a codec that is the same for every transcript; `writes` is the format of what `encode` gives."""

    writes = "neutral"
    system_anywhere = True
    binds_reasoning = False
    user_first = False

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Replace messages by neutral ones: a talk that was read goes on in the format it is written in.

        An item without an id gets one. Raises InvalidRequestError for an id that another message has.
        """
        before, after = decoded.messages[:start], decoded.messages[stop:]
        taken = {message.id for message in (*before, *after)}
        named = _named(items, ids, taken, start)
        refuse_taken_ids(named, taken, ids)
        fresh = Neutral().decode(named).messages
        if after:
            fresh = _as_history(fresh)
        elif fresh:
            before = _as_history(before)
        return replace(decoded, messages=(*before, *fresh, *after))

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Make the repairs of the neutral format, and name what the file holds beside the messages."""
        notes = originals.notes if isinstance(originals, Transcript) else ()
        adapted = Neutral().adapt(messages, None, protected=protected)
        return replace(adapted, repairs=(*adapted.repairs, *(Repair((), note) for note in notes)))

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write neutral messages: a transcript is never written back."""
        return Neutral().encode(messages)

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules for a tokenizer profile: those of Chat Completions."""
        return ChatFraming(profile)


def with_input(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Mark the user messages that a talk ends in as its input."""
    out = list(messages)
    for at in range(len(out) - 1, -1, -1):
        if out[at].role != "user" or out[at].source != "history":
            break
        out[at] = replace(out[at], source="input")
    return tuple(out)


def _as_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(
        replace(message, source="history") if message.source == "input" else message for message in messages
    )


def _named(items: Sequence[object], ids: Sequence[str], taken: Collection[str], start: int) -> list[object]:
    named: list[object] = []
    given = {*taken, *ids, *(item["id"] for item in items if isinstance(item, dict) and _has_id(item))}
    for at, item in enumerate(items):
        if not isinstance(item, dict) or _has_id(item):
            named.append(item)
            continue
        name = ids[at] if at < len(ids) else _free_id(f"m{start + at}", given)
        given.add(name)
        named.append({"id": name, **item})
    return named


def _has_id(item: Mapping[str, object]) -> bool:
    return isinstance(item.get("id"), str)


def _free_id(wanted: str, taken: Collection[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}.{number}", number + 1
    return name


def skipped(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Give the sentence that says what was passed over, none when nothing was; `counts` is kind → how many."""
    if not counts:
        return ()
    kinds = ", ".join(f"{many} {kind}" for kind, many in sorted(counts.items()))
    return (f"not part of the talk, and passed over: {kinds}",)


def only_one(records: Sequence[object], titles: Sequence[str]) -> InvalidRequestError:
    """Give the error for a file of many conversations; `titles` are theirs, empty where they have none."""
    some = [f"{at} {shown(title)}" for at, title in enumerate(titles[:5]) if title]
    listed = f" ({', '.join(some)}{' …' if len(titles) > 5 else ''})" if some else ""
    return InvalidRequestError(
        f"the input holds {len(records):,} conversations{listed}; pick one and give that alone, "
        "as the object it is in the list"
    )
