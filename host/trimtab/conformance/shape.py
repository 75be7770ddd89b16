"""Whether an answer is an edit made of plain values: exact types, texts that can be encoded, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab_sdk.edit import Edit, Insert


def shape_faults(answer: object) -> Iterator[str]:
    """Tell what in an answer is not of the type that the contract names."""
    if answer is None:
        return
    if type(answer) is not Edit:
        yield f"answered {_kind(answer)}, not a trimtab_sdk.Edit or None"
        return
    yield from _drop_faults(answer.drop)
    yield from _shorten_faults(answer.shorten)
    yield from _insert_faults(answer.insert)
    yield from _texts_faults(answer.relevant, "relevant")
    yield from _texts_faults(answer.notes, "notes")


def _drop_faults(drop: object) -> Iterator[str]:
    if type(drop) is not dict:
        yield f"drop is {_kind(drop)}, not a dict of id → reason"
        return
    for key, reason in dict.items(drop):
        yield from _text_faults(key, "an id in drop")
        yield from _text_faults(reason, "a reason in drop")


def _shorten_faults(shorten: object) -> Iterator[str]:
    if type(shorten) is not dict:
        yield f"shorten is {_kind(shorten)}, not a dict of (id, path) → spans"
        return
    for key, spans in dict.items(shorten):
        if type(key) is not tuple or len(key) != 2:
            yield f"a key of shorten is {_kind(key)}, not (id, path)"
            continue
        yield from _text_faults(key[0], "an id in shorten")
        yield from _path_faults(key[1])
        yield from _spans_faults(spans)


def _path_faults(path: object) -> Iterator[str]:
    if type(path) is not tuple or not 1 <= len(path) <= 2 or any(type(step) is not int for step in path):
        yield f"a path in shorten is {path!r:.80}, not a tuple such as (2,) or (2, 0)"


def _spans_faults(spans: object) -> Iterator[str]:
    if not _is_listed(spans):
        yield f"the spans in shorten are {_kind(spans)}, not a list"
        return
    for span in _elements(spans):
        ends = _elements(span) if _is_listed(span) else []
        if len(ends) != 2 or any(type(end) is not int for end in ends):
            yield f"a span in shorten is {span!r:.80}, not (start, end) in whole numbers"


def _insert_faults(inserts: object) -> Iterator[str]:
    if not _is_listed(inserts):
        yield f"insert is {_kind(inserts)}, not a list"
        return
    for insert in _elements(inserts):
        if type(insert) is not Insert:
            yield f"an insert is {_kind(insert)}, not a trimtab_sdk.Insert"
            continue
        yield from _text_faults(insert.text, "the text of an insert")
        yield from _text_faults(insert.anchor, "the anchor of an insert")
        yield from _texts_faults(insert.covers, "the covers of an insert")


def _texts_faults(texts: object, what: str) -> Iterator[str]:
    if not _is_listed(texts):
        yield f"{what} is {_kind(texts)}, not a list of texts"
        return
    for text in _elements(texts):
        yield from _text_faults(text, f"an element of {what}")


def _text_faults(text: object, what: str) -> Iterator[str]:
    if type(text) is not str:
        yield f"{what} is {_kind(text)}, not a text"
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        yield f"{what} holds half a surrogate pair, which no JSON can carry"


def _is_listed(value: object) -> bool:
    return type(value) is list or type(value) is tuple


def _elements(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _kind(value: object) -> str:
    return f"a {type(value).__name__[:80]}"
