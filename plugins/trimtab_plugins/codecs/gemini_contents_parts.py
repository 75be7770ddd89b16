"""The parts of a content on the classic Gemini wire (generateContent)."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.gemini_call_ids import CallIds
from trimtab_plugins.codecs.gemini_media import Media, media_of, part_of, text_of
from trimtab_plugins.codecs.gemini_values import field_key, field_of, parse_object
from trimtab_plugins.codecs.reading import (
    JsonObject,
    json_text,
    list_if_any,
    read_object,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_sdk import ContentPart, Part, Reasoning, Text, ToolCall, ToolResult, Unknown

_TEXT_KEYS = ("output", "error", "result", "content")
"""Keys of a response that holds one text and nothing else; Google names the first two."""


def read_part(part: JsonObject, path: str, ids: CallIds) -> Part:
    """Read one part; of a kind that is not known here it becomes Unknown. `ids` pairs calls with responses."""
    for name, read in (("functionCall", _read_call), ("functionResponse", _read_response)):
        key = field_key(part, name)
        if key is not None:
            return read(read_object(part[key], f"{path}.{key}"), f"{path}.{key}", ids)
    return _read_thought(part, path) or _read_content(part, path)


def _read_call(call: JsonObject, path: str, ids: CallIds) -> ToolCall:
    name = text_in(call, "name", path)
    arguments = call.get("args")
    if arguments is not None:
        read_object(arguments, f"{path}.args")
    return ToolCall(
        ids.of_call(name, text_if_any(call, "id", path)), name, json_text({} if arguments is None else arguments)
    )


def _read_response(answer: JsonObject, path: str, ids: CallIds) -> ToolResult:
    name = text_if_any(answer, "name", path)
    call_id = ids.of_response(name, text_if_any(answer, "id", path))
    value = answer.get("response")
    response = {} if value is None else read_object(value, f"{path}.response")
    key = _text_key(response)
    text = str(response[key]) if key is not None else json_text(response) if response else ""
    media = tuple(
        _read_content(read_object(item, f"{path}.parts[{index}]"), f"{path}.parts[{index}]")
        for index, item in enumerate(list_if_any(answer, "parts", path))
    )
    return ToolResult(call_id, (Text(text), *media) if media else text, key == "error")


def _text_key(response: JsonObject) -> str | None:
    if len(response) != 1:
        return None
    key, value = next(iter(response.items()))
    return key if key in _TEXT_KEYS and isinstance(value, str) else None


def _read_thought(part: JsonObject, path: str) -> Reasoning | None:
    """A thought, or the signature that a stream leaves in a part without words."""
    signature_key = field_key(part, "thoughtSignature")
    signature = text_in(part, signature_key, path) if signature_key else ""
    text = part.get("text")
    if isinstance(text, str) and (part.get("thought") is True or (signature and not text)):
        return Reasoning(text, signature)
    return Reasoning("", signature) if signature and part.keys() == {signature_key} else None


def _read_content(part: JsonObject, path: str) -> ContentPart:
    if part.get("text") is not None:
        return Text(text_in(part, "text", path))
    for name, source in (("inlineData", "data"), ("fileData", "fileUri")):
        key = field_key(part, name)
        if key is not None:
            return _read_media(read_object(part[key], f"{path}.{key}"), f"{path}.{key}", source, part)
    return Unknown(part)


def _read_media(holder: JsonObject, path: str, source: str, part: JsonObject) -> ContentPart:
    known = {name: _text_at(holder, name, path) for name in ("mimeType", "displayName", source)}
    if not known[source]:
        raise wrong(f"{path}.{source}", "a text that is not empty", holder.get(source))
    media = Media(known["mimeType"], known.get("data", ""), known.get("fileUri", ""), known["displayName"])
    return part_of(media, detail=_detail(part))


def _text_at(holder: JsonObject, name: str, path: str) -> str:
    key = field_key(holder, name)
    return "" if key is None else text_in(holder, key, path)


def _detail(part: JsonObject) -> str:
    resolution = field_of(part, "mediaResolution")
    level = resolution.get("level") if isinstance(resolution, dict) else resolution
    return level.removeprefix("MEDIA_RESOLUTION_").lower() if isinstance(level, str) else ""


def write_part(part: ContentPart) -> JsonObject | None:
    """Write one content part, None for an empty text and for what has no place."""
    if isinstance(part, Unknown):
        return part.raw if isinstance(part.raw, dict) else None
    text = text_of(part)
    if text is not None:
        return {"text": text} if text else None
    media = media_of(part)
    return None if media is None else _write_media(media)


def _write_media(media: Media) -> JsonObject:
    named: JsonObject = {"mimeType": media.mime_type} if media.mime_type else {}
    if media.data:
        return {"inlineData": {**named, "data": media.data}}
    return {"fileData": {**named, "fileUri": media.uri}}


def write_call(call: ToolCall, *, has_id: bool, signature: str) -> JsonObject:
    """Write a function call; arguments that are no JSON object stand under the key `arguments`."""
    arguments = parse_object(call.arguments)
    inner: JsonObject = {"id": call.call_id} if has_id else {}
    inner |= {"name": call.name, "args": {"arguments": call.arguments} if arguments is None else arguments}
    return {"functionCall": inner, "thoughtSignature": signature} if signature else {"functionCall": inner}


def write_response(result: ToolResult, name: str, *, has_id: bool) -> JsonObject:
    """Write a function response to the call of the function `name`."""
    texts, media = _split(result)
    inner: JsonObject = {"id": result.call_id} if has_id else {}
    inner |= {"name": name, "response": {"error" if result.is_error else "output": texts}}
    parts = [written for part in media if (written := write_part(part)) is not None]
    return {"functionResponse": {**inner, "parts": parts} if parts else inner}


def _split(result: ToolResult) -> tuple[str, Sequence[ContentPart]]:
    if isinstance(result.content, str):
        return result.content, ()
    texts = [text for part in result.content if (text := text_of(part)) is not None]
    return "\n".join(texts), [part for part in result.content if text_of(part) is None]


def patch_part(raw: JsonObject, old: Part, new: Part) -> object:
    """Give the part that was read as `old` changed so that it reads as `new`; other keys of it stay."""
    if old == new:
        return raw
    if isinstance(old, Text) and isinstance(new, Text):
        return {**raw, "text": new.text}
    if isinstance(old, ToolResult) and isinstance(new, ToolResult):
        return _patch_response(raw, new)
    return (write_part(new) if isinstance(new, ContentPart) else None) or raw


def _patch_response(raw: JsonObject, new: ToolResult) -> JsonObject:
    key = field_key(raw, "functionResponse") or "functionResponse"
    answer = raw[key]
    response = answer.get("response") if isinstance(answer, dict) else None
    spelled = _text_key(response) if isinstance(response, dict) else None
    changed: JsonObject = {spelled or "output": _split(new)[0]}
    return {**raw, key: {**answer, "response": changed}} if isinstance(answer, dict) else raw
