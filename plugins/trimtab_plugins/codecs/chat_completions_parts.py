"""The content parts of the Chat Completions wire."""

from __future__ import annotations

from trimtab_plugins.codecs.data_urls import file_data, image_address, split_data_url
from trimtab_plugins.codecs.reading import MISSING, JsonObject, object_in, text_if_any, text_in, wrong
from trimtab_plugins.codecs.sounds import read_sound, write_sound
from trimtab_sdk import Audio, ContentPart, File, Image, Text, Unknown


def read_part(part: JsonObject, path: str) -> ContentPart:
    """Read one part; of a kind that is not known here it becomes Unknown."""
    kind = part.get("type")
    if kind == "text":
        return Text(text_in(part, "text", path))
    if kind == "image_url":
        return _read_image(part, path)
    if kind == "input_audio":
        return read_sound(part, path)
    if kind == "file":
        return _read_file(object_in(part, "file", path), f"{path}.file")
    return Unknown(part)


def _read_image(part: JsonObject, path: str) -> Image:
    address = part.get("image_url", MISSING)
    if isinstance(address, str):
        return Image(url=address)
    if not isinstance(address, dict):
        raise wrong(f"{path}.image_url", "an object with a url, or a text", address)
    inner = f"{path}.image_url"
    return Image(url=text_in(address, "url", inner), detail=text_if_any(address, "detail", inner))


def _read_file(file: JsonObject, path: str) -> File:
    media_type, data = split_data_url(text_if_any(file, "file_data", path))
    return File(
        name=text_if_any(file, "filename", path),
        media_type=media_type,
        data=data,
        file_id=text_if_any(file, "file_id", path),
    )


def write_part(part: ContentPart) -> object:
    """Write one part that has a place on this wire; an unknown one as it came."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": _write_image(part)}
    if isinstance(part, Audio):
        return write_sound(part)
    if isinstance(part, File):
        return {"type": "file", "file": _write_file(part)}
    return part.raw


def _write_image(image: Image) -> JsonObject:
    url = image_address(image)
    return {"url": url, "detail": image.detail} if image.detail else {"url": url}


def _write_file(file: File) -> JsonObject:
    written: JsonObject = {}
    if file.name:
        written["filename"] = file.name
    if file.data:
        written["file_data"] = file_data(file)
    if file.file_id:
        written["file_id"] = file.file_id
    return written
