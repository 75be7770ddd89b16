"""Prices, in tokens, for what no text counter can weigh.

Pictures are priced by the formulas their providers publish, where the model is known. All other prices are
stated flat and stand in for the server's own, so every cost that holds one of them is marked approximate.
Measurements behind them: an image costs a few hundred to about 1,600 tokens at the usual detail, a second of
sound 32 and a second of film 263 (Gemini), a page of a document 1,500 to 3,000.
"""

from __future__ import annotations

import re

from trimtab_plugins.codecs.image_formulas import ImagePrice
from trimtab_plugins.codecs.image_models import image_rule
from trimtab_plugins.codecs.image_sizes import image_size
from trimtab_sdk import Audio, File, Image

IMAGE = 1500
"""An image at any detail but low, and anything whose size is not known."""

IMAGE_LOW = 85
"""An image at detail low: the base price of the tile models."""

_SOUND_PER_SECOND = 32
_FILM_PER_SECOND = 263
_BYTES_PER_SECOND = {"wav": 32_000, "pcm16": 32_000}
_BYTES_PER_SECOND_PACKED = 4_000
_FILM_BYTES_PER_SECOND = 25_000
_DOCUMENT_BYTES = 25_000
_TEXT_BYTES_PER_TOKEN = 3
_OPAQUE_CHARACTERS_PER_TOKEN = 4
_FILE_PRICES = {
    "text": (1, _TEXT_BYTES_PER_TOKEN),
    "audio": (_SOUND_PER_SECOND, _BYTES_PER_SECOND_PACKED),
    "video": (_FILM_PER_SECOND, _FILM_BYTES_PER_SECOND),
}
_BASE64 = re.compile(r"(?:data:[^,\s]{0,200};base64,)?[A-Za-z0-9+/_-]{512,}={0,2}")


def priced_image(image: Image, model: str) -> ImagePrice:
    """Give the tokens of an image for a model, and whether they are exact.

    Exact is a price whose size is known (stated, or read from the data) and whose formula is published for the
    model. For other sizes and for relatives of such models it is the dearest that is plausible, and for models
    of which nothing is known the flat price; those are approximate.
    """
    rule = image_rule(model)
    if rule is None:
        return ImagePrice(image_price(image), exact=False)
    return rule.price(image_size(image), image.detail)


def image_price(image: Image) -> int:
    """Give the flat price of an image by its detail, for a model that nobody named."""
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

    Data of a text type costs a token for each 3 bytes begun, sound 32 tokens for each 4,000 bytes, film 263 for
    each 25,000 bytes, a picture the flat price of one, and any other data 1,500 tokens for each 25,000 bytes
    begun. A file that is only referred to costs 1,500; one that is here as plain text, nothing more.
    """
    if not file.data:
        return 0 if file.text else IMAGE
    kind, size = file.media_type.partition("/")[0], _bytes_in(file.data)
    if kind == "image":
        return IMAGE
    tokens, unit = _FILE_PRICES.get(kind, (IMAGE, _DOCUMENT_BYTES))
    return tokens * _begun(size, unit)


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
