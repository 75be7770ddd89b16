"""Signatures of thoughts: opaque to a client, to the server a seal on the steps before and on the thought."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from fakes.chat_replies import Json

SENTINEL = "skip_thought_signature_validator"
"""What Google documents for calls that another provider's model made."""
_KEY = b"the key of a fake server"


@dataclass(frozen=True, slots=True)
class Seal:
    """What a signature says: a hash of the steps before, one of the thought, and how often keys had changed."""

    prefix: str
    thought: str
    keys: int


class Signer:
    """Makes signatures and opens them again."""

    def __init__(self) -> None:
        self.keys = 0

    def sign(self, before: Sequence[Json], summary: Json) -> str:
        """Sign a thought with this summary behind these steps; base64."""
        said = f"{digest(before)}.{digest(summary)}.{self.keys}".encode()
        return base64.b64encode(said + b"." + _mac(said)).decode()

    def open(self, signature: str) -> Seal | None:
        """Read a signature; None for one that was not made here, or was altered."""
        try:
            said, _, mac = base64.b64decode(signature, validate=True).rpartition(b".")
        except (binascii.Error, ValueError):
            return None
        if not hmac.compare_digest(mac, _mac(said)):
            return None
        prefix, thought, keys = said.decode().split(".")
        return Seal(prefix, thought, int(keys))


def digest(value: Json) -> str:
    """Hash a JSON value, whatever the order of its keys; empty values count as absent ones."""
    text = json.dumps(_filled(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _filled(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _filled(inner) for key, inner in value.items() if inner is not None and inner != []}
    return [_filled(inner) for inner in value] if isinstance(value, list | tuple) else value


def _mac(said: bytes) -> bytes:
    return hmac.new(_KEY, said, hashlib.sha256).hexdigest()[:32].encode()
