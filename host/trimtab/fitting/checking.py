"""A plugin's answer is outside data: this turns it into plain values of exact types, or rejects it.

The plugin keeps no hold on the result. Nothing here calls a method that a subclass could have replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from trimtab.fitting.cleaning import class_name
from trimtab_sdk.edit import AT_GAP, BEFORE_INPUT, Edit, Insert, Span
from trimtab_sdk.messages import Message, Path, texts_of

MAX_INSERTS = 64
MAX_INSERT_CHARS = 1_000_000
MAX_NOTES = 50
MAX_NOTE_CHARS = 500
MAX_REASON_CHARS = 200
_BEFORE = "before("


class BrokenAnswerError(Exception):
    """The answer broke the contract; the text says how, in the author's terms."""


@dataclass(frozen=True, slots=True)
class CheckedInsert:
    """An insert with its anchor taken apart: `kind` is at_gap, before_input or before; `target` is its message."""

    text: str
    kind: str
    target: str
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedEdit:
    """An edit made of exact built-in types. Spans that keep a whole text are gone from `shorten`."""

    drop: dict[str, str]
    shorten: dict[str, dict[Path, tuple[Span, ...]]]
    insert: tuple[CheckedInsert, ...]
    relevant: tuple[str, ...]
    notes: tuple[str, ...]


def check_answer(answer: object, messages: Mapping[str, Message], *, anchors: Collection[str]) -> CheckedEdit:
    """Check what a hook answered against the host's own messages (id → message).

    `anchors` are the ids an insert may stand in front of: these messages and those that have left.

    Raises BrokenAnswerError.
    """
    if answer is None:
        return CheckedEdit({}, {}, (), (), ())
    if type(answer) is not Edit:
        raise BrokenAnswerError(f"answered {_kind(answer)}; answer a trimtab_sdk.Edit or None")
    drop = _check_drop(answer.drop, messages)
    return CheckedEdit(
        drop=drop,
        shorten=_check_shorten(answer.shorten, messages),
        insert=_check_inserts(answer.insert, anchors, drop),
        relevant=tuple(_known_id(name, messages, "relevant") for name in _elements(answer.relevant, "relevant")),
        notes=_check_notes(answer.notes),
    )


def _check_drop(value: object, messages: Mapping[str, Message]) -> dict[str, str]:
    checked: dict[str, str] = {}
    read: dict[str, str] = {}
    for key, reason in _items(value, "drop"):
        known = read.get(reason) if type(reason) is str else None
        if known is None:
            known = _text(reason, "a reason in drop", MAX_REASON_CHARS)
            read[known] = known
        checked[_known_id(key, messages, "drop")] = known
    return checked


def _check_shorten(value: object, messages: Mapping[str, Message]) -> dict[str, dict[Path, tuple[Span, ...]]]:
    checked: dict[str, dict[Path, tuple[Span, ...]]] = {}
    known: dict[str, dict[Path, str]] = {}
    for key, spans in _items(value, "shorten"):
        if type(key) is not tuple or len(key) != 2:
            raise BrokenAnswerError(f"shorten has the key {_kind(key)}; keys are (id, path)")
        name = _known_id(key[0], messages, "shorten")
        path = _check_path(key[1], name)
        texts = known.get(name) or known.setdefault(name, dict(texts_of(messages[name])))
        if path not in texts:
            raise BrokenAnswerError(
                f"shorten names the path {path} of {name!r}, where no text stands; only texts and "
                "tool-result texts can be shortened"
            )
        kept = _check_spans(spans, len(texts[path]), name)
        if kept != ((0, len(texts[path])),):
            checked.setdefault(name, {})[path] = kept
    return checked


def _check_path(value: object, name: str) -> Path:
    if type(value) is not tuple or not 1 <= len(value) <= 2 or any(type(step) is not int for step in value):
        raise BrokenAnswerError(f"shorten has the path {_kind(value)} for {name!r}; a path is (2,) or (2, 0)")
    return value


def _check_spans(value: object, length: int, name: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    end = 0
    for span in _elements(value, f"the spans of {name!r}"):
        start, stop = _check_span(span, name)
        if not end <= start < stop <= length:
            raise BrokenAnswerError(
                f"the spans of {name!r} overlap, run backwards, are empty or end behind the text of {length}"
            )
        if spans and start == end:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
        end = stop
    return tuple(spans)


def _check_span(value: object, name: str) -> Span:
    if type(value) is not tuple and type(value) is not list:
        raise BrokenAnswerError(f"a span of {name!r} is {_kind(value)}; a span is (start, end)")
    ends = _elements(value, f"a span of {name!r}")
    if len(ends) != 2 or type(ends[0]) is not int or type(ends[1]) is not int:
        raise BrokenAnswerError(f"a span of {name!r} is no pair of whole numbers")
    return ends[0], ends[1]


def _check_inserts(value: object, anchors: Collection[str], drop: Mapping[str, str]) -> tuple[CheckedInsert, ...]:
    inserts = _elements(value, "insert")
    if len(inserts) > MAX_INSERTS:
        raise BrokenAnswerError(f"answered {len(inserts)} inserts; at most {MAX_INSERTS} are allowed")
    return tuple(_check_insert(insert, anchors, drop) for insert in inserts)


def _check_insert(value: object, anchors: Collection[str], drop: Mapping[str, str]) -> CheckedInsert:
    if type(value) is not Insert:
        raise BrokenAnswerError(f"an insert is {_kind(value)}; make it with trimtab_sdk.Insert")
    text = _text(value.text, "the text of an insert", MAX_INSERT_CHARS)
    if not text.strip():
        raise BrokenAnswerError("an insert has an empty text")
    named = [_known_id(name, anchors, "covers") for name in _elements(value.covers, "covers")]
    covers = tuple(dict.fromkeys(named))
    if any(name not in drop for name in covers):
        raise BrokenAnswerError("an insert covers a message that the edit does not drop")
    kind, target = _check_anchor(value.anchor, anchors)
    return CheckedInsert(text, kind, target, covers)


def _check_anchor(value: object, anchors: Collection[str]) -> tuple[str, str]:
    if type(value) is str:
        if value in (AT_GAP, BEFORE_INPUT):
            return value, ""
        if value.startswith(_BEFORE) and value.endswith(")"):
            return "before", _known_id(value[len(_BEFORE) : -1], anchors, "an anchor")
    raise BrokenAnswerError(f"an anchor is {_kind(value)}; it is AT_GAP, BEFORE_INPUT or before(id)")


def _check_notes(value: object) -> tuple[str, ...]:
    notes = _elements(value, "notes")
    if len(notes) > MAX_NOTES:
        raise BrokenAnswerError(f"answered {len(notes)} notes; at most {MAX_NOTES} are allowed")
    return tuple(_text(note, "a note", MAX_INSERT_CHARS)[:MAX_NOTE_CHARS] for note in notes)


def _items(value: object, what: str) -> list[tuple[object, object]]:
    if type(value) is not dict:
        raise BrokenAnswerError(f"{what} is {_kind(value)}; it must be a dict")
    return list(dict.items(value))


def _elements(value: object, what: str) -> list[object]:
    if type(value) is list:
        return list.copy(value)
    if type(value) is tuple:
        return list(value)
    raise BrokenAnswerError(f"{what} is {_kind(value)}; it must be a list or a tuple")


def _known_id(value: object, known: Collection[str], where: str) -> str:
    if type(value) is not str:
        raise BrokenAnswerError(f"{where} names {_kind(value)}; ids are texts")
    if value not in known:
        raise BrokenAnswerError(f"{where} names {value[:80]!a}, which is no message of the request")
    return value


def _text(value: object, what: str, most: int) -> str:
    if type(value) is not str:
        raise BrokenAnswerError(f"{what} is {_kind(value)}; it must be a text")
    if len(value) > most:
        raise BrokenAnswerError(f"{what} has {len(value)} characters; at most {most} are allowed")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BrokenAnswerError(f"{what} holds a lone surrogate") from None
    return value


def _kind(value: object) -> str:
    return f"a {class_name(value)}"
