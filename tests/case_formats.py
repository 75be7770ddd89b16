"""The formats that cases are written in, each with the codec that reads it and the fields of its body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEAD = "system"
"""How a case names the system text where the wire has a field of its own for it."""


@dataclass(frozen=True)
class Wire:
    """One format: its codec, the fields of a body, and the id the product gives to the text of the head.

    `head_key` is empty where system text stands among the messages. `packs` says that the wire may put several
    messages into one.
    """

    codec: str
    list_key: str
    head_key: str = ""
    head_id: str = ""
    packs: bool = False


WIRES: Mapping[str, Wire] = {
    "neutral": Wire("neutral", "messages"),
    "openai-chat": Wire("chat-completions", "messages"),
    "anthropic": Wire("anthropic-messages", "messages", "system", "system", packs=True),
    "responses": Wire("openai-responses", "input", "instructions", "instructions"),
    "gemini": Wire("gemini-contents", "contents", "systemInstruction", "system", packs=True),
    "interactions": Wire("gemini-interactions", "input", "system_instruction", "system", packs=True),
}
"""`format` of a case → the wire."""

FORMAT_OF: Mapping[str, str] = {wire.codec: form for form, wire in WIRES.items()}
"""Name of a codec → `format` of a case."""

MODELS: Mapping[str, str] = {
    "any": "gpt-4o",
    "any-chat-model": "gpt-4o",
    "any-openai-model": "gpt-4.1",
    "any-anthropic-model": "claude-opus-4-5",
    "any-gemini-model": "gemini-2.5-flash",
}
"""Placeholder in `settings.model` → a model of the catalogue. The first three are counted exactly."""
