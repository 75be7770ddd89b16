"""The formats that cases are written in, each with the codec that reads it and the fields of its body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    "deepseek-reasoner-like": "deepseek-reasoner",
}
"""Placeholder in `settings.model` → a model of the catalogue. The first three are counted exactly."""


@dataclass(frozen=True)
class Provider:
    """A provider that turns of a case go to: its driver, the format of its requests, the driver's settings.

    `rules` names the server that takes them, where it is not the usual one of that format.
    """

    driver: str
    form: str
    settings: Mapping[str, object] = field(default_factory=dict)
    rules: str = ""

    @property
    def server(self) -> str:
        """The name of its server in `case_turns_fakes.py`."""
        return self.rules or self.form


PROVIDERS: Mapping[str, Provider] = {
    "openai-compatible": Provider("openai-compatible", "openai-chat"),
    "deepseek": Provider("deepseek", "openai-chat", rules="deepseek"),
    "without-reasoning": Provider("openai-compatible", "openai-chat", {"send_reasoning": "never"}),
    "openai": Provider("openai", "responses"),
    "anthropic": Provider("anthropic", "anthropic"),
    "gemini": Provider("gemini", "interactions", {"thinking_summaries": "auto"}),
}
"""Name of a provider in a case → how it is asked. Each `server` is in `case_turns_fakes.py`."""
