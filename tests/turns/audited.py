"""Fits of held conversations with what their audits stand on, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import trimtab
from trimtab.audit import PromptContextAudit, Resolved, build_audit, parse_audit, prompt_digest, resolve_messages
from trimtab.fitting.held import HeldConversation, HeldFit
from trimtab.opening import Options, open_conversation
from trimtab.store.protocol import StoredMessage
from trimtab_sdk import Decoded, Encoded, Message
from trimtab_sdk.codec import Codec


@dataclass(frozen=True)
class Audited:
    """A fit, the stored messages it was made of, and the body of its audit."""

    codec: Codec
    decoded: Decoded
    held: HeldFit
    stored: dict[str, StoredMessage]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The body as it is stored."""
        return json.dumps(self.body)

    @property
    def audit(self) -> PromptContextAudit:
        """The body read back from its JSON text."""
        return parse_audit(json.loads(self.text))

    def encode(self, messages: Sequence[Message]) -> Encoded:
        """Write messages as the fit did."""
        return self.codec.encode(messages, self.decoded.originals)

    def lookup(self, name: str, revision: int) -> Message | None:
        """Give a message of the store."""
        known = self.stored.get(name)
        return known.message if known is not None and known.revision == revision else None

    def resolve(self) -> Resolved:
        """Make the prompt again."""
        return resolve_messages(self.audit, lookup=self.lookup, encode=self.encode)


def audited(
    chat: object,
    limit: int = 100_000,
    *,
    unstored: Sequence[str] = (),
    changed: Sequence[Message] = (),
    pins: Sequence[str] = (),
    registry: trimtab.ContextStrategyRegistry | None = None,
    config: trimtab.Config | None = None,
    format: str = "neutral",
    strategy: str = "truncate",
    settings: dict[str, object] | None = None,
    **given: Any,
) -> Audited:
    """Fit a conversation and audit it. `unstored` are ids no store has, `changed` messages it has otherwise."""
    options = Options(
        model="gpt-4.1",
        strategy=strategy,
        context_limit=limit,
        reserve=0,
        format=format,
        settings=settings,
        registry=registry,
        config=config,
    )
    opened = open_conversation(chat, options)
    held = HeldConversation(opened.setup, opened.decoded, pins=pins).fit()
    messages = [one for one in opened.decoded.messages if one.id not in unstored]
    stored = {one.id: StoredMessage(message=one, seq=at) for at, one in enumerate(messages, 1)}
    stored |= {one.id: replace(stored[one.id], message=one) for one in changed}
    facts: dict[str, Any] = {
        "conversation": opened.decoded.messages,
        "stored": stored,
        "chat_id": "chat-1",
        "turn_id": "turn-1",
        "generation_id": "gen-1",
        "provider": "openai-compatible",
        "model": "gpt-4.1",
        "prompt_digest": prompt_digest(held.encoded),
        "created_at": 1_700_000_000.0,
    }
    return Audited(opened.setup.codec, opened.decoded, held, stored, build_audit(held, **{**facts, **given}))
