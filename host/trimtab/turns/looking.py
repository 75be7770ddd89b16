"""Looking without touching: what would be sent, and what was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trimtab.audit import PromptContextAudit, Resolved, parse_audit, preview_dict, resolve_messages
from trimtab.continuation import THREADS
from trimtab.report import Fit
from trimtab.snapshot import ContextSnapshot
from trimtab.turns.continuing import Standing
from trimtab.turns.generation import Generation, Ready, ready_call
from trimtab.turns.reading import Reader
from trimtab.turns.starting import Draft, draft_turn
from trimtab.turns.stateless import begin_generation
from trimtab.turns.targets import resolve_target
from trimtab_sdk.codec import Encoded
from trimtab_sdk.messages import Message

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.stateless import Question
    from trimtab.turns.work import Ask

_NOWHERE = "preview"


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next turn would send.

    `prompt` is in the provider's own format, `body` the whole request, empty for a provider without a server.
    `to_dict` gives the account of it.
    """

    fit: Fit
    snapshot: ContextSnapshot
    prompt: Encoded
    body: bytes = field(repr=False)
    audit: dict[str, object] = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """Give the preview as JSON values with camelCase keys."""
        return preview_dict(self.audit, self.prompt) | {"snapshot": self.snapshot.to_dict()}


async def count_chat(machinery: Machinery, ask: Ask) -> int:
    """Let the provider count what a turn would send; nothing is stored."""
    draft = await draft_turn(machinery, ask, turn_id=_NOWHERE, generation_id=_NOWHERE, looking=True)
    ready = _ready_of(draft)
    if draft.context is None:
        raise AssertionError("what is ready has a context")
    target = draft.context.recipe.target
    if target.mode == THREADS and ready.call.cursor is not None:
        ready = await machinery.in_pool(ready_call, draft.context, Standing(), _generation(machinery, ask))
    return await machinery.transport.count(target, ready.call, credentials=machinery.credentials.get(target.name))


def _generation(machinery: Machinery, ask: Ask) -> Generation:
    return Generation(generation_id=_NOWHERE, chat_id=ask.chat_id, turn_id=_NOWHERE, now=machinery.clock())


def _ready_of(draft: Draft) -> Ready:
    if draft.failure is not None:
        raise draft.failure
    if draft.ready is None:
        raise AssertionError("a draft is ready or has failed")
    return draft.ready


async def preview_chat(machinery: Machinery, ask: Ask) -> Preview:
    """Make ready what a turn would send, on a fork, and store nothing. Raises what a turn would fail with."""
    return _preview_of(
        _ready_of(await draft_turn(machinery, ask, turn_id=_NOWHERE, generation_id=_NOWHERE, looking=True))
    )


async def preview_question(machinery: Machinery, question: Question) -> Preview:
    """Make ready what would be sent for messages without a chat. Raises what a generation would raise."""
    return _preview_of((await begin_generation(machinery, question, looking=True)).the_ready)


def _preview_of(ready: Ready) -> Preview:
    body = ready.prepared.body if ready.prepared is not None else b""
    return Preview(ready.fit.fit, ready.snapshot, ready.call.prompt, body, ready.audit)


async def find_audit(machinery: Machinery, chat_id: str, *, owner: str) -> PromptContextAudit | None:
    """Give the audit of a chat's last generation as it ended or stands."""
    stored = await machinery.store.audit(chat_id, owner=owner)
    if stored is None:
        return None
    return parse_audit(stored.body, status=stored.status, error_code=stored.error_code)


async def resolve_audit(machinery: Machinery, chat_id: str, *, owner: str) -> Resolved | None:
    """Make the final messages of the last generation again, from the revisions that it names.

    Raises UnknownProviderError or ConfigError when its provider is not configured any more.
    """
    audit = await find_audit(machinery, chat_id, owner=owner)
    if audit is None:
        return None
    reader = _reader_for(machinery, audit)
    wanted = dict(audit.references)
    stored = await machinery.store.messages(chat_id, owner=owner)
    # Also what was left out: by it a codec knows which reasoning stood before a call.
    current = [one for one in stored if wanted.get(one.message.id, one.revision) == one.revision]
    read, _ = reader.read(reader.empty(), current, running=audit.turn_id)
    # The record speaks of parts as they are stored; what a driver gives back of an answer may be less.
    known: dict[tuple[str, int], Message | None] = {(one.message.id, one.revision): one.message for one in current}
    for name, revision in audit.references:
        if (name, revision) not in known:
            known[name, revision] = await machinery.store.message_at(chat_id, name, revision, owner=owner)
    return resolve_messages(
        audit,
        lookup=lambda name, revision: known.get((name, revision)),
        encode=lambda messages: reader.codec.encode(messages, read.native.originals),
    )


def _reader_for(machinery: Machinery, audit: PromptContextAudit) -> Reader:
    target = resolve_target(
        audit.provider,
        config=machinery.config,
        registry=machinery.registry,
        environ=machinery.environ,
        granted=machinery.credentials.keys(),
    )
    codec = machinery.registry.codec(audit.format, machinery.config)
    stale = audit.continuation.get("staleUntil", "")
    return Reader(
        target.name, target.provider, codec, audit.model, target.endpoint.settings, stale_until=str(stale)
    )
