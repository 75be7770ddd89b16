"""The content parts of the Responses wire."""

from __future__ import annotations

from trimtab_plugins.codecs.data_urls import file_data, image_address, split_data_url
from trimtab_plugins.codecs.reading import JsonObject, text_if_any, text_in
from trimtab_plugins.codecs.sounds import read_sound, write_sound
from trimtab_sdk import Audio, ContentPart, File, Image, Text, Unknown

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_DETAILS = frozenset({"low", "high", "auto", "original"})


def read_part(part: JsonObject, path: str) -> ContentPart:
    """Read one part. What is not known here becomes Unknown, and so does a picture held by a file id."""
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TEXTS:
        return Text(text_in(part, _TEXTS[kind], path))
    if kind == "input_image" and part.get("image_url") is not None:
        return Image(url=text_in(part, "image_url", path), detail=text_if_any(part, "detail", path))
    if kind == "input_file":
        return _read_file(part, path)
    if kind == "input_audio":
        return read_sound(part, path)
    return Unknown(part)


def _read_file(part: JsonObject, path: str) -> File:
    media_type, data = split_data_url(text_if_any(part, "file_data", path))
    return File(
        name=text_if_any(part, "filename", path),
        media_type=media_type,
        data=data,
        url=text_if_any(part, "file_url", path),
        file_id=text_if_any(part, "file_id", path),
    )


def write_part(part: ContentPart) -> object:
    """Write one part that has a place on this wire; an unknown one as it came."""
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, Image):
        return _write_image(part)
    if isinstance(part, File):
        return _write_file(part)
    if isinstance(part, Audio):
        return write_sound(part)
    return part.raw


def _write_image(image: Image) -> JsonObject:
    detail = image.detail if image.detail in _DETAILS else "auto"
    return {"type": "input_image", "image_url": image_address(image), "detail": detail}


def _write_file(file: File) -> JsonObject:
    written: JsonObject = {"type": "input_file"}
    if file.name:
        written["filename"] = file.name
    if file.file_id:
        written["file_id"] = file.file_id
    elif file.data:
        written["file_data"] = file_data(file)
    else:
        written["file_url"] = file.url
    return written


def patch_part(item: object, before: ContentPart, after: ContentPart) -> object:
    """Give `item`, which was read as `before`, changed so that it reads as `after`.

    A changed text loses its annotations and log probabilities, for both count places in the old one.
    """
    if before == after:
        return item
    if not (isinstance(before, Text) and isinstance(after, Text)):
        return write_part(after)
    if not isinstance(item, dict):
        return after.text
    patched = {key: value for key, value in item.items() if key != "logprobs"}
    if "annotations" in patched:
        patched["annotations"] = []
    patched["refusal" if item.get("type") == "refusal" else "text"] = after.text
    return patched


def words_of(part: ContentPart) -> str:
    """Give the words of a part that is a text, or an empty text."""
    return part.text if isinstance(part, Text) else ""
