"""The list `reasoning_details` that some Chat Completions servers send and want back unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.json_values import strings_in
from trimtab_plugins.codecs.reading import JsonObject, read_object, text_if_any
from trimtab_sdk import Reasoning


def read_details(details: Sequence[object], path: str) -> tuple[Reasoning, ...]:
    """Read each detail: its text or summary, and its encrypted data or signature as the opaque value."""
    return tuple(
        _read_detail(read_object(detail, f"{path}[{index}]"), f"{path}[{index}]")
        for index, detail in enumerate(details)
    )


def _read_detail(detail: JsonObject, path: str) -> Reasoning:
    text = text_if_any(detail, "text", path) or text_if_any(detail, "summary", path)
    opaque = text_if_any(detail, "data", path) or text_if_any(detail, "signature", path)
    if not text and not opaque:
        opaque = "\n".join(strings_in(detail))
    return Reasoning(text, opaque)
