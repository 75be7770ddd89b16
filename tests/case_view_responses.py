"""The view of Responses items."""

from __future__ import annotations

from collections.abc import Iterator

from case_files import Json
from case_views import Call, View, compact

_TEXTS = frozenset({"input_text", "output_text", "text"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_DATA = ("image_url", "file_data", "file_url", "file_id", "data")


def item_view(item: Json) -> View:
    """See one item. What is no message plays the part of the assistant, or of the tool that answers it."""
    kind = item.get("type", "message")
    if kind == "message":
        return _message_view(item)
    if kind == "reasoning":
        texts = tuple(part["text"] for key in ("summary", "content") for part in item.get(key) or ())
        return View("assistant", texts, thinks=True, is_priced=not item.get("encrypted_content"))
    if kind in _CALLS:
        return View("assistant", calls=(Call(item["call_id"], item["name"], item[_CALLS[kind]]),))
    if kind in _RESULTS:
        parts = _parts(item["output"])
        words = tuple(_words(parts))
        priced = all(part["type"] in _TEXTS for part in parts)
        return View("tool", words, words, answers=(item["call_id"],), data=tuple(_data(parts)), is_priced=priced)
    return View(_role_of(kind), other=True, is_priced=False)


def _message_view(item: Json) -> View:
    parts = _parts(item["content"])
    words = tuple(_words(parts))
    priced = all(part["type"] in _TEXTS for part in parts)
    other = any(part["type"] not in _TEXTS and not _data([part]) for part in parts)
    return View(item["role"], words, words, data=tuple(_data(parts)), other=other, is_priced=priced)


def _role_of(kind: str) -> str:
    if kind.endswith(("_output", "_response")):
        return "tool"
    return "developer" if kind in ("additional_tools", "configuration_update") else "assistant"


def _parts(content: Json) -> list[Json]:
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content or ())


def _words(parts: list[Json]) -> Iterator[str]:
    for part in parts:
        if part["type"] in _TEXTS:
            yield part["text"]
        elif part["type"] == "refusal":
            yield part["refusal"]


def _data(parts: list[Json]) -> list[str]:
    found = []
    for part in parts:
        if part["type"] in ("input_image", "input_file", "input_audio"):
            value = next((part[key] for key in _DATA if part.get(key)), compact(part))
            found.append(value.partition(";base64,")[2] or value)
    return found
