"""The content parts of the Responses wire."""

from __future__ import annotations

from trimtab_plugins.codecs.chat_completions_parts import split_data_url
from trimtab_plugins.codecs.reading import JsonObject, object_in, text_if_any, text_in
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
        sound, inner = object_in(part, "input_audio", path), f"{path}.input_audio"
        return Audio(data=text_in(sound, "data", inner), format=text_if_any(sound, "format", inner))
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
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format or "wav"}}
    return part.raw


def _write_image(image: Image) -> JsonObject:
    url = image.url or f"data:{image.media_type or 'image/png'};base64,{image.data}"
    detail = image.detail if image.detail in _DETAILS else "auto"
    return {"type": "input_image", "image_url": url, "detail": detail}


def _write_file(file: File) -> JsonObject:
    written: JsonObject = {"type": "input_file"}
    if file.name:
        written["filename"] = file.name
    if file.file_id:
        written["file_id"] = file.file_id
    elif file.data:
        written["file_data"] = f"data:{file.media_type};base64,{file.data}" if file.media_type else file.data
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
