"""`truncate`: the oldest unprotected groups leave, whole, and no more of them than needed.

With the setting `shorten_messages` the last group that would leave is shortened instead, where that helps. With
`tool_result_share` tool results over that share of the budget are shortened before anything leaves.
"""

from __future__ import annotations

from trimtab_sdk import Edit, Request, Services, Traits, choose_departures, hookimpl
from trimtab_strategies import shortening

SCHEMA = {"type": "object", "properties": shortening.SETTINGS, "additionalProperties": False}


@hookimpl
def trimtab_traits() -> Traits:
    """Say which settings there are."""
    return Traits(settings_schema=SCHEMA)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Drop by age down to the target."""
    if request.total <= request.budget:
        return Edit()
    eased, cuts = shortening.shorten_results(request, services)
    leaving = choose_departures(
        eased.messages,
        eased.groups,
        total=eased.total,
        budget=min(eased.target, eased.budget),
        protected=eased.protected,
    )
    order = [(departure.group, departure.reason) for departure in leaving]
    return shortening.drop_or_shorten(eased, services, order, cuts=cuts)
