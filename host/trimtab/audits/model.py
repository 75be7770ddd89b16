"""An audit as values: what was sent block by block, what left, which calls were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trimtab.audits.parts import part_to_dict
from trimtab.report import Budget, Diagnostic, PluginCall, TokenizerInfo
from trimtab.usage import sum_usage
from trimtab_sdk.messages import Part
from trimtab_sdk.provider import Usage

AuditStatus: TypeAlias = Literal["prepared", "completed", "failed", "cancelled"]
ChangeKind: TypeAlias = Literal["inserted", "shortened", "repaired", "unstored"]


@dataclass(frozen=True, slots=True)
class PartOf:
    """A part that is sent as it is stored: part `index` of the message `id`."""

    id: str
    index: int

    def to_dict(self) -> dict[str, object]:
        """Give the reference as JSON values."""
        return {"kind": "stored", "id": self.id, "part": self.index}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is sent of a block, where that is not the stored message.

    - `kind`: a plugin's text, a message cut to some of its spans, one that the wire had repaired, or one that is
      in no store.
    - `parts` are those that are sent; None: the stored ones, and only `name` is another one.
    - `plugin` and `covers` are of an inserted text: who added it, and the ids it stands for.
    - `original_tokens` is what a shortened message cost before.
    """

    kind: ChangeKind
    parts: tuple[Part | PartOf, ...] | None = None
    name: str | None = None
    plugin: str = ""
    covers: tuple[str, ...] = ()
    original_tokens: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Give the change as JSON values; keys that say nothing are left out."""
        said: dict[str, object] = {"change": self.kind}
        if self.parts is not None:
            said["parts"] = [
                part.to_dict() if isinstance(part, PartOf) else part_to_dict(part) for part in self.parts
            ]
        rest: dict[str, object] = {
            "name": self.name,
            "plugin": self.plugin,
            "covers": list(self.covers),
            "originalTokens": self.original_tokens,
        }
        return said | {key: value for key, value in rest.items() if value not in (None, "", [])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A message of the prompt, as it was sent.

    - `revision` is that of the stored message; None where there is none.
    - `tokens` is what it costs as it is sent, `approximate` whether no published rule gives the figure.
    - `reason` is why it is in: a word of the report.
    - `incomplete` marks an answer that was cut off, `ephemeral` a message that is made anew each turn.
    - `behind_cursor`: the provider holds it, so it was not sent again.
    """

    id: str
    role: str
    source: str
    tokens: int
    reason: str
    revision: int | None = None
    approximate: bool = False
    incomplete: bool = False
    ephemeral: bool = False
    behind_cursor: bool = False
    change: Change | None = None

    def to_dict(self) -> dict[str, object]:
        """Give the block as JSON values; keys that say nothing are left out."""
        said: dict[str, object] = {
            "id": self.id,
            "revision": self.revision,
            "role": self.role,
            "source": self.source,
            "tokens": self.tokens,
            "reason": self.reason,
        }
        flags = {
            "approximate": self.approximate,
            "incomplete": self.incomplete,
            "ephemeral": self.ephemeral,
            "behindCursor": self.behind_cursor,
        }
        said |= {key: value for key, value in flags.items() if value}
        return said if self.change is None else said | self.change.to_dict()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A message that was not sent, what it would have cost, and why it left."""

    id: str
    role: str
    tokens: int
    reason: str
    revision: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Give the message as JSON values."""
        return {
            "id": self.id,
            "revision": self.revision,
            "role": self.role,
            "tokens": self.tokens,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call to a provider, when it is over.

    - `step` counts the calls of a generation from 1; `attempts` is how often the request was sent.
    - `finish` is why the answer ended, empty when there is none; `error_code` is empty unless the call failed.
    - `usage` is what the provider reported, `estimated_tokens` our recount of the same request.
    """

    step: int
    provider: str
    model: str
    estimated_tokens: int
    finish: str = ""
    usage: Usage | None = None
    milliseconds: float = 0.0
    error_code: str = ""
    attempts: int = 1

    def to_dict(self) -> dict[str, object]:
        """Give the call as JSON values; keys that say nothing are left out."""
        said: dict[str, object] = {
            "step": self.step,
            "provider": self.provider,
            "model": self.model,
            "estimatedInputTokens": self.estimated_tokens,
            "milliseconds": round(self.milliseconds, 1),
            "attempts": self.attempts,
        }
        if self.finish:
            said["finish"] = self.finish
        if self.usage is not None:
            said["usage"] = {key: value for key, value in self.usage.to_dict().items() if key != "kind"}
        return said | {"errorCode": self.error_code} if self.error_code else said


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContextAudit:
    """The record of what a model was given in one generation; of a tool loop, in its last call.

    - `blocks` is everything in the prompt in its order, `left_out` everything that is not in it.
    - `recount` is what the request costs by our count: the blocks and `overhead`. `tokens_before` is what the
      whole conversation would have cost.
    - `continuation` is how the turn carried on with its provider; `tools` are the names of those on offer.
    - `request_digest` is the SHA-256 of the body that was sent, `prompt_digest` that of its messages alone; empty
      where nobody asked for it.
    - `calls` are the calls to the provider so far, `plugin_calls` those of plugins.
    - `error_code` is empty unless `status` is `failed`. `created_at` is in seconds since 1970.
    """

    generation_id: str
    chat_id: str
    turn_id: str
    provider: str
    model: str
    strategy: str
    format: str
    step: int
    created_at: float
    tokenizer: TokenizerInfo
    budget: Budget
    tokens_before: int
    recount: int
    overhead: int
    blocks: tuple[Block, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    plugin_calls: tuple[PluginCall, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    continuation: Mapping[str, object] = field(default_factory=dict, hash=False)
    tools: tuple[str, ...] = ()
    request_digest: str = ""
    prompt_digest: str = ""
    status: AuditStatus = "prepared"
    error_code: str = ""

    @property
    def usage(self) -> Usage | None:
        """What the provider reported of all calls of the generation together."""
        return sum_usage(call.usage for call in self.calls)

    @property
    def references(self) -> tuple[tuple[str, int], ...]:
        """The stored messages that the prompt can be made of again: (id, revision), each once."""
        revisions = {block.id: block.revision for block in self.blocks if block.revision is not None}
        wanted = dict.fromkeys(revisions.items())
        left = {one.id: one.revision for one in self.left_out if one.revision is not None}
        for part in self._parts():
            revision = revisions.get(part.id, left.get(part.id))
            if revision is not None:
                wanted[part.id, revision] = None
        return tuple(wanted)

    def _parts(self) -> list[PartOf]:
        changes = [block.change for block in self.blocks if block.change is not None]
        return [part for change in changes for part in change.parts or () if isinstance(part, PartOf)]

    def to_dict(self) -> dict[str, object]:
        """Give the audit as JSON values with camelCase keys, an object for each block."""
        usage = self.usage
        said: dict[str, object] = {
            "generationId": self.generation_id,
            "chatId": self.chat_id,
            "turnId": self.turn_id,
            "status": self.status,
            "errorCode": self.error_code,
            "createdAt": self.created_at,
            "provider": self.provider,
            "model": self.model,
            "strategy": self.strategy,
            "format": self.format,
            "step": self.step,
            "continuation": dict(self.continuation),
            "tools": list(self.tools),
            "tokenizer": self.tokenizer.to_dict(),
            "budget": self.budget.to_dict(),
            "tokensBefore": self.tokens_before,
            "recount": self.recount,
            "overhead": self.overhead,
            "blocks": [block.to_dict() for block in self.blocks],
            "leftOut": [one.to_dict() for one in self.left_out],
            "pluginCalls": [call.to_dict() for call in self.plugin_calls],
            "diagnostics": [diagnostic.to_dict() for diagnostic in self.diagnostics],
            "calls": [call.to_dict() for call in self.calls],
            "requestDigest": self.request_digest,
            "promptDigest": self.prompt_digest,
        }
        if usage is not None:
            said["usage"] = {key: value for key, value in usage.to_dict().items() if key != "kind"}
        return said
