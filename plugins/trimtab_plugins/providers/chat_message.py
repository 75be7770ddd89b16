"""The message of a Chat Completions stream, put together: texts, reasoning, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab_plugins.providers.chat_details import OpenDetails
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    Pieces,
    bad_response,
    list_at,
    merged,
    object_at,
    text_at,
)
from trimtab_sdk import ProviderEvent, ReasoningDelta, TextDelta

_TEXTS = ("content", "refusal")
_THOUGHTS = ("reasoning_content", "reasoning")
_READ = frozenset({"role", *_TEXTS, *_THOUGHTS, "reasoning_details", "tool_calls", "function_call", "audio"})
# Words by which a host marks its own messages, or by which a request steers a server.
_NOT_THEIRS = frozenset({"id", "meta", "name", "tool_call_id", "prefix", "cache_control"})


class OpenMessage:
    """The message of one answer as far as it has come, without its calls."""

    def __init__(self) -> None:
        self._texts = {key: Pieces() for key in (*_TEXTS, *_THOUGHTS)}
        self._seen: set[str] = set()
        self._details = OpenDetails()
        self._more: JsonObject = {}

    @property
    def refused(self) -> bool:
        """Whether all it says is a refusal."""
        return bool(self._texts["refusal"]) and not self._texts["content"]

    @property
    def begun(self) -> bool:
        """Whether anything has come at all."""
        return bool(self._seen or self._details or self._more)

    def take(self, delta: JsonObject) -> Iterator[ProviderEvent]:
        """Take what a delta says; give the events of it, reasoning first."""
        yield from self._take_thoughts(delta)
        for key in _TEXTS:
            if told := self._take_text(key, _text_of(delta, key)):
                yield TextDelta(told)
        self._take_rest(delta)

    def close(self) -> Iterator[ProviderEvent]:
        """Take the message as it is; give what was held back of its texts."""
        for key, pieces in self._texts.items():
            if told := pieces.close():
                yield TextDelta(told) if key in _TEXTS else ReasoningDelta(told)

    def item(self, calls: list[object]) -> JsonObject:
        """Give the message as it goes into a request."""
        content, refusal = (self._texts[key].text() for key in _TEXTS)
        silent = not content and bool(calls or refusal)
        item: JsonObject = {"role": "assistant", "content": None if silent else content}
        if refusal:
            item["refusal"] = refusal
        item |= {key: self._texts[key].text() for key in _THOUGHTS if key in self._seen}
        if self._details:
            item["reasoning_details"] = self._details.items()
        item |= self._more
        return item | ({"tool_calls": calls} if calls else {})

    def _take_text(self, key: str, piece: str | None) -> str:
        if piece is None:
            return ""
        self._seen.add(key)
        return self._texts[key].take(piece)

    def _take_thoughts(self, delta: JsonObject) -> Iterator[ReasoningDelta]:
        """The same reasoning may come under several keys; it is told once."""
        told = [self._take_text(key, _text_of(delta, key)) for key in _THOUGHTS]
        told.append("".join(map(self._details.take, list_at(delta, "reasoning_details"))))
        if shown := next(filter(None, told), ""):
            yield ReasoningDelta(shown)

    def _take_rest(self, delta: JsonObject) -> None:
        if sound := object_at(delta, "audio"):
            # A later request names a spoken answer by its id alone.
            self._more |= {"audio": {"id": text_at(sound, "id")}} if text_at(sound, "id") else {}
        for key, value in delta.items():
            if key not in _READ and key not in _NOT_THEIRS and value is not None:
                self._more[key] = merged(self._more.get(key), value)


def _text_of(delta: JsonObject, key: str) -> str | None:
    value = delta.get(key)
    if value is None or isinstance(value, str):
        return value
    if key == "content" and isinstance(value, list):
        return "".join(_part_text(part) for part in value)
    raise bad_response()


def _part_text(part: object) -> str:
    if isinstance(part, dict) and part.get("type") == "text":
        return text_at(part, "text")
    raise bad_response()
