"""The audit of a generation: what the model was given, block by block, and why the rest was left out.

    body = build_audit(held_fit, conversation=decoded.messages, stored=stored, chat_id=..., ...)  # before the call
    body = with_call(body, step=1, estimated=..., usage=..., finish="tool-calls")                 # after it
    body = with_next_step(body, build_audit(...))                           # before the next call of a tool loop
    audit = parse_audit(stored.body, status=stored.status, error_code=stored.error_code)          # for people

A body is plain JSON for the store. It never holds the text of a stored message that is sent as it is stored, or
that is left out: these are named by id and revision, and `resolve_messages` makes the prompt of them again. What
no store has is copied as it is sent: texts of plugins, cut messages, messages that are made anew each turn.
Keys, cursors, envelopes and what a server answered have no way in. What a plugin says in its own words, a note or
the text of its exception, stands in the diagnostics as in the report; what it printed does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.audits.building import build_audit, with_call, with_next_step, with_remarks
from trimtab.audits.changing import Revisioned
from trimtab.audits.model import (
    AuditStatus,
    Block,
    CallRecord,
    Change,
    ChangeKind,
    LeftOut,
    PartOf,
    PromptContextAudit,
)
from trimtab.audits.reading import parse_audit
from trimtab.audits.resolving import Resolved, prompt_digest, resolve_messages
from trimtab_sdk.codec import Encoded

__all__ = [
    "AuditStatus",
    "Block",
    "CallRecord",
    "Change",
    "ChangeKind",
    "LeftOut",
    "PartOf",
    "PromptContextAudit",
    "Resolved",
    "Revisioned",
    "build_audit",
    "parse_audit",
    "preview_dict",
    "prompt_digest",
    "resolve_messages",
    "with_call",
    "with_next_step",
    "with_remarks",
]

_ONLY_OF_TURNS = frozenset(
    {"generationId", "turnId", "status", "errorCode", "step", "calls", "requestDigest", "promptDigest"}
)


def preview_dict(body: Mapping[str, object], prompt: Encoded) -> dict[str, object]:
    """Give what a preview shows: the facts of an audit whose call is not made, and the final messages themselves.

    `prompt` is what would be sent, as the codec wrote it; `request` is the whole body where it is one.
    """
    said = parse_audit(body).to_dict()
    preview = {key: value for key, value in said.items() if key not in _ONLY_OF_TURNS}
    preview["messages"] = prompt.messages
    return preview if prompt.request is None else preview | {"request": prompt.request}
