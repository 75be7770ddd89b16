"""Sounds as the OpenAI wires hold them."""

from __future__ import annotations

from trimtab_plugins.codecs.reading import JsonObject, object_in, text_if_any, text_in
from trimtab_sdk import Audio


def read_sound(part: JsonObject, path: str) -> Audio:
    """Read a part of the type `input_audio`."""
    sound, inner = object_in(part, "input_audio", path), f"{path}.input_audio"
    return Audio(data=text_in(sound, "data", inner), format=text_if_any(sound, "format", inner))


def write_sound(audio: Audio) -> JsonObject:
    """Write a sound; of no format it counts as wav."""
    return {"type": "input_audio", "input_audio": {"data": audio.data, "format": audio.format or "wav"}}
