"""A strategy: what costs the most leaves first."""

from trimtab_sdk import Edit, Request, hookimpl


@hookimpl
def trimtab_shift(request: Request) -> Edit:
    drop: dict[str, str] = {}
    total = request.total
    for group in sorted(request.groups, key=lambda group: -group.tokens):
        if total > request.target and request.protected.isdisjoint(group.ids):
            drop.update(dict.fromkeys(group.ids, "context-shift"))
            total -= group.tokens
    return Edit(drop=drop)
