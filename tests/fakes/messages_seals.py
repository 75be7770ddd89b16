"""Signatures of thinking: opaque to a client, to the server a seal on what the block says and stands behind."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fakes.chat_replies import Json
from fakes.messages_context import Place, View, blocks_of

_KEY = b"the key of a fake server"
START = "start"


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before a block, hashed: the system prompt, the tools, the blocks of the messages."""

    system: str
    tools: str
    blocks: str

    def then(self, role: str, block: Json) -> Prefix:
        """Give the prefix behind one more block."""
        return Prefix(self.system, self.tools, linked(self.blocks, role, block))


@dataclass(frozen=True, slots=True)
class Seal:
    """What a signature says: the prefix, a hash of the thought, the model, and how often keys had changed."""

    prefix: Prefix
    thought: str
    model: str
    keys: int


class Signer:
    """Makes signatures and opens them again."""

    def __init__(self) -> None:
        self.keys = 0

    def sign(self, text: str, *, prefix: Prefix, model: str) -> str:
        """Sign a thought; base64."""
        fields = [prefix.system, prefix.tools, prefix.blocks, digest(text), model, self.keys]
        said = json.dumps(fields).encode()
        return base64.b64encode(_mac(said) + said).decode()

    def open(self, signature: str) -> Seal | None:
        """Read a signature; None for one that was not made here, or was altered."""
        try:
            whole = base64.b64decode(signature, validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, said = whole[:16], whole[16:]
        if not hmac.compare_digest(mac, _mac(said)) or base64.b64encode(whole).decode() != signature:
            return None
        system, tools, blocks, thought, model, keys = json.loads(said)
        return Seal(Prefix(system, tools, blocks), thought, model, keys)


def head_of(view: View) -> Prefix:
    """Give the prefix before the first message."""
    return Prefix(digest(view.system), digest(view.tools), START)


def prefixes(head: Prefix, places: Iterable[Place]) -> list[Prefix]:
    """Give the prefix before each block, and the one behind the last."""
    found = [head]
    for place in places:
        found.append(found[-1].then(place.role, place.block))
    return found


def linked(before: str, role: str, block: Json) -> str:
    """Hash one more block behind others."""
    return digest([before, role, block])


def digests(role: str, blocks: Sequence[Json]) -> list[str]:
    """Hash blocks one by one."""
    return [digest([role, block]) for block in blocks]


def digest(value: Json) -> str:
    """Hash a JSON value, however it is written: order of keys, empty values and cache marks do not count."""
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(value: Json) -> Json:
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "tool_result":
        value = {
            **value,
            "content": blocks_of(value.get("content") or []),
            "is_error": value.get("is_error") or None,
        }
    return {
        key: _plain(inner)
        for key, inner in value.items()
        if inner is not None and inner != [] and key != "cache_control"
    }


def _mac(said: bytes) -> bytes:
    return hmac.new(_KEY, said, hashlib.sha256).digest()[:16]
