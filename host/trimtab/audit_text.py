"""An audit for people: one plain sentence, then what was sent and what left, as tables of clean cells.

The tables are for `trimtab.cli.tables.print_table`; `as_fit` gives what `trimtab.cli.report.print_report` prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from trimtab.audits.model import Block, CallRecord, LeftOut, PromptContextAudit
from trimtab.cli.screen import clean, number
from trimtab.report import Entry, Fit

_WORDS: Mapping[str, str] = {
    "prepared": "is being given",
    "completed": "was given",
    "failed": "was to be given",
    "cancelled": "was given",
}


def headline(audit: PromptContextAudit) -> str:
    """Say in a few plain words who was given how much, what left, what was added and how it ended."""
    window = audit.budget.available
    sentences = [
        f"{clean(audit.provider, limit=80)} {_WORDS[audit.status]} {_many(len(audit.blocks), 'message')} for "
        f"{clean(audit.model, limit=80)}: {audit.recount:,} of {window:,} tokens",
        _said_of_left(audit),
        *_said_of_changes(audit),
        *_said_of_end(audit),
    ]
    return ". ".join(sentences) + "."


def _said_of_left(audit: PromptContextAudit) -> str:
    if not audit.left_out:
        return "No message was left out"
    reasons = Counter(clean(one.reason, limit=40) for one in audit.left_out).most_common()
    why = ", ".join(f"{many:,} {reason}" for reason, many in reasons)
    return f"{_many(len(audit.left_out), 'message')} {_were(len(audit.left_out))} left out ({why})"


def _said_of_changes(audit: PromptContextAudit) -> list[str]:
    kinds = Counter(block.change.kind for block in audit.blocks if block.change is not None)
    behind = sum(block.behind_cursor for block in audit.blocks)
    said: list[str] = []
    if kinds["shortened"]:
        said.append(f"{_many(kinds['shortened'], 'message')} {_were(kinds['shortened'])} shortened")
    if kinds["inserted"]:
        said.append(f"{_many(kinds['inserted'], 'text')} of plugins {_were(kinds['inserted'])} added")
    if behind:
        said.append(f"The provider held {behind:,} of the messages already")
    return said


def _said_of_end(audit: PromptContextAudit) -> list[str]:
    if audit.status == "failed":
        return [f"It failed: {clean(audit.error_code, limit=80) or 'no code was kept'}"]
    if audit.status == "cancelled":
        return ["It was cancelled"]
    usage = audit.usage
    if usage is None or usage.input_tokens is None:
        return []
    return [f"The provider counted {usage.input_tokens:,} tokens in {_many(len(audit.calls), 'call')}"]


def sent_table(audit: PromptContextAudit) -> dict[str, list[str]]:
    """Give name → cells of what was sent, a row for each block in its order."""
    return {
        "#": [str(at) for at in range(1, len(audit.blocks) + 1)],
        "id": [clean(block.id, limit=200) for block in audit.blocks],
        "role": [clean(block.role, limit=40) for block in audit.blocks],
        "tokens": [number(block.tokens) for block in audit.blocks],
        "reason": [clean(block.reason, limit=40) for block in audit.blocks],
        "message": [_remark(block) for block in audit.blocks],
    }


def _remark(block: Block) -> str:
    """Say what is not usual about a block."""
    said: list[str] = []
    change = block.change
    if change is not None and change.kind == "inserted":
        said.append(f"added by {clean(change.plugin, limit=80)}")
    if change is not None and change.covers:
        said.append(f"in place of {_many(len(change.covers), 'message')}")
    if change is not None and change.kind == "shortened":
        said.append(f"shortened from {number(change.original_tokens)}")
    if change is not None and change.kind == "repaired":
        said.append("repaired for the wire")
    if block.revision is not None and block.revision > 1:
        said.append(f"revision {block.revision:,}")
    flags = {
        "made for this turn": block.ephemeral,
        "cut off": block.incomplete,
        "held by the provider": block.behind_cursor,
    }
    return ", ".join([*said, *(word for word, is_so in flags.items() if is_so)])


def left_table(audit: PromptContextAudit) -> dict[str, list[str]]:
    """Give name → cells of what was left out, a row for each message in its order."""
    return {
        "id": [clean(one.id, limit=200) for one in audit.left_out],
        "role": [clean(one.role, limit=40) for one in audit.left_out],
        "tokens": [number(one.tokens) for one in audit.left_out],
        "reason": [clean(one.reason, limit=40) for one in audit.left_out],
    }


def call_lines(audit: PromptContextAudit) -> list[str]:
    """Give a line for each call to the provider: its step, how it ended, our count beside the reported one."""
    return [_call_line(call) for call in audit.calls]


def _call_line(call: CallRecord) -> str:
    ended = clean(call.finish or call.error_code or "no end", limit=80)
    counted = f"{call.estimated_tokens:,} tokens by our count"
    if call.usage is not None and call.usage.input_tokens is not None:
        counted += f", {call.usage.input_tokens:,} reported"
    line = f"call {call.step}: {ended} after {number(round(call.milliseconds))} ms, {counted}"
    return line if call.attempts == 1 else f"{line}, {call.attempts:,} attempts"


def as_fit(audit: PromptContextAudit) -> Fit:
    """Give the report of the fit behind an audit, without the messages: for the window, its tables and notes.

    `index` of a kept message is its place in the prompt; of what left no place is known.
    """
    kinds = {block.id: block.change.kind for block in audit.blocks if block.change is not None}
    rows = [(kinds.get(block.id, ""), _entry(block, at)) for at, block in enumerate(audit.blocks)]
    changed = ("inserted", "shortened")
    return Fit(
        messages=[],
        request=None,
        model=audit.model,
        strategy=audit.strategy,
        format=audit.format,
        tokenizer=audit.tokenizer,
        budget=audit.budget,
        tokens_before=audit.tokens_before,
        tokens_after=audit.recount,
        overhead=audit.overhead,
        kept=[entry for kind, entry in rows if kind not in changed],
        excluded=[_left_entry(one) for one in audit.left_out],
        truncated=[entry for kind, entry in rows if kind == "shortened"],
        inserted=[entry for kind, entry in rows if kind == "inserted"],
        diagnostics=audit.diagnostics,
        calls=audit.plugin_calls,
    )


def _entry(block: Block, place: int) -> Entry:
    change = block.change
    return Entry(
        id=block.id,
        index=None if change is not None and change.kind == "inserted" else place,
        role=block.role,
        tokens=block.tokens,
        reason=block.reason,
        approximate=block.approximate,
        original_tokens=change.original_tokens if change is not None else None,
        plugin=change.plugin if change is not None else "",
    )


def _left_entry(one: LeftOut) -> Entry:
    return Entry(id=one.id, index=None, role=one.role, tokens=one.tokens, reason=one.reason)


def _many(many: int, what: str) -> str:
    return f"{many:,} {what}" if many == 1 else f"{many:,} {what}s"


def _were(many: int) -> str:
    return "was" if many == 1 else "were"
