"""Pictures and documents of other formats as blocks of the Anthropic wire."""

from __future__ import annotations

import base64
import binascii

from trimtab_plugins.codecs.anthropic_messages_parts import ANY_IMAGE
from trimtab_plugins.codecs.data_urls import split_data_url
from trimtab_plugins.codecs.reading import JsonObject, is_blank
from trimtab_sdk import File, Image

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"
_MAGIC = {"/9j/": "image/jpeg", "iVBORw0KGgo": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp"}
_PDF_MAGIC = "JVBERi"


def image_block(image: Image) -> JsonObject | None:
    """Write a picture: by address, or as base64 of a type the wire takes; None where it has no place."""
    if image.url and not image.url.startswith("data:"):
        return _block("image", type="url", url=image.url)
    media_type, data = split_data_url(image.url) if image.url else (image.media_type, image.data)
    media_type = media_type or _image_type(data)
    if not data or media_type not in _IMAGE_TYPES:
        return None
    return _block("image", type="base64", media_type=media_type, data=data)


def _image_type(data: str) -> str:
    return next((kind for head, kind in _MAGIC.items() if data.startswith(head)), "image/png")


def file_block(file: File) -> JsonObject | None:
    """Write a document or a held picture; None for one of a type the wire does not take.

    The wire takes PDF and plain text by value, PDF by address, and anything by a file id.
    """
    if file.media_type == ANY_IMAGE:
        return _block("image", type="file", file_id=file.file_id) if file.file_id else None
    source = _document_source(file)
    if source is None:
        return image_block(Image(data=file.data, media_type=file.media_type)) if file.data else None
    block: JsonObject = {"type": "document", "source": source}
    return {**block, "title": file.name} if file.name else block


def _document_source(file: File) -> JsonObject | None:
    if file.file_id:
        return {"type": "file", "file_id": file.file_id}
    text = file.text or _text_in(file)
    if not is_blank(text):
        return {"type": "text", "media_type": "text/plain", "data": text}
    if file.data and (file.media_type == _PDF or (not file.media_type and file.data.startswith(_PDF_MAGIC))):
        return {"type": "base64", "media_type": _PDF, "data": file.data}
    if file.url and file.media_type in ("", _PDF):
        return {"type": "url", "url": file.url}
    return None


def _text_in(file: File) -> str:
    if not file.media_type.startswith("text/") or not file.data:
        return ""
    try:
        return base64.b64decode(file.data, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _block(kind: str, **source: str) -> JsonObject:
    return {"type": kind, "source": dict(source)}
