"""Stated prices, in tokens, for what no text counter can weigh.

They stand in for the server's own prices, which differ by model, so every cost that holds one of them is
marked approximate. Measurements behind them: an image costs a few hundred to about 1,600 tokens at the usual
detail, a second of sound about 32, a page of a document 1,500 to 3,000.
"""

from __future__ import annotations

import re

from trimtab_sdk import Audio, File, Image

IMAGE = 1500
"""An image at any detail but low, and anything whose size is not known."""

IMAGE_LOW = 85
"""An image at detail low: the base price of the tile models."""

_SOUND_PER_SECOND = 32
_BYTES_PER_SECOND = {"wav": 32_000, "pcm16": 32_000}
_BYTES_PER_SECOND_PACKED = 4_000
_DOCUMENT_BYTES = 25_000
_TEXT_BYTES_PER_TOKEN = 3
_OPAQUE_CHARACTERS_PER_TOKEN = 4
_BASE64 = re.compile(r"(?:data:[^,\s]{0,200};base64,)?[A-Za-z0-9+/_-]{512,}={0,2}")


def image_price(image: Image) -> int:
    """Give the flat price of an image by its detail."""
    return IMAGE_LOW if image.detail == "low" else IMAGE


def audio_price(audio: Audio) -> int:
    """Give 32 tokens for each second begun.

    A second is 32,000 bytes of wav or pcm16 (16 bits at 16 kHz) and 4,000 bytes of any packed format. A sound
    known by id alone has the flat price of an image.
    """
    if not audio.data:
        return IMAGE
    pace = _BYTES_PER_SECOND.get(audio.format, _BYTES_PER_SECOND_PACKED)
    return _SOUND_PER_SECOND * _begun(_bytes_in(audio.data), pace)


def file_price(file: File) -> int:
    """Give the price of a file besides its name and its plain text, which are counted.

    Data of a text type costs a token for each 3 bytes begun, other data 1,500 tokens for each 25,000 bytes
    begun. A file that is only referred to costs 1,500; one that is here as plain text, nothing more.
    """
    if not file.data:
        return 0 if file.text else IMAGE
    if file.media_type.startswith("text/"):
        return _begun(_bytes_in(file.data), _TEXT_BYTES_PER_TOKEN)
    return IMAGE * _begun(_bytes_in(file.data), _DOCUMENT_BYTES)


def opaque_price(opaque: str) -> int:
    """Give a token for each 4 characters begun of an encrypted text or a signature."""
    return -(-len(opaque) // _OPAQUE_CHARACTERS_PER_TOKEN)


def is_base64(text: str) -> bool:
    """Tell whether a text looks like data: more than 512 characters of base64, with or without a data URL head."""
    return len(text) > 512 and _BASE64.fullmatch(text) is not None


def _bytes_in(base64: str) -> int:
    return len(base64) * 3 // 4


def _begun(amount: int, unit: int) -> int:
    return max(1, -(-amount // unit))
