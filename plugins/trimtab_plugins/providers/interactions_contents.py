"""The contents of a step as far as they have come: texts in pieces, and whole pictures between them."""

from __future__ import annotations

from typing import TypeGuard

from trimtab_plugins.providers.stream_json import JsonObject, Pieces, cleaned, list_at, text_at


class OpenContents:
    """A list of contents that grows. A text goes on until something else comes."""

    def __init__(self, raw: list[object]) -> None:
        self._contents: list[object] = [cleaned(one) for one in raw]
        self._open = Pieces()
        self._is_open = False

    def texts(self) -> str:
        """Give all text that there is."""
        return "".join(text_at(one, "text") for one in self._contents if _is_text(one))

    def take_text(self, piece: str) -> str:
        """Let the text go on; give what can be told of it."""
        if not self._is_open:
            self._begin_text()
        return self._open.take(piece)

    def annotate(self, annotations: list[object]) -> None:
        """Put annotations to the last text, when there is one."""
        text = next((one for one in reversed(self._contents) if _is_text(one)), None)
        if text is not None and annotations:
            text["annotations"] = [*list_at(text, "annotations"), *map(cleaned, annotations)]

    def add(self, content: JsonObject) -> None:
        """Put a whole content behind what there is."""
        self.close()
        self._contents.append(content)

    def close(self) -> str:
        """End the text; give what was held back of it."""
        if not self._is_open:
            return ""
        told = self._open.close()
        last = self._contents[-1]
        assert _is_text(last)
        last["text"] = self._open.text()
        self._is_open = False
        return told

    def items(self) -> list[object]:
        """Give the contents, without texts that are empty."""
        return [one for one in self._contents if not _is_text(one) or text_at(one, "text")]

    def _begin_text(self) -> None:
        if not self._contents or not _is_text(self._contents[-1]):
            self._contents.append({"type": "text", "text": ""})
        last = self._contents[-1]
        assert _is_text(last)
        self._open, self._is_open = Pieces(), True
        self._open.take(text_at(last, "text"))


def _is_text(content: object) -> TypeGuard[JsonObject]:
    return isinstance(content, dict) and content.get("type") == "text"
