"""How full the window is: the snapshot after a fit or a turn, with a severity to show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from trimtab.report import Fit
    from trimtab_sdk.provider import Usage

Severity: TypeAlias = Literal["normal", "info", "warning", "danger", "critical"]

_STEPS: tuple[tuple[float, Severity], ...] = (
    (0.70, "normal"),
    (0.85, "info"),
    (0.92, "warning"),
    (0.97, "danger"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSnapshot:
    """Tokens in the window against its limit.

    - `estimated_input_tokens` is the host's recount of what was sent, `reported_input_tokens` what the provider
      said, None where it said nothing. `context_limit` and `budget` are tokens, the limit None where unknown.
    - `excluded` is how many messages the fit left out, `approximate` whether the count is.
    """

    estimated_input_tokens: int
    budget: int
    context_limit: int | None = None
    reserve: int = 0
    reported_input_tokens: int | None = None
    reported_output_tokens: int | None = None
    excluded: int = 0
    approximate: bool = False

    @classmethod
    def from_fit(cls, fit: Fit, *, excluded: int | None = None, usage: Usage | None = None) -> ContextSnapshot:
        """Give the snapshot after a fit, with what the provider reported of the call that sent it.

        `excluded` is how many messages are not sent, for callers who know it; else the report is asked.
        """
        tokenizer = fit.tokenizer
        snapshot = cls(
            estimated_input_tokens=fit.tokens_after,
            budget=fit.budget.available,
            context_limit=fit.budget.context_limit,
            reserve=fit.budget.reserve,
            excluded=len(fit.excluded) if excluded is None else excluded,
            approximate=tokenizer.approximate or "approximate" in (tokenizer.framing, tokenizer.images),
        )
        return snapshot.reported(usage)

    def reported(self, usage: Usage | None) -> ContextSnapshot:
        """Give the same with what a provider reported; None changes nothing."""
        if usage is None:
            return self
        return replace(self, reported_input_tokens=usage.input_tokens, reported_output_tokens=usage.output_tokens)

    @property
    def tokens(self) -> int:
        """The tokens in the window: what is reported where something is, else the estimate."""
        if self.reported_input_tokens is not None:
            return self.reported_input_tokens
        return self.estimated_input_tokens

    @property
    def estimated_usage_ratio(self) -> float:
        """The share of the window in use; of the budget where the limit of the window is not known."""
        return self.tokens / self._whole if self._whole > 0 else 1.0

    @property
    def _whole(self) -> int:
        return self.context_limit or self.budget

    @property
    def severity(self) -> Severity:
        """`normal` under 70 %, `info` under 85, `warning` under 92, `danger` under 97, else `critical`."""
        ratio = self.estimated_usage_ratio
        return next((severity for limit, severity in _STEPS if ratio < limit), "critical")

    def to_dict(self) -> dict[str, object]:
        """Give the snapshot as JSON values with camelCase keys; what is not known is left out.

        The ratio is cut to four digits and never rounded up, so that it always agrees with the severity.
        """
        ratio = self.tokens * 10_000 // self._whole / 10_000 if self._whole > 0 else 1.0
        said: dict[str, object] = {
            "estimatedInputTokens": self.estimated_input_tokens,
            "contextLimit": self.context_limit,
            "budget": self.budget,
            "reserve": self.reserve,
            "estimatedUsageRatio": ratio,
            "severity": self.severity,
            "reportedInputTokens": self.reported_input_tokens,
            "reportedOutputTokens": self.reported_output_tokens,
            "excluded": self.excluded,
            "approximate": self.approximate,
        }
        return {key: value for key, value in said.items() if value is not None}
