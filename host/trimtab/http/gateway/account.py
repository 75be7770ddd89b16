"""What became of a conversation on its way: in headers, and at the end of a stream as a comment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.report import Entry, Fit

_MOST_ENTRIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of one answer's context. All figures of tokens are the host's own count.

    - `limit` is the model's window where that is known, else the budget.
    - `excluded`, `truncated`, `inserted`: JSON values, one for each message.
    - `left_out`: fields of the request that the provider has no place for; `not_returned`: what of the answer a
      client of Chat Completions cannot send again, so that the provider will not have it next time.
    """

    provider: str
    model: str
    strategy: str
    tokens_before: int
    tokens_after: int
    limit: int
    budget: int
    excluded: tuple[Mapping[str, object], ...] = ()
    truncated: tuple[Mapping[str, object], ...] = ()
    inserted: tuple[Mapping[str, object], ...] = ()
    notes: tuple[Mapping[str, object], ...] = ()
    left_out: tuple[str, ...] = ()
    not_returned: tuple[str, ...] = ()

    def with_unreturned(self, names: Iterable[str]) -> Account:
        """Give the account of an answer parts of which cannot be sent again."""
        return replace(self, not_returned=tuple(names))

    def headers(self) -> dict[str, str]:
        """Give the figures as headers."""
        headers = {
            "x-trimtab-tokens-before": str(self.tokens_before),
            "x-trimtab-tokens-after": str(self.tokens_after),
            "x-trimtab-limit": str(self.limit),
            "x-trimtab-excluded": str(len(self.excluded)),
            "x-trimtab-truncated": str(len(self.truncated)),
            "x-trimtab-inserted": str(len(self.inserted)),
            "x-trimtab-strategy": self.strategy,
        }
        if self.left_out:
            headers["x-trimtab-left-out"] = ",".join(self.left_out)
        return headers

    def comment(self) -> bytes:
        """Give the account as a comment of a stream, on one line: `: trimtab {…}`."""
        return b": trimtab " + json.dumps(self.to_dict()).encode() + b"\n\n"

    def to_dict(self) -> dict[str, object]:
        """Give the account as JSON values with camelCase keys."""
        told: dict[str, object] = {
            "provider": self.provider,
            "model": self.model,
            "strategy": self.strategy,
            "tokensBefore": self.tokens_before,
            "tokensAfter": self.tokens_after,
            "limit": self.limit,
            "budget": self.budget,
            "excluded": list(self.excluded[:_MOST_ENTRIES]),
            "truncated": list(self.truncated[:_MOST_ENTRIES]),
            "inserted": list(self.inserted[:_MOST_ENTRIES]),
        }
        more = max(map(len, (self.excluded, self.truncated, self.inserted))) > _MOST_ENTRIES
        said = {
            "cut": more,
            "notes": list(self.notes[:_MOST_ENTRIES]),
            "leftOut": list(self.left_out),
            "notReturned": list(self.not_returned),
        }
        return told | {key: value for key, value in said.items() if value}


def account_of(fit: Fit, *, provider: str, left_out: tuple[str, ...]) -> Account:
    """Give the account of a fit."""
    return Account(
        provider=provider,
        model=fit.model,
        strategy=fit.strategy,
        tokens_before=fit.tokens_before,
        tokens_after=fit.tokens_after,
        limit=fit.budget.context_limit or fit.budget.available,
        budget=fit.budget.available,
        excluded=_told(fit.excluded),
        truncated=_told(fit.truncated),
        inserted=_told(fit.inserted),
        notes=tuple(one.to_dict() for one in fit.diagnostics),
        left_out=left_out,
    )


def _told(entries: Sequence[Entry]) -> tuple[Mapping[str, object], ...]:
    return tuple(entry.to_dict() for entry in entries)
