"""What a request may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.report import Budget
from trimtab_sdk.errors import InvalidBudgetError
from trimtab_sdk.shifting import checked_tokens

if TYPE_CHECKING:
    from trimtab.catalogue import Model

RESERVE_SHARE = 4
MARGIN_SHARE = 10


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """How a budget follows from a context limit, all in tokens: min(max input, limit - reserve), less the margin.

    - `reserve` is the caller's; else `max_output`, what the request itself asks for; else the smaller of the
      model's longest answer and a quarter of the limit.
    - `approximate` tokenizers keep a margin of a tenth.
    """

    model: Model
    reserve: int | None = None
    max_output: int | None = None
    approximate: bool = False

    def budget(self, context_limit: int | None) -> Budget:
        """Give the budget under the caller's limit, or under the catalogue's when that is None.

        Raises InvalidBudgetError when a figure makes no sense or nothing is left for the input.
        """
        limit = self.model.context_limit
        if context_limit is not None:
            limit = _positive("context_limit", context_limit)
        if self.reserve is not None:
            checked_tokens("reserve", self.reserve)
        if limit is None and self.model.max_input is None:
            raise InvalidBudgetError(
                f"no limit is known for {self.model.name!r}; give context_limit=N (--limit N on the command line)"
            )
        kept_free = 0 if limit is None else self._kept_free(limit)
        if limit is not None and kept_free >= limit:
            raise InvalidBudgetError(
                f"the reserve of {kept_free:,} tokens leaves nothing of the limit of {limit:,}; "
                "give a smaller reserve or a larger limit",
                value=kept_free,
            )
        room = self._room(limit)
        available = self._less_margin(room)
        return Budget(
            available=available,
            reserve=kept_free,
            context_limit=limit,
            max_input=self.model.max_input,
            margin=room - available,
        )

    def smallest_limit(self, needed: int) -> int | None:
        """Give the smallest context limit under which a request of `needed` tokens is allowed.

        None when no limit would do, since the model's room for input is the bound.
        """
        low, high = 1, 2 * needed + RESERVE_SHARE + (self.reserve or 0) + (self.max_output or 0)
        if self._less_margin(self._room(high)) < needed:
            return None
        while low < high:
            middle = (low + high) // 2
            if self._less_margin(self._room(middle)) >= needed:
                high = middle
            else:
                low = middle + 1
        return low

    def _kept_free(self, limit: int) -> int:
        if self.reserve is not None:
            return self.reserve
        if self.max_output is not None:
            return self.max_output
        longest = self.model.max_output if self.model.max_output is not None else limit
        return min(longest, limit // RESERVE_SHARE)

    def _room(self, limit: int | None) -> int:
        rooms = [] if limit is None else [limit - self._kept_free(limit)]
        if self.model.max_input is not None:
            rooms.append(self.model.max_input)
        return min(rooms)

    def _less_margin(self, room: int) -> int:
        return room * (MARGIN_SHARE - 1) // MARGIN_SHARE if self.approximate else room


def _positive(name: str, value: object) -> int:
    checked = checked_tokens(name, value)
    if checked == 0:
        raise InvalidBudgetError(f"{name} must be at least 1 token", value=value)
    return checked
