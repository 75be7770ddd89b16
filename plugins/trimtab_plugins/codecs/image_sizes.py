"""How large a picture is, in pixels, without decoding the picture."""

from __future__ import annotations

import binascii
from typing import TypeAlias

from trimtab_sdk import Image

Size: TypeAlias = tuple[int, int]
"""Width and height in pixels, both at least 1."""

LARGEST_SIDE = 65_535
"""No provider takes a picture with a longer side, so a header that tells of one is not believed."""

_LONGEST_HEAD = 256
_LINE = 200
_WRAPPED_CHARACTERS = 1024 * 1024
_READABLE_BYTES = 16 * 1024
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_URL_SAFE = str.maketrans("-_", "+/")


def image_size(image: Image) -> Size | None:
    """Give the size the image says it has, or else the one in the header of its data; None when neither tells.

    Reads base64 and base64 data URLs of PNG, JPEG, WebP and GIF, and of those no more than 16 KiB whatever
    their length. Never raises, and never asks the network.
    """
    stated = _believed(image.width, image.height)
    return stated or size_in_base64(image.data) or size_in_base64(image.url)


def size_in_base64(text: str) -> Size | None:
    """Give the size in the header of a picture in base64, with or without the head of a data URL, or None."""
    start = _start_of_data(text)
    if start is None:
        return None
    data = _unwrapped(text, start)
    try:
        return _size_in(data)
    except ValueError:
        return None


def _start_of_data(text: str) -> int | None:
    if text[:5].lower() != "data:":
        return 0 if text else None
    head, comma, _ = text[:_LONGEST_HEAD].partition(",")
    return len(head) + 1 if comma and head.lower().endswith(";base64") else None


def _unwrapped(text: str, start: int) -> Base64Bytes:
    if len(text[start : start + _LINE].split()) < 2:
        return Base64Bytes(text, start)
    return Base64Bytes("".join(text[start : start + _WRAPPED_CHARACTERS].split()), 0)


def _size_in(data: Base64Bytes) -> Size | None:
    head = data.read(16)
    if not head.startswith(_SIGNATURES) and (head[:4], head[8:12]) != (b"RIFF", b"WEBP"):
        return None
    import imagesize  # type: ignore[import-untyped]

    return _believed(*imagesize.get(data, exif_rotation=False))


def _believed(width: int, height: int) -> Size | None:
    return (width, height) if 0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE else None


class Base64Bytes:
    """The bytes behind a base64 text from `start` on, decoded only where they are read.

    After 16 KiB in all it reads as if it had ended, so that no data can keep a parser busy.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._position = 0
        self._readable = _READABLE_BYTES

    def read(self, size: int = -1) -> bytes:
        """Give up to `size` bytes from here on; raise ValueError where the text is no base64."""
        size = self._readable if size < 0 else min(size, self._readable)
        first, skipped = divmod(self._position, 3)
        quads = -(-(skipped + size) // 3)
        begin = self._start + 4 * first
        found = _decoded(self._text[begin : begin + 4 * quads])[skipped : skipped + size]
        self._position += len(found)
        self._readable -= len(found)
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a byte counted from the front, or with `whence` 1 from here."""
        self._position = max(0, offset if whence == 0 else self._position + offset)
        return self._position


def _decoded(quads: str) -> bytes:
    padded = quads + "=" * (-len(quads) % 4)
    return binascii.a2b_base64(padded.translate(_URL_SAFE), strict_mode=True)
