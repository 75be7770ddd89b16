"""Repairs of single Chat Completions messages: shapes that histories hold and the wire refuses.

They are made while reading, on a copy, so that everything later works on what the wire accepts. Whatever is
too far off to be mended is left for the reader to refuse.
"""

from __future__ import annotations

from trimtab_plugins.codecs.mending import Mended, mended
from trimtab_plugins.codecs.reading import MISSING, JsonObject, json_text, result_id_key, shown


def mend_message(raw: JsonObject) -> Mended:
    """Mend one message of any role; `raw` is not changed."""
    wire = dict(raw)
    sentences = [*_mend_calls(wire), *_mend_function_call(wire), *_mend_bare_texts(wire)]
    if wire.get("role") == "tool":
        sentences += [*_mend_result_id(wire), *_mend_result_content(wire)]
    elif wire.get("role") == "assistant":
        sentences += _mend_answer(wire)
    return mended(raw, wire, sentences)


def _mend_answer(wire: JsonObject) -> list[str]:
    content = wire.get("content")
    if content == [] and "tool_calls" in wire:
        wire["content"] = None
        return ["wrote the empty list of parts as null"]
    if content in (None, []) and _only_thinks(wire):
        wire["content"] = ""
        return ["gave the message an empty text as its content, for it holds reasoning alone"]
    return []


def _only_thinks(wire: JsonObject) -> bool:
    if any(wire.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")):
        return False
    texts = [wire.get(key) for key in ("reasoning_content", "reasoning")]
    return bool(wire.get("reasoning_details")) or any(isinstance(text, str) and text.strip() for text in texts)


def _mend_calls(wire: JsonObject) -> list[str]:
    calls = wire.get("tool_calls", MISSING)
    if calls is None or calls == []:
        del wire["tool_calls"]
        return ["removed the empty tool_calls"]
    if not isinstance(calls, list):
        return []
    sentences: list[str] = []
    calls = [_mend_call(call, sentences) for call in calls]
    if sentences:
        wire["tool_calls"] = calls
    return sentences


def _mend_call(call: object, sentences: list[str]) -> object:
    if not isinstance(call, dict):
        return call
    wire = dict(call)
    named = f"call {shown(str(call.get('id')))}"
    if wire.get("type") is None:
        kind = "custom" if "custom" in wire and "function" not in wire else "function"
        if kind in wire:
            wire["type"] = kind
            sentences.append(f"gave {named} the type {kind}")
    for kind, key, empty in (("function", "arguments", "{}"), ("custom", "input", "")):
        inner = wire.get(kind)
        if isinstance(inner, dict) and not isinstance(inner.get(key), str):
            wire[kind] = _with_text(inner, key, empty)
            sentences.append(f"wrote the {key} of {named} as text")
    return wire


def _mend_function_call(wire: JsonObject) -> list[str]:
    call = wire.get("function_call")
    if not isinstance(call, dict) or isinstance(call.get("arguments"), str):
        return []
    wire["function_call"] = _with_text(call, "arguments", "{}")
    return ["wrote the arguments of the function_call as text"]


def _with_text(inner: JsonObject, key: str, empty: str) -> JsonObject:
    value = inner.get(key)
    return {**inner, key: empty if value is None else json_text(value)}


def _mend_bare_texts(wire: JsonObject) -> list[str]:
    content = wire.get("content")
    if not isinstance(content, list) or not any(isinstance(item, str) for item in content):
        return []
    wire["content"] = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return ["wrote the bare texts of the content as text parts"]


def _mend_result_id(wire: JsonObject) -> list[str]:
    key = result_id_key(wire)
    if key == "tool_call_id":
        return []
    if key is None:
        wire["tool_call_id"] = ""
        return ["gave the result an empty tool_call_id, for it names no call"]
    wire["tool_call_id"] = wire.pop(key)
    return [f"renamed {key} to tool_call_id"]


def _mend_result_content(wire: JsonObject) -> list[str]:
    if wire.get("content") not in (None, []):
        return []
    wire["content"] = ""
    return ["gave the result an empty text as its content"]
