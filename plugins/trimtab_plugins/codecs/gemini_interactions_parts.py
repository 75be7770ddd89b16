"""The contents of steps on the Gemini Interactions wire."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.gemini_media import Media, media_of, text_of
from trimtab_plugins.codecs.gemini_recognition import type_of
from trimtab_plugins.codecs.reading import JsonObject, read_list, read_object, text_if_any, text_in
from trimtab_sdk import Audio, ContentPart, File, Image, Text, Unknown

_MEDIA = frozenset({"image", "audio", "document", "video"})


def read_contents(value: object, path: str) -> tuple[ContentPart, ...]:
    """Read a list of contents; null gives none. Raises InvalidRequestError with the path of what is wrong."""
    if value is None:
        return ()
    return tuple(
        read_content(read_object(item, f"{path}[{index}]"), f"{path}[{index}]")
        for index, item in enumerate(read_list(value, path))
    )


def read_content(content: JsonObject, path: str) -> ContentPart:
    """Read one content; of a type that is not known here it becomes Unknown."""
    kind = type_of(content)
    if kind == "text":
        return Text(text_in(content, "text", path))
    if kind not in _MEDIA:
        return Unknown(content)
    media = Media(*(text_if_any(content, key, path) for key in ("mime_type", "data", "uri", "name")))
    if not media.data and not media.uri:
        return Unknown(content)
    return _of_kind(kind, media, text_if_any(content, "resolution", path))


def _of_kind(kind: str, media: Media, detail: str) -> ContentPart:
    """The part by the type of the content, whatever its MIME type claims."""
    if kind == "image":
        return Image(url=media.uri, data=media.data, media_type=media.mime_type, detail=detail)
    if kind == "audio":
        return Audio(data=media.data, format=media.mime_type.partition("/")[2], audio_id=media.uri)
    return File(name=media.name, media_type=media.mime_type, data=media.data, url=media.uri)


def write_contents(parts: Sequence[ContentPart]) -> list[object]:
    """Write content parts; an empty text and what has no place leave no trace."""
    written = (write_content(part) for part in parts)
    return [content for content in written if content is not None]


def write_content(part: ContentPart) -> object:
    """Write one content part, None for an empty text and for what has no place."""
    if isinstance(part, Unknown):
        return part.raw
    text = text_of(part)
    if text is not None:
        return {"type": "text", "text": text} if text else None
    media = media_of(part)
    return None if media is None else _write_media(media)


def _write_media(media: Media) -> JsonObject:
    source = {"data": media.data} if media.data else {"uri": media.uri}
    named = {"mime_type": media.mime_type} if media.mime_type else {}
    return {"type": media.kind, **named, **source}


def patch_contents(raw: Sequence[object], old: Sequence[ContentPart], new: Sequence[ContentPart]) -> list[object]:
    """Give the contents that were read as `old` with changed texts; citations in a changed text no longer hold."""
    return [
        item if before == after else _patched(item, after)
        for item, before, after in zip(raw, old, new, strict=True)
    ]


def _patched(item: object, after: ContentPart) -> object:
    if not isinstance(item, dict) or not isinstance(after, Text):
        return item
    return {**{key: value for key, value in item.items() if key != "annotations"}, "text": after.text}
