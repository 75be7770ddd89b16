"""A plugin's answer as JSON values. The host checks what comes out; this only says it in frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from trimtab_sdk.edit import Edit, Insert
from trimtab_sdk.request import Traits

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def answer_values(answer: object) -> dict[str, object]:
    """Give an answer as `{"edit": …}`, or as `{"wrong": …}` with the reason why it is none."""
    if answer is None:
        return {"edit": None}
    if type(answer) is not Edit:
        return {"wrong": f"answered a {type(answer).__name__[:80]}; answer a trimtab_sdk.Edit or None"}
    try:
        return {"edit": _edit_values(answer)}
    except Exception as error:
        return {"wrong": f"answered an Edit that no frame can carry ({type(error).__name__}: {str(error)[:200]})"}


def traits_values(traits: Traits) -> dict[str, object]:
    """Give traits as JSON values."""
    schema = traits.settings_schema
    return {
        "settings_schema": None if schema is None else dict(schema),
        "per_turn": traits.per_turn,
        "needs": list(traits.needs),
    }


def _edit_values(edit: Edit) -> dict[str, object]:
    return {
        "drop": _keyed(edit.drop),
        "shorten": [
            {"id": name, "path": list(path), "keep": [list(span) for span in spans]}
            for (name, path), spans in _plain(edit.shorten, "shorten").items()
        ],
        "insert": [_insert_values(insert) for insert in _listed(edit.insert)],
        "relevant": _listed(edit.relevant),
        "notes": _listed(edit.notes),
    }


def _insert_values(insert: object) -> dict[str, object]:
    if type(insert) is not Insert:
        raise TypeError(f"an insert is a {type(insert).__name__[:80]}; make it with trimtab_sdk.Insert")
    return {"text": insert.text, "anchor": insert.anchor, "covers": _listed(insert.covers)}


def _keyed(value: Mapping[str, str]) -> dict[str, str]:
    drop = _plain(value, "drop")
    # json would turn a number that is a key into a text.
    if any(type(key) is not str for key in drop):
        raise TypeError("drop names something that is no text; ids are texts")
    return drop


def _plain(value: Mapping[_Key, _Value], what: str) -> dict[_Key, _Value]:
    if type(value) is not dict:
        raise TypeError(f"{what} is a {type(value).__name__[:80]}; it must be a dict")
    return value


def _listed(value: Sequence[object]) -> list[object]:
    if type(value) is not list and type(value) is not tuple:
        raise TypeError(f"a {type(value).__name__[:80]} stands where a list or a tuple must")
    return list(value)
