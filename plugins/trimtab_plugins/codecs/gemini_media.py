"""Pictures, sounds and documents as both Gemini wires carry them: a MIME type with base64 data or an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab_sdk import Audio, ContentPart, File, Image, Text

Kind: TypeAlias = Literal["image", "audio", "video", "document"]


@dataclass(frozen=True, slots=True)
class Media:
    """One piece of media: base64 `data` or the address `uri`; `mime_type` may be unknown (empty)."""

    mime_type: str = ""
    data: str = ""
    uri: str = ""
    name: str = ""

    @property
    def kind(self) -> Kind:
        """What it is, by its MIME type; anything unknown is a document."""
        family = self.mime_type.partition("/")[0]
        return family if family in ("image", "audio", "video") else "document"  # type: ignore[return-value]


def part_of(media: Media, *, detail: str = "") -> ContentPart:
    """Give the content part for a piece of media; a video is a file."""
    if media.kind == "image":
        return Image(url=media.uri, data=media.data, media_type=media.mime_type, detail=detail)
    if media.kind == "audio":
        return Audio(data=media.data, format=media.mime_type.partition("/")[2], audio_id=media.uri)
    return File(name=media.name, media_type=media.mime_type, data=media.data, url=media.uri)


def media_of(part: ContentPart) -> Media | None:
    """Give the media of a part of any format, None for what has no place: no media, or held by a foreign id."""
    if isinstance(part, Image):
        return _picture(part)
    if isinstance(part, Audio) and part.data:
        return Media(f"audio/{part.format or 'wav'}", part.data)
    if isinstance(part, File) and part.data:
        return Media(part.media_type or "application/octet-stream", part.data, name=part.name)
    if isinstance(part, File) and part.url:
        return Media(part.media_type, uri=part.url, name=part.name)
    return None


def text_of(part: ContentPart) -> str | None:
    """Give the text of a part that is written as one: a text, or a file that is here as plain text."""
    if isinstance(part, Text):
        return part.text
    if isinstance(part, File) and part.text and not part.data:
        return part.text
    return None


def has_place(part: ContentPart) -> bool:
    """Tell whether a part of another format can be written."""
    return text_of(part) is not None or media_of(part) is not None


def _picture(image: Image) -> Media | None:
    if image.data:
        return Media(image.media_type or "image/png", image.data)
    if not image.url.startswith("data:"):
        return Media(image.media_type or "image/jpeg", uri=image.url) if image.url else None
    head, comma, data = image.url.partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return Media(head.removeprefix("data:").removesuffix(";base64") or "image/png", data)
