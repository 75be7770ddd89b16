"""Items as they are sent, and as a model sees them: without ids and status, text in one form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from fakes.chat_replies import Json
from fakes.responses_seals import Seals

Item: TypeAlias = dict[str, Json]
CALLS = {
    f"{kind}_call": f"{kind}_call_output"
    for kind in ("function", "custom_tool", "computer", "shell", "apply_patch")
}
"""The kinds of call whose output a client sends, each with the kind of that output."""
_UNSEEN = ("id", "status", "created_by")
_UNSEEN_IN_PARTS = ("annotations", "logprobs", "prompt_cache_breakpoint", "detail")


def type_of(item: Item) -> str:
    """Give an item's type; messages and references may leave their own out."""
    return str(item.get("type") or ("item_reference" if set(item) == {"id"} else "message"))


def items_of(body: Json) -> list[Item]:
    """Give the input of a body as items; a text is one user message."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
    return list(given or ())


def is_answer(item: Item) -> bool:
    """Whether an item is the model's own, other than its reasoning."""
    kind = type_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind.endswith("_call")


@dataclass(frozen=True, slots=True)
class Piece:
    """An item as it was sent, and as a model sees it; of reasoning also the model and the prefix it belongs to."""

    sent: Item
    seen: Item
    model: str | None = None
    prefix: str | None = None

    @property
    def kind(self) -> str:
        """The item's type."""
        return type_of(self.sent)


def piece_of(item: Item, seals: Seals) -> Piece:
    """Read an item. Raises SealError for encrypted content that cannot be read."""
    kind = type_of(item)
    if kind == "message":
        return Piece(item, _shown_message(item))
    if kind == "reasoning":
        return _thought(item, seals)
    if kind == "compaction":
        return Piece(item, {"type": kind, "covers": seals.open(item["encrypted_content"])["covers"]})
    return Piece(item, {key: value for key, value in item.items() if key not in _UNSEEN})


def _thought(item: Item, seals: Seals) -> Piece:
    if item.get("encrypted_content"):
        inner = seals.open(item["encrypted_content"])
        seen = {"type": "reasoning", "id": item["id"], "text": inner["text"]}
        return Piece(item, seen, inner["model"], inner["prefix"])
    parts = [*item["summary"], *(item.get("content") or ())]
    return Piece(item, {"type": "reasoning", "id": item["id"], "text": "".join(part["text"] for part in parts)})


def next_prefix(prefix: str, item: Item) -> str:
    """Name the items before a piece of reasoning, one by one; other reasoning and phases do not count."""
    if item["type"] == "reasoning":
        return prefix
    seen = {key: value for key, value in item.items() if key != "phase"}
    text = prefix + json.dumps(seen, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def unfolded(items: Iterable[Item]) -> list[Item]:
    """Put what compactions cover in their place; `items` as a model sees them."""
    whole: list[Item] = []
    for item in items:
        whole += unfolded(item["covers"]) if item["type"] == "compaction" else [item]
    return whole


def _shown_message(item: Item) -> Item:
    content = item["content"]
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    parts = [{"type": kind, "text": content}] if isinstance(content, str) else [_shown_part(p) for p in content]
    phase = {"phase": item["phase"]} if item.get("phase") else {}
    return {"type": "message", "role": item["role"], "content": parts, **phase}


def _shown_part(part: Item) -> Item:
    return {key: value for key, value in part.items() if key not in _UNSEEN_IN_PARTS}
