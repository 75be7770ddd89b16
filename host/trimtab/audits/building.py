"""From a fit to the body of an audit: plain JSON in columns, small and quick to write.

schemaVersion, generationId, chatId, turnId, provider, model, strategy, format, step, createdAt
continuation, tools, requestDigest, promptDigest
tokenizer, budget, tokensBefore, recount, overhead, pluginCalls, diagnostics, calls
blocks   ids, roles, tokens: lists; revisions, sources, reasons: runs; approximate, incomplete, ephemeral,
         behindCursor: places in the lists
changes  id → kind, parts, name, plugin, covers, originalTokens; a part is an object, the number of a part of
         the stored message, or [id, number] of a part of another one
left     ids, roles, tokens: lists; revisions, reasons: runs
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from trimtab.audits.changing import Changes, Revisioned
from trimtab.audits.columns import to_runs
from trimtab.audits.model import CallRecord
from trimtab.fitting.cleaning import clean_note
from trimtab.report import Diagnostic, PluginCall
from trimtab_sdk.messages import Message
from trimtab_sdk.provider import Usage

if TYPE_CHECKING:
    pass
from trimtab.fitting.held import HeldFit

SCHEMA_VERSION = 1
_PRINTED = "plugin-output"
_TOLD = ("decision", "reason", "cause", "detail", "held", "sent", "staleUntil")


def build_audit(
    held: HeldFit,
    *,
    conversation: Sequence[Message],
    stored: Mapping[str, Revisioned],
    chat_id: str,
    provider: str,
    model: str,
    generation_id: str = "",
    turn_id: str = "",
    step: int = 1,
    continuation: Mapping[str, object] | None = None,
    behind_cursor: Collection[str] = (),
    tools: Iterable[str] = (),
    request_digest: str = "",
    prompt_digest: str = "",
    created_at: float,
) -> dict[str, object]:
    """Make the body of an audit, before the call it speaks of.

    - `conversation` is the whole of it, in order, as it was given to the fit; `stored` is id → stored message.
    - `continuation` is a decision's `to_dict()`; `behind_cursor` are the ids that the provider holds.
    - `tools` are names; `request_digest` is the SHA-256 of the body, `prompt_digest` is from the function of that
      name. Both may be left out.

    Holds no text of a stored message that is sent as it is stored or not sent: of these only id and revision.
    What plugins insert, what is cut and what no store has is copied as it is sent.
    """
    fit = held.fit
    gone = _gone(held, conversation)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "generationId": generation_id,
        "chatId": chat_id,
        "turnId": turn_id,
        "provider": provider,
        "model": model,
        "strategy": fit.strategy,
        "format": fit.format,
        "step": step,
        "createdAt": created_at,
        "continuation": {key: value for key, value in (continuation or {}).items() if key in _TOLD},
        "tools": list(tools),
        "requestDigest": request_digest,
        "promptDigest": prompt_digest,
        "tokenizer": fit.tokenizer.to_dict(),
        "budget": fit.budget.to_dict(),
        "tokensBefore": fit.tokens_before,
        "recount": fit.tokens_after,
        "overhead": fit.overhead,
        "pluginCalls": [_plugin_call(call) for call in fit.calls],
        "diagnostics": _diagnostics(fit.diagnostics),
        "calls": [],
        "blocks": _blocks(held, stored, behind_cursor),
        "changes": Changes(held, conversation, stored, gone).all(),
        "left": _left(held, gone, stored),
    }


def with_call(
    body: Mapping[str, object],
    *,
    step: int,
    estimated: int,
    usage: Usage | None = None,
    finish: str | None = None,
    milliseconds: float = 0.0,
    error_code: str = "",
    attempts: int = 1,
    provider: str = "",
    model: str = "",
) -> dict[str, object]:
    """Give the body with one more call to the provider, when that is over.

    - `estimated` is our recount of the request; `usage` is what the provider reported.
    - `error_code` is empty unless the call failed; `attempts` is how often the request was sent.
    - `provider` and `model` are those of the audit unless they are given.
    """
    call = CallRecord(
        step=step,
        provider=provider or str(body.get("provider")),
        model=model or str(body.get("model")),
        estimated_tokens=estimated,
        finish=finish or "",
        usage=usage,
        milliseconds=milliseconds,
        error_code=error_code,
        attempts=attempts,
    )
    return {**body, "calls": [*_calls_of(body), call.to_dict()]}


def with_remarks(body: Mapping[str, object], remarks: Sequence[str]) -> dict[str, object]:
    """Give the body with what a driver remarked on what the provider did to the request; at most 20 short ones."""
    told = [Diagnostic("provider-remark", clean_note(remark)).to_dict() for remark in remarks[:20]]
    known = body.get("diagnostics")
    return {**body, "diagnostics": [*known, *told] if isinstance(known, list) else told}


def with_next_step(body: Mapping[str, object], following: Mapping[str, object]) -> dict[str, object]:
    """Give the body of the next call of the same generation: its blocks and figures, and the calls made so far.

    `following` comes from `build_audit`. Raises ValueError when it is of another generation.
    """
    if following.get("generationId") != body.get("generationId"):
        raise ValueError("the next step belongs to another generation")
    calls = [*_calls_of(body), *_calls_of(following)]
    return {**following, "createdAt": body.get("createdAt"), "calls": calls}


def _calls_of(body: Mapping[str, object]) -> list[object]:
    calls = body.get("calls")
    if not isinstance(calls, list):
        raise ValueError("this is not the body of an audit")
    return calls


def _plugin_call(call: PluginCall) -> dict[str, object]:
    """What a plugin printed is for who runs it: nobody knows whose words are in it."""
    return {key: value for key, value in call.to_dict().items() if key != "output"}


def _diagnostics(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    return [diagnostic.to_dict() for diagnostic in diagnostics if diagnostic.code != _PRINTED]


def _gone(held: HeldFit, conversation: Iterable[Message]) -> dict[str, tuple[Message, str]]:
    """Give id → message and reason of what is not sent, in order."""
    left = _merged(held.left)
    return {message.id: (message, left[message.id]) for message in conversation if message.id in left}


def _left(
    held: HeldFit, gone: Mapping[str, tuple[Message, str]], stored: Mapping[str, Revisioned]
) -> dict[str, object]:
    costs = held.costs
    return {
        "ids": list(gone),
        "roles": [message.role for message, _ in gone.values()],
        "tokens": [costs[name].tokens for name in gone],
        "revisions": to_runs(_revision(stored.get(name)) for name in gone),
        "reasons": to_runs(reason for _, reason in gone.values()),
    }


def _merged(reasons: Mapping[str, str]) -> Mapping[str, str]:
    """Give a plain dict, since a chain of them is slow to ask."""
    if not isinstance(reasons, ChainMap):
        return reasons
    merged: dict[str, str] = {}
    for one in reversed(reasons.maps):
        merged.update(one)
    return merged


def _blocks(held: HeldFit, stored: Mapping[str, Revisioned], behind_cursor: Collection[str]) -> dict[str, object]:
    messages = held.messages
    known = [stored.get(message.id) for message in messages]
    costs = [held.costs[message.id] for message in messages]
    behind = frozenset(behind_cursor)
    return {
        "ids": [message.id for message in messages],
        "roles": [message.role for message in messages],
        "tokens": [cost.tokens for cost in costs],
        "revisions": to_runs(map(_revision, known)),
        "sources": to_runs(message.source for message in messages),
        "reasons": to_runs(_reasons(held)),
        "approximate": [at for at, cost in enumerate(costs) if cost.approximate],
        "incomplete": [at for at, one in enumerate(known) if one is not None and one.status != "complete"],
        "ephemeral": [at for at, message in enumerate(messages) if message.ephemeral],
        "behindCursor": [at for at, message in enumerate(messages) if message.id in behind] if behind else [],
    }


def _revision(stored: Revisioned | None) -> int | None:
    return None if stored is None else stored.revision


def _reasons(held: HeldFit) -> list[str]:
    """Why each message is in, in the words of the report."""
    own = {entry.id: entry.reason for entry in held.fit.truncated}
    own |= {one.message.id: _insert_reason(one.message) for one in held.inserted}
    known: dict[str, str] = {**dict.fromkeys(held.relevant, "relevant"), **held.protected, **own}
    return [known.get(message.id, "recent") for message in held.messages]


def _insert_reason(message: Message) -> str:
    return "summary" if message.source == "summary" else "plugin"
