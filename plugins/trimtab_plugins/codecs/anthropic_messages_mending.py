"""Repairs of single messages: shapes that histories hold and the Anthropic wire refuses.

They are made while reading, on a copy. Whatever is too far off to be mended is left for the reader to refuse.
"""

from __future__ import annotations

from trimtab_plugins.codecs.anthropic_messages_input import read_input
from trimtab_plugins.codecs.mending import Mended, mended
from trimtab_plugins.codecs.reading import RESULT_ID_KEYS, JsonObject, shown


def mend_message(raw: JsonObject) -> Mended:
    """Mend one message; `raw` is not changed."""
    content = raw.get("content")
    if not isinstance(content, list):
        return Mended(raw)
    sentences: list[str] = []
    blocks = [_mend_block(block, sentences) for block in content]
    return mended(raw, {**raw, "content": blocks}, sentences)


def _mend_block(block: object, sentences: list[str]) -> object:
    if isinstance(block, str):
        sentences.append("wrote a bare text of the content as a text block")
        return {"type": "text", "text": block}
    if isinstance(block, dict) and block.get("type") == "tool_use":
        return _mend_call(block, sentences)
    if isinstance(block, dict) and block.get("type") == "tool_result":
        return _mend_result(block, sentences)
    return block


def _mend_call(block: JsonObject, sentences: list[str]) -> JsonObject:
    given = block.get("input")
    if given is not None and not isinstance(given, str):
        return block
    sentences.append(f"wrote the input of call {shown(str(block.get('id')))} as an object")
    if given is None:
        return {**block, "input": {}}
    read = read_input(given)
    return {**block, "input": {"arguments": given} if read is None else read}


def _mend_result(block: JsonObject, sentences: list[str]) -> JsonObject:
    if block.get("tool_use_id") is not None:
        return block
    key = next((key for key in RESULT_ID_KEYS if block.get(key) is not None), None)
    if key is None:
        sentences.append("gave a result an empty tool_use_id, for it names no call")
        return {**block, "tool_use_id": ""}
    sentences.append(f"renamed {key} to tool_use_id")
    rest = {name: value for name, value in block.items() if name != key}
    return {**rest, "tool_use_id": block[key]}
