"""The content parts of the neutral format."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.reading import JsonObject, text_if_any, text_in
from trimtab_sdk import Audio, ContentPart, File, Image, InvalidRequestError, Text, Unknown

_FILE_KEYS = ("name", "media_type", "data", "text", "url", "file_id")
_AUDIO_KEYS = ("data", "format", "audio_id")


def read_part(part: JsonObject, path: str) -> ContentPart:
    """Read one part; of a kind that is not known here it becomes Unknown."""
    kind = part.get("type")
    if kind == "text":
        return Text(text_in(part, "text", path))
    if kind == "image":
        return _read_image(part, path)
    if kind == "file" and _has_any(part, _FILE_KEYS):
        return File(**{key: text_if_any(part, key, path) for key in _FILE_KEYS})
    if kind == "audio" and _has_any(part, _AUDIO_KEYS):
        return Audio(**{key: text_if_any(part, key, path) for key in _AUDIO_KEYS})
    return Unknown(part)


def _has_any(part: JsonObject, keys: Sequence[str]) -> bool:
    return any(key in part for key in keys)


def _read_image(part: JsonObject, path: str) -> Image:
    url = text_if_any(part, "url", path)
    return Image(
        url=url,
        data=text_if_any(part, "data", path) if url else text_in(part, "data", path),
        media_type=text_if_any(part, "media_type", path),
        detail=text_if_any(part, "detail", path),
    )


def write_part(part: ContentPart) -> object:
    """Write one part; keys without a value are left out.

    An unknown part that would be read as something else here is wrapped.
    """
    if isinstance(part, Unknown):
        return part.raw if _stays_unknown(part.raw) else {"type": "unknown", "raw": part.raw}
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return _filled("image", url=part.url, media_type=part.media_type, data=part.data, detail=part.detail)
    if isinstance(part, Audio):
        return _filled("audio", data=part.data, format=part.format, audio_id=part.audio_id)
    return _filled(
        "file",
        name=part.name,
        media_type=part.media_type,
        data=part.data,
        text=part.text,
        url=part.url,
        file_id=part.file_id,
    )


def _stays_unknown(raw: object) -> bool:
    if not isinstance(raw, dict):
        return False
    try:
        return isinstance(read_part(raw, ""), Unknown)
    except InvalidRequestError:
        return False


def _filled(kind: str, **values: str) -> JsonObject:
    return {"type": kind, **{key: value for key, value in values.items() if value}}
