"""The carried edit as JSON, to be stored with a chat, and back.

    {"version": 1, "asOf": 12, "strategy": …, "settings": …, "model": …, "codec": …, "pins": …,
     "drop": {"context-shift": [["m1", 40], ["m43", 1]]}, "ids": …, "known": ["m41"], "until": 50,
     "shorten": [["m42", [[[0], [[0, 400]]]]]],
     "inserts": [{"id": "summarize:1", "text": …, "summary": true, "distribution": …, "version": …,
                  "covers": [["m1", 40]], "before": "m44"}]}

A run `["m1", 40]` is a message and those behind it in the chat, 40 in all. `ids` is a digest of all ids that runs
stand for, so that a run never comes to mean other messages. `settings` and `pins` are digests too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.fitting.account import Cuts, Inserted
from trimtab.fitting.carried_reading import VERSION, MalformedError, Reading
from trimtab.fitting.carrying import Carried
from trimtab.fitting.digests import digest
from trimtab.fitting.job import Setup
from trimtab_sdk.messages import plain_text


@dataclass(frozen=True, slots=True)
class CarriedFacts:
    """What a carried edit holds for: under another strategy, model, codec or other pins it is void.

    `as_of` is the revision of the chat: the one the edit is stored with, or the one it is read at.
    """

    strategy: str
    settings: Mapping[str, object] = field(hash=False)
    model: str
    codec: str
    pins: frozenset[str]
    as_of: int

    def to_dict(self) -> dict[str, object]:
        """Give the facts that must be the same, as JSON values."""
        return {
            "strategy": self.strategy,
            "settings": digest(dict(self.settings)),
            "model": self.model,
            "codec": self.codec,
            "pins": digest(sorted(self.pins)),
        }


def facts_of(setup: Setup, *, pins: Collection[str], as_of: int) -> CarriedFacts:
    """Give what an edit of fits under `setup` holds for; `pins` are the ids of all pinned messages."""
    strategy = setup.strategy.plugin.origin.plugin
    return CarriedFacts(strategy, setup.strategy.settings, setup.model, setup.codec.name, frozenset(pins), as_of)


def dump_carried(carried: Carried, *, facts: CarriedFacts, ids: Sequence[str]) -> dict[str, object]:
    """Give a carried edit as JSON values; `ids` are those of all messages of the chat, in order."""
    runs = _Runs(ids)
    return {
        "version": VERSION,
        "asOf": facts.as_of,
        **facts.to_dict(),
        "drop": {reason: runs.write(runs.in_order(names)) for reason, names in _by_reason(carried.drop).items()},
        "shorten": [[name, _write_cuts(cuts)] for name, cuts in carried.shorten.items()],
        "inserts": [_write_insert(insert, before, runs) for insert, before in carried.inserts],
        "ids": digest(runs.named),
        "known": sorted(carried.known - carried.drop.keys()),
        "until": carried.until,
    }


def load_carried(value: object, *, facts: CarriedFacts, messages: Mapping[str, int]) -> Carried | None:
    """Give a carried edit back, or None when it is malformed or holds no more. Nothing of it is believed.

    - `facts` are those of now: `as_of` is the revision that the chat is at.
    - `messages` is, in order, the id of each message → the revision of the chat at which it changed last.

    It holds no more when the facts differ, and when a message that left, was cut or is told of by a summary is
    gone or was changed after the edit was stored. A void edit costs one call of the strategy.
    """
    reading = Reading(strategy=facts.strategy, facts=facts.to_dict(), now=facts.as_of, messages=messages)
    try:
        return reading.carried(value)
    except MalformedError:
        return None


class _Runs:
    """Writes ids as runs. `named` are the ids that stand in runs so far."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._places = {name: at for at, name in enumerate(ids)}
        self.named: list[str] = []

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Give ids of messages in the order of the chat."""
        return sorted(names, key=self._places.__getitem__)

    def write(self, names: Iterable[str]) -> list[object]:
        """Give ids as they follow each other; what is no message, as an earlier summary, stands as a text."""
        runs: list[object] = []
        first, size, expected = "", 0, -1
        for name in names:
            at = self._places.get(name, -1)
            if at >= 0:
                self.named.append(name)
            if at >= 0 and at == expected:
                size, expected = size + 1, at + 1
                continue
            runs += [[first, size]] if size else []
            first, size, expected = (name, 1, at + 1) if at >= 0 else ("", 0, -1)
            runs += [] if size else [name]
        return [*runs, [first, size]] if size else runs


def _by_reason(drop: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in drop.items():
        found.setdefault(reason, []).append(name)
    return found


def _write_cuts(cuts: Cuts) -> list[object]:
    return [[list(path), [list(span) for span in spans]] for path, spans in cuts.items()]


def _write_insert(insert: Inserted, before: str, runs: _Runs) -> dict[str, object]:
    return {
        "id": insert.message.id,
        "text": plain_text(insert.message),
        "summary": insert.message.source == "summary",
        "distribution": insert.origin.distribution,
        "version": insert.origin.version,
        "covers": runs.write(insert.covers),
        "before": before,
    }
