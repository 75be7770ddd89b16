"""Which messages a caller means by indexes and ids."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import Message


def named_ids(
    what: str, wanted: Sequence[int | str], messages: Sequence[Message], *, leading: int = 0
) -> frozenset[str]:
    """Give the ids of the messages that `wanted` names: an int is an index, a str an id.

    The first `leading` messages have no index. Raises InvalidRequestError, with `what` as its path, for a name
    of nobody.
    """
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Sequence | set | frozenset):
        raise InvalidRequestError(f"{what} must be a list of indexes and ids", path=what)
    if not wanted:
        return frozenset()
    known = {message.id for message in messages}
    last = len(messages) - leading
    found: set[str] = set()
    for one in wanted:
        if type(one) is int and 0 <= one < last:
            found.add(messages[leading + one].id)
        elif isinstance(one, str) and one in known:
            found.add(one)
        else:
            raise InvalidRequestError(
                f"{what} names {one!r}, but there is no such message; an index (an int, @N on the command line) "
                f"runs from 0 to {last - 1}, anything else is an id",
                path=what,
                ids=(str(one),),
            )
    return frozenset(found)
