"""What the user took out by hand leaves before any strategy runs, whole groups, also under budget."""

from __future__ import annotations

from collections.abc import Collection

from trimtab.fitting.account import Account
from trimtab.fitting.context import Context
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import EMPTY_META

FLAG = "manualExcluded"


def exclude_by_hand(context: Context, excluded: Collection[str], account: Account) -> frozenset[str]:
    """Give the ids that leave: those in `excluded`, those flagged in `meta`, and the rest of their groups.

    A flag on something protected is not obeyed, and named. Raises InvalidRequestError when `excluded` names
    something protected.
    """
    wrong = set(excluded) & context.protected.keys()
    refused = [message.id for message in context.messages if message.id in wrong] if wrong else []
    if refused:
        why = ", ".join(f"{name} ({context.protected[name]})" for name in refused[:5])
        raise InvalidRequestError(
            f"what is protected cannot be excluded: {why}; unpin it, or take it out of the input",
            ids=refused,
        )
    flagged = {
        message.id
        for message in context.messages
        if message.meta is not EMPTY_META and message.meta.get(FLAG) is True
    }
    kept = [name for name in context.protected if name in flagged]
    if kept:
        account.note("flag-not-obeyed", f"meta.{FLAG} on something protected is not obeyed", ids=kept)
    if not flagged and not excluded:
        return frozenset()
    wanted = (flagged | set(excluded)) - context.protected.keys()
    gone = {name for group in context.groups if not wanted.isdisjoint(group.ids) for name in group.ids}
    account.leave((message.id for message in context.messages if message.id in gone), "manual")
    return frozenset(gone)
