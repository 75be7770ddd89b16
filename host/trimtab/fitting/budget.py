"""What a request may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.report import Budget
from trimtab_sdk.errors import InvalidBudgetError

if TYPE_CHECKING:
    from trimtab.catalogue import Model

RESERVE_SHARE = 4
MARGIN_SHARE = 10


def make_budget(
    model: Model,
    *,
    context_limit: int | None,
    reserve: int | None,
    max_output: int | None,
    approximate: bool,
) -> Budget:
    """Work out the budget of a request in tokens: min(max input, context limit - reserve), less the margin.

    - `context_limit` is the caller's and goes before the catalogue's.
    - `reserve` is the caller's; else `max_output`, what the request itself asks for; else the smaller of the
      model's longest answer and a quarter of the limit.
    - An approximate tokenizer keeps a margin of a tenth.

    Raises InvalidBudgetError when a figure makes no sense or nothing is left for the input.
    """
    limit = _positive("context_limit", context_limit) if context_limit is not None else model.context_limit
    if reserve is not None:
        _whole("reserve", reserve)
    rooms = []
    kept_free = 0
    if limit is not None:
        kept_free = _reserve(limit, reserve=reserve, max_output=max_output, model=model)
        rooms.append(limit - kept_free)
    if model.max_input is not None:
        rooms.append(model.max_input)
    if not rooms:
        raise InvalidBudgetError(
            f"no limit is known for {model.name!r}; give context_limit=N (--limit N on the command line)"
        )
    room = min(rooms)
    margin = room - room * (MARGIN_SHARE - 1) // MARGIN_SHARE if approximate else 0
    return Budget(
        available=room - margin,
        reserve=kept_free,
        context_limit=limit,
        max_input=model.max_input,
        margin=margin,
    )


def smallest_limit(budget: Budget, needed: int) -> int | None:
    """Give the smallest context limit, in tokens, under which a request of `needed` tokens is allowed.

    None when no limit would do, since the model's input room is the bound. The reserve is taken as it is.
    """
    room = needed
    if budget.margin:
        room = -(-needed * MARGIN_SHARE // (MARGIN_SHARE - 1))
        while room * (MARGIN_SHARE - 1) // MARGIN_SHARE < needed:
            room += 1
    if budget.max_input is not None and room > budget.max_input:
        return None
    return room + budget.reserve


def _reserve(limit: int, *, reserve: int | None, max_output: int | None, model: Model) -> int:
    if reserve is None:
        wanted = max_output
        if wanted is None:
            longest = model.max_output if model.max_output is not None else limit
            wanted = min(longest, limit // RESERVE_SHARE)
        reserve = wanted
    if reserve >= limit:
        raise InvalidBudgetError(
            f"the reserve of {reserve:,} tokens leaves nothing of the limit of {limit:,}; "
            "give a smaller reserve or a larger limit",
            value=reserve,
        )
    return reserve


def _positive(name: str, value: object) -> int:
    checked = _whole(name, value)
    if checked == 0:
        raise InvalidBudgetError(f"{name} must be at least 1 token", value=value)
    return checked


def _whole(name: str, value: object) -> int:
    if type(value) is not int or value < 0:
        raise InvalidBudgetError(f"{name} must be a whole number of tokens, not {value!r}", value=value)
    return value
