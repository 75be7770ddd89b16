"""Repairs of single Responses items: shapes that histories hold and the wire refuses.

They are made while reading, on a copy, so that everything later works on what the wire accepts. Whatever is
too far off to be mended is left for the reader to refuse.
"""

from __future__ import annotations

from trimtab_plugins.codecs.mending import Mended, mended
from trimtab_plugins.codecs.openai_responses_kinds import PLAIN_RESULTS
from trimtab_plugins.codecs.reading import MISSING, JsonObject, json_text, result_id_key


def mend_item(raw: JsonObject, kind: str) -> Mended:
    """Mend one item of a kind; `raw` is not changed."""
    if kind == "message":
        return Mended(raw)
    wire = dict(raw)
    sentences: list[str] = []
    if kind == "function_call":
        sentences = _mend_text(wire, "arguments", "{}")
    elif kind == "custom_tool_call":
        sentences = _mend_text(wire, "input", "")
    elif kind in PLAIN_RESULTS:
        sentences = [*_mend_call_id(wire), *_mend_output(wire)]
    elif kind == "reasoning" and wire.get("summary") is None:
        wire["summary"] = []
        sentences = ["gave the reasoning an empty summary, which the wire wants to see"]
    return mended(raw, wire, sentences)


def _mend_text(wire: JsonObject, key: str, empty: str) -> list[str]:
    value = wire.get(key)
    if isinstance(value, str):
        return []
    wire[key] = empty if value is None else json_text(value)
    return [f"wrote the {key} of the call as text"]


def _mend_call_id(wire: JsonObject) -> list[str]:
    key = None if isinstance(wire.get("call_id"), str) else result_id_key(wire)
    if key is None or key == "call_id":
        return []
    wire["call_id"] = wire.pop(key)
    return [f"renamed {key} to call_id"]


def _mend_output(wire: JsonObject) -> list[str]:
    output = wire.get("output", MISSING)
    if output is MISSING or output is None:
        wire["output"] = ""
        return ["gave the result an empty text as its output"]
    if isinstance(output, str | list):
        return []
    wire["output"] = json_text(output)
    return ["wrote the output of the call as text"]
