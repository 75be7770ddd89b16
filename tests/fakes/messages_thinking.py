"""Whether thinking comes back as it was made, behind what it was made behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.messages_context import THOUGHTS, Place, View
from fakes.messages_refusals import BAD_DATA, BAD_SIGNATURE, BOUND, MODIFIED
from fakes.messages_seals import Prefix, Seal, Signer, digest, head_of, prefixes

Binding: TypeAlias = Literal["error", "drop", "allow"]
CONTROLS = "thinking-binding-controls-2026-08-01"
_ASKED: dict[str, Binding] = {"error": "error", "drop_block": "drop"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a thought. `is_stale`: nobody could have known; a `drop` withholds it from the model."""

    wrong: Wrong
    is_stale: bool = False
    drop: Json = None


def findings(view: View, *, signer: Signer, binding: Binding) -> Iterator[Finding]:
    """Judge all thinking of a request."""
    before = prefixes(head_of(view), view.sent)
    latest = max((place.message for place in view.sent if place.role == "assistant"), default=-1)
    chosen = asked_binding(view) or binding
    for place, prefix in zip(view.sent, before, strict=False):
        if place.kind in THOUGHTS:
            found = _finding(place, signer, is_latest=place.message == latest)
            found = found or _mismatch(place, signer, model=view.model, prefix=prefix, binding=chosen)
            if found is not None:
                yield found


def asked_binding(view: View) -> Binding | None:
    """Give what the request itself says of thoughts behind another prefix."""
    if CONTROLS not in view.betas:
        return None
    return _ASKED.get((view.thinking.get("block_binding") or {}).get("prefix_mismatch_behavior", ""))


def sealed_text(block: Json) -> str:
    """Give what the signature of a block covers."""
    return str(block.get("thinking", ""))


def signature_of(block: Json) -> str:
    """Give the signature of a block."""
    return str(block["data"] if block["type"] == "redacted_thinking" else block["signature"])


def _finding(place: Place, signer: Signer, *, is_latest: bool) -> Finding | None:
    seal = signer.open(signature_of(place.block))
    text = BAD_DATA if place.kind == "redacted_thinking" else BAD_SIGNATURE
    if seal is None:
        return Finding(_at(place, text))
    if seal.keys != signer.keys:
        return Finding(_at(place, text), is_stale=True)
    if seal.thought != digest(sealed_text(place.block)):
        return Finding(_at(place, MODIFIED if is_latest else text))
    return None


def _mismatch(place: Place, signer: Signer, *, model: str, prefix: Prefix, binding: Binding) -> Finding | None:
    seal = signer.open(signature_of(place.block))
    if seal is None:
        return None
    if seal.model != model:
        return Finding(_at(place, BOUND), drop=_drop(place, "model_binding_mismatch"))
    if seal.prefix == prefix or binding == "allow":
        return None
    wrong = _at(place, f"{BOUND} {_difference(seal, prefix)}")
    return Finding(wrong, drop=_drop(place, "prefix_binding_mismatch") if binding == "drop" else None)


def _difference(seal: Seal, prefix: Prefix) -> str:
    if seal.prefix.system != prefix.system:
        return "The `system` prompt differs from the one this block was created with."
    if seal.prefix.tools != prefix.tools:
        return "The `tools` differ from those this block was created with."
    return "The messages before it differ from those this block was created with."


def _drop(place: Place, reason: str) -> Json:
    return {"type": "thinking_dropped", "path": place.path, "reason": reason}


def _at(place: Place, text: str) -> Wrong:
    return Wrong(f"{place.path}: {text}", place.path)
