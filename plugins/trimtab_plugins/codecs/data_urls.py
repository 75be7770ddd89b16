"""Data URLs: a media type and base64 in one text."""

from __future__ import annotations

from trimtab_sdk import File, Image


def split_data_url(text: str) -> tuple[str, str]:
    """Give the media type and the base64 of a data URL; any other text is taken for base64 without a type."""
    head, comma, data = text.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return head[len("data:") : -len(";base64")], data
    return "", text


def image_address(image: Image) -> str:
    """Give the address of a picture, a data URL for one that is here by value; of no type it counts as PNG."""
    return image.url or _data_url(image.media_type or "image/png", image.data)


def file_data(file: File) -> str:
    """Give the data of a file as a data URL, bare base64 when its type is not known."""
    return _data_url(file.media_type, file.data) if file.media_type else file.data


def _data_url(media_type: str, data: str) -> str:
    return f"data:{media_type};base64,{data}"
