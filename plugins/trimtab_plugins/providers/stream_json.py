"""Reading of the JSON of a stream: what a server sends is outside data, in pieces that may be cut anywhere."""

from __future__ import annotations

import json
import math
from typing import TypeAlias

from trimtab_sdk import Fault, ProviderFaultError

JsonObject: TypeAlias = dict[str, object]

MOST_LEVELS = 64
"""How deep the values of an event may be nested; what is deeper could not be stored and sent again."""


class Pieces:
    """A text that arrives in pieces. A character that is cut in two between them is put together again."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.size = 0
        self._half = ""

    def __bool__(self) -> bool:
        return self.size > 0

    def take(self, piece: str) -> str:
        """Take the next piece; give what can be told of it now."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return self._keep(text.removesuffix(self._half))

    def close(self) -> str:
        """Take the text as it is; give what was held back of it."""
        rest, self._half = self._half, ""
        return self._keep(rest)

    def text(self) -> str:
        """Give all that was told so far."""
        return "".join(self.told)

    def _keep(self, text: str) -> str:
        told = without_surrogates(text)
        self.told.append(told)
        self.size += len(told)
        return told


class ObjectEnd:
    """Finds the end of a JSON object that arrives in pieces; it looks at each character once."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._seen = 0
        self._open = 0
        self._begun = self._in_text = self._escaped = False

    def reached(self) -> bool:
        """Tell whether the object has ended with the pieces there are."""
        for piece in self._pieces.told[self._seen :]:
            for mark in piece:
                self._look(mark)
        self._seen = len(self._pieces.told)
        return self._begun and self._open == 0

    def _look(self, mark: str) -> None:
        if self._in_text:
            self._in_text = self._escaped or mark != '"'
            self._escaped = mark == "\\" and not self._escaped
        elif mark == '"':
            self._in_text = True
        elif mark in "{[":
            self._open, self._begun = self._open + 1, True
        elif mark in "}]":
            self._open -= 1


def without_surrogates(text: str) -> str:
    """Give a text that can be written as UTF-8: halves of a character are joined, lone ones become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def bad_response() -> ProviderFaultError:
    """Give the error of an event that is not what the wire says."""
    return ProviderFaultError(Fault(code="PROVIDER_BAD_RESPONSE"))


def read_event(data: str) -> JsonObject:
    """Give the object that an event holds. Numbers that JSON does not have become null."""
    try:
        value = json.loads(data, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise bad_response() from error
    if not isinstance(value, dict) or _is_too_deep(value):
        raise bad_response()
    return value


def object_at(holder: JsonObject, key: str) -> JsonObject:
    """Give the object at a key, an empty one for nothing."""
    value = holder.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_response()
    return value


def list_at(holder: JsonObject, key: str) -> list[object]:
    """Give the list at a key, an empty one for nothing."""
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_response()
    return value


def text_at(holder: JsonObject, key: str) -> str:
    """Give the text at a key, an empty one for nothing."""
    value = holder.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad_response()
    return value


def merged(old: object, new: object) -> object:
    """Join what two events say under a key that is not known here.

    Objects are joined key by key and lists one after the other. A text goes on, unless the server repeats it.
    Of everything else the later one stands.
    """
    if new is None:
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *map(cleaned, new)]
    if isinstance(old, str) and isinstance(new, str):
        return old if old == new else without_surrogates(old + new)
    return cleaned(new)


def cleaned(value: object) -> object:
    """Give a JSON value whose texts can all be written as UTF-8."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [cleaned(one) for one in value]
    if isinstance(value, dict):
        return {without_surrogates(key): cleaned(one) for key, one in value.items()}
    return value


def _no_number(name: str) -> None:
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _is_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[object]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in inner if isinstance(one, dict | list)]
