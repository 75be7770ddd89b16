"""`truncate`: the oldest unprotected groups leave, whole, and no more of them than needed.

With the setting `shorten_messages` the last group that would leave is shortened instead, where that helps.
"""

from __future__ import annotations

from trimtab_sdk import Edit, Request, Services, Traits, choose_departures, hookimpl
from trimtab_strategies.shortening import shorten_group

SETTINGS = {
    "type": "object",
    "properties": {"shorten_messages": {"type": "boolean"}},
    "additionalProperties": False,
}


@hookimpl
def trimtab_traits() -> Traits:
    """Say which settings there are."""
    return Traits(settings_schema=SETTINGS)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Drop by age down to the target."""
    leaving = choose_departures(
        request.messages,
        request.groups,
        total=request.total,
        budget=request.budget,
        target=request.target,
        protected=request.protected,
    )
    drop = {name: departure.reason for departure in leaving for name in departure.group.ids}
    if not leaving or request.settings.get("shorten_messages") is not True:
        return Edit(drop=drop)
    last = leaving[-1].group
    left = request.total - sum(departure.group.tokens for departure in leaving)
    shorten = shorten_group(request, services, last, room=request.target - left)
    if shorten:
        drop = {name: reason for name, reason in drop.items() if name not in last.ids}
    return Edit(drop=drop, shorten=shorten)
