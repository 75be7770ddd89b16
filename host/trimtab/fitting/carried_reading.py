"""Reads a carried edit that was stored. It is outside data: whatever is odd about it makes it void."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from trimtab.fitting.account import Cuts, Inserted
from trimtab.fitting.carrying import CARRIED_REASONS, Carried
from trimtab.fitting.checking import MAX_INSERT_CHARS
from trimtab.fitting.digests import digest
from trimtab_sdk.edit import Span
from trimtab_sdk.errors import Origin
from trimtab_sdk.labels import labelled, labelled_source
from trimtab_sdk.messages import Message, Path, Text

VERSION = 1
_FACTS = frozenset({"strategy", "settings", "model", "codec", "pins"})
_KEYS = _FACTS | {"version", "asOf", "drop", "shorten", "inserts", "ids", "known", "until"}
_INSERT_KEYS = frozenset({"id", "text", "summary", "distribution", "version", "covers", "before"})


class MalformedError(Exception):
    """What was stored is no carried edit, or none that holds for this chat."""


class Reading:
    """Reads one stored edit.

    - `strategy` is whose edit it is; `facts` are what it must have been stored with; `now` is the chat's revision.
    - `messages` is, in order, id → the revision at which a message changed last.
    """

    def __init__(
        self, *, strategy: str, facts: Mapping[str, object], now: int, messages: Mapping[str, int]
    ) -> None:
        self._strategy = strategy
        self._facts = facts
        self._now = now
        self._messages = messages
        self._order = tuple(messages)
        self._places: Mapping[str, int] = {}
        self._as_of = -1
        self._named: list[str] = []

    def carried(self, value: object) -> Carried:
        """Give the edit. Raises MalformedError."""
        stored = _object(value, _KEYS)
        _demand(_count(stored["version"]) == VERSION)
        _demand({key: stored[key] for key in _FACTS} == self._facts)
        self._as_of = _count(stored["asOf"])
        _demand(self._as_of <= self._now)
        self._places = {name: at for at, name in enumerate(self._order)}
        drop = self._drop(stored["drop"])
        shorten = self._shorten(stored["shorten"], drop)
        inserts = self._inserts(stored["inserts"], drop)
        _demand(stored["ids"] == digest(self._named))
        known = [_text(name) for name in _list(stored["known"])]
        return Carried(drop, shorten, inserts, _count(stored["until"]), frozenset(drop).union(known))

    def _drop(self, value: object) -> dict[str, str]:
        drop: dict[str, str] = {}
        for reason, runs in _entries(value).items():
            _demand(reason in CARRIED_REASONS)
            names = self._ids(runs, others=False)
            known = len(drop)
            drop.update(dict.fromkeys(names, reason))
            _demand(len(drop) == known + len(names))
        as_of, messages = self._as_of, self._messages
        _demand(all(messages[name] <= as_of for name in drop))
        return drop

    def _ids(self, value: object, *, others: bool) -> list[str]:
        """Read runs; `others` tells whether ids of what is no message may stand among them."""
        names: list[str] = []
        runs = _list(value)
        for run in runs:
            if others and type(run) is str:
                _demand(run not in self._messages)
                names.append(run)
                continue
            found = self._run(run)
            names += found
            self._named += found
            _demand(len(names) <= len(self._order) + len(runs))
        return names

    def _run(self, value: object) -> tuple[str, ...]:
        first, size = _pair(value)
        length = _count(size)
        at = self._places.get(_text(first), -1)
        found = self._order[at : at + length] if at >= 0 else ()
        _demand(0 < len(found) == length)
        return found

    def _shorten(self, value: object, drop: Mapping[str, str]) -> dict[str, Cuts]:
        shorten: dict[str, Cuts] = {}
        for entry in _list(value):
            one, cuts = _pair(entry)
            name = _text(one)
            _demand(name not in shorten and name not in drop)
            _demand(self._messages.get(name, self._as_of + 1) <= self._as_of)
            shorten[name] = _read_cuts(cuts)
        return shorten

    def _inserts(self, value: object, drop: Mapping[str, str]) -> tuple[tuple[Inserted, str], ...]:
        found = tuple(self._insert(entry, drop) for entry in _list(value))
        _demand(len({insert.message.id for insert, _ in found}) == len(found))
        return found

    def _insert(self, value: object, drop: Mapping[str, str]) -> tuple[Inserted, str]:
        stored = _object(value, _INSERT_KEYS)
        origin = Origin(self._strategy, _text(stored["distribution"]), _text(stored["version"]))
        covers = tuple(self._ids(stored["covers"], others=True))
        _demand(len(set(covers)) == len(covers))
        _demand(all(name in drop for name in covers if name in self._messages))
        message = self._message(_text(stored["id"]), _text(stored["text"]), summary=_flag(stored["summary"]))
        return Inserted(message, origin, True, covers), _text(stored["before"])

    def _message(self, name: str, text: str, *, summary: bool) -> Message:
        """Give the message of an insert, which is nothing but a text labelled as the strategy's."""
        begin, _, end = labelled("", plugin=self._strategy, summary=summary).partition("\n\n")
        number = name.removeprefix(f"{self._strategy}:")
        _demand(name != number and number.isascii() and number.isdigit() and name not in self._messages)
        _demand(len(text) <= MAX_INSERT_CHARS + len(begin) + len(end) + 2 and _is_clean(text))
        _demand(labelled_source(text) == ("summary" if summary else "plugin"))
        _demand(text.startswith(f"{begin}\n") and text.endswith(f"\n{end}"))
        return Message(name, "system", (Text(text),), source="summary" if summary else "plugin")


def _read_cuts(value: object) -> Cuts:
    cuts: dict[Path, tuple[Span, ...]] = {}
    for entry in _list(value):
        steps, spans = _pair(entry)
        path = tuple(_count(step) for step in _list(steps))
        _demand(1 <= len(path) <= 2 and path not in cuts)
        cuts[path] = _read_spans(spans)
    _demand(bool(cuts))
    return cuts


def _read_spans(value: object) -> tuple[Span, ...]:
    spans: list[Span] = []
    end = 0
    for entry in _list(value):
        start, stop = map(_count, _pair(entry))
        _demand(end <= start < stop)
        spans.append((start, stop))
        end = stop
    return tuple(spans)


def _demand(holds: bool) -> None:
    if not holds:
        raise MalformedError


def _object(value: object, keys: Collection[str]) -> dict[str, object]:
    entries = _entries(value)
    _demand(entries.keys() == keys)
    return entries


def _entries(value: object) -> dict[str, object]:
    if type(value) is not dict:
        raise MalformedError
    return value


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise MalformedError
    return value


def _pair(value: object) -> tuple[object, object]:
    if type(value) is not list or len(value) != 2:
        raise MalformedError
    return value[0], value[1]


def _text(value: object) -> str:
    if type(value) is not str:
        raise MalformedError
    return value


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise MalformedError
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise MalformedError
    return value


def _is_clean(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)
