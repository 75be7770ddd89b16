"""What the Messages API binds thinking to: system text, tools, and all blocks in front of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab_plugins.providers.messages_request import as_sent
from trimtab_sdk import BoundBlock, ProviderCall

_SEALS = {"thinking": "signature", "redacted_thinking": "data"}


def head_of(call: ProviderCall) -> object:
    """Give what a request has in front of its messages."""
    request = call.prompt.request or {}
    return [[*map(_bare, _listed(request.get("system")))], [*map(_bare, call.tools)]]


def blocks_of(message: object, settings: Mapping[str, object]) -> tuple[BoundBlock, ...]:
    """Give the blocks of a message as the API reads them; a text is one block, and messages in a row are one."""
    sent = as_sent(message, settings)
    if not isinstance(sent, Mapping):
        return ()
    role = sent.get("role")
    return tuple(BoundBlock([role, _bare(block)], _seal(block)) for block in _listed(sent.get("content")))


def _listed(content: object) -> Sequence[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list | tuple) else []


def _seal(block: object) -> str | None:
    if not isinstance(block, Mapping):
        return None
    seal = block.get(_SEALS.get(str(block.get("type")), ""))
    return seal if isinstance(seal, str) and seal else None


def _bare(block: object) -> object:
    """Give a block without marks for the cache, its own and those in a result."""
    if not isinstance(block, Mapping):
        return block
    inner = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list | tuple):
        block = {**block, "content": [*map(_bare, inner)]}
    if "cache_control" not in block:
        return block
    return {key: value for key, value in block.items() if key != "cache_control"}
