"""The prompt of an audit made again, from the stored messages and the texts that were copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeAlias, cast

from trimtab.audits.model import Block, PartOf, PromptContextAudit
from trimtab.memo_json import MemoJson
from trimtab_sdk.codec import Encoded
from trimtab_sdk.messages import Message, Part, Role, Source

Lookup: TypeAlias = Callable[[str, int], Message | None]
Encode: TypeAlias = Callable[[Sequence[Message]], Encoded]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The prompt again.

    - `messages` are those of the provider, as its codec writes them: without what stands behind a cursor.
    - `missing` are (id, revision) that no store has any more; what needs them is not in `messages`.
    - `matches` tells whether they are the very messages that were sent; None when that cannot be told, because
      something is missing or no digest was kept.
    """

    messages: tuple[object, ...]
    missing: tuple[tuple[str, int], ...]
    matches: bool | None


def prompt_digest(prompt: Encoded, *, memo: MemoJson | None = None) -> str:
    """Give the SHA-256 of a written prompt: of the body where the codec made one, else of its messages.

    `memo` knows how messages of former prompts were written.
    """
    memo = memo if memo is not None else MemoJson()
    if prompt.request is None:
        return memo.digest(prompt.messages)
    return sha256(memo.dumps(prompt.request)).hexdigest()


def resolve_messages(audit: PromptContextAudit, *, lookup: Lookup, encode: Encode) -> Resolved:
    """Give the provider's messages again.

    `lookup` gives a stored message at a revision, of those that `audit.references` names; `encode` writes messages
    as the codec of the audit's format did, with the wire forms that are stored.
    """
    found = {(name, revision): lookup(name, revision) for name, revision in audit.references}
    known = {name: message for (name, _), message in found.items() if message is not None}
    made = [_message(block, known) for block in audit.blocks if not block.behind_cursor]
    prompt = encode([message for message in made if message is not None])
    missing = tuple(key for key, message in found.items() if message is None)
    told = audit.prompt_digest and not missing and None not in made
    return Resolved(
        messages=tuple(prompt.messages),
        missing=missing,
        matches=prompt_digest(prompt) == audit.prompt_digest if told else None,
    )


def _message(block: Block, known: dict[str, Message]) -> Message | None:
    """Give the message as it was sent, None when something of it is gone."""
    change = block.change
    stored = known.get(block.id)
    if stored is None and (block.revision is not None or change is None):
        return None
    role, source = cast("Role", block.role), cast("Source", block.source)
    if stored is not None and change is None:
        same = stored.role == role and stored.source == source
        return stored if same else replace(stored, role=role, source=source)
    name = change.name if change is not None else None
    parts = _parts(change.parts if change is not None else None, stored, known)
    if parts is None:
        return None
    if stored is not None:
        return replace(stored, role=role, source=source, name=name, parts=parts)
    return Message(block.id, role, parts, name, source, ephemeral=block.ephemeral)


def _parts(
    parts: Sequence[Part | PartOf] | None, stored: Message | None, known: dict[str, Message]
) -> tuple[Part, ...] | None:
    if parts is None:
        return stored.parts if stored is not None else None
    made: list[Part] = []
    for part in parts:
        if isinstance(part, PartOf):
            of = known.get(part.id)
            if of is None or part.index >= len(of.parts):
                return None
            made.append(of.parts[part.index])
        else:
            made.append(part)
    return tuple(made)
