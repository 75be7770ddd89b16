"""Hand-made fits for tests of what is printed."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.report import Budget, Diagnostic, Entry, Fit, PluginCall, TokenizerInfo


def entry(
    index: int | None,
    tokens: int,
    reason: str,
    *,
    role: str = "user",
    name: str | None = None,
    original_tokens: int | None = None,
    plugin: str = "",
) -> Entry:
    return Entry(
        id=f"m{index}" if name is None else name,
        index=index,
        role=role,
        tokens=tokens,
        reason=reason,
        original_tokens=original_tokens,
        plugin=plugin,
    )


def fit_of(
    *,
    kept: Sequence[Entry] = (),
    excluded: Sequence[Entry] = (),
    truncated: Sequence[Entry] = (),
    inserted: Sequence[Entry] = (),
    diagnostics: Sequence[Diagnostic] = (),
    calls: Sequence[PluginCall] = (),
    budget: Budget | None = None,
    tokenizer: TokenizerInfo | None = None,
    overhead: int = 3,
) -> Fit:
    after = overhead + sum(one.tokens for one in (*kept, *truncated, *inserted))
    left = sum(one.tokens for one in excluded)
    return Fit(
        messages=[],
        request=None,
        model="gpt-4o",
        strategy="truncate",
        format="chat-completions",
        tokenizer=tokenizer or TokenizerInfo("o200k_base", "1", approximate=False),
        budget=budget or Budget(available=1000, reserve=200, context_limit=1200),
        tokens_before=after + left,
        tokens_after=after,
        overhead=overhead,
        kept=tuple(kept),
        excluded=tuple(excluded),
        truncated=tuple(truncated),
        inserted=tuple(inserted),
        diagnostics=tuple(diagnostics),
        calls=tuple(calls),
    )
