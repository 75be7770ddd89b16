"""A strategy: chooses what leaves when a conversation is over its budget."""

from trimtab_sdk import Edit, Request, Services, hookimpl, leaving_order


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Let the oldest leave. `leaving_order` gives groups that may leave, whole; choose another order here."""
    drop: dict[str, str] = {}
    total = request.total
    for group, reason in leaving_order(request.messages, request.groups, protected=request.protected):
        if total <= request.target:
            break
        drop.update(dict.fromkeys(group.ids, reason))
        total -= group.tokens
    return Edit(drop=drop)
