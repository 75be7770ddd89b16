"""The list `reasoning_details` of a stream: pieces of a text are joined, and what is sealed stays as it came."""

from __future__ import annotations

from trimtab_plugins.providers.stream_json import JsonObject, Pieces, bad_response, cleaned, text_at

_TEXTS = ("text", "summary")
_SEALS = ("data", "signature")


class OpenDetails:
    """The details of one answer as far as they have come."""

    def __init__(self) -> None:
        self._open: list[_OpenDetail] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def take(self, raw: object) -> str:
        """Take a detail, or more of the last one; give what can be read in it."""
        if not isinstance(raw, dict):
            raise bad_response()
        for key in _SEALS:
            text_at(raw, key)
        if not self._open or not self._open[-1].goes_on_with(raw):
            self._open.append(_OpenDetail())
        return self._open[-1].take(raw)

    def items(self) -> list[object]:
        """Give the details as they go into a message."""
        return [detail.item() for detail in self._open]


class _OpenDetail:
    def __init__(self) -> None:
        self._fields: JsonObject = {}
        self._texts: dict[str, Pieces] = {}

    def goes_on_with(self, raw: JsonObject) -> bool:
        readable = raw.get("type") in ("reasoning.text", "reasoning.summary")
        return readable and all(self._fields.get(key) == raw.get(key) for key in ("type", "index"))

    def take(self, raw: JsonObject) -> str:
        told = [self._take_text(key, text_at(raw, key)) for key in _TEXTS if raw.get(key) is not None]
        later = {key: cleaned(value) for key, value in raw.items() if key not in self._texts}
        self._fields |= {
            key: value for key, value in later.items() if value is not None or key not in self._fields
        }
        return "".join(told)

    def _take_text(self, key: str, piece: str) -> str:
        self._fields.setdefault(key, "")
        return self._texts.setdefault(key, Pieces()).take(piece)

    def item(self) -> JsonObject:
        for pieces in self._texts.values():
            pieces.close()
        return self._fields | {key: pieces.text() for key, pieces in self._texts.items()}
