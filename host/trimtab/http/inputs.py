"""What a user says, as it comes in a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.audits.parts import part_from
from trimtab.turns.inputs import UserInput
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import Part


def read_user_input(given: str | Sequence[Mapping[str, object]] | Mapping[str, object]) -> UserInput:
    """Give a text, parts (objects with a `kind`), or messages as the host takes them.

    Raises InvalidRequestError for a part that is none.
    """
    if isinstance(given, str):
        return given
    items = [given] if isinstance(given, Mapping) else list(given)
    if all("kind" in one and "role" not in one for one in items):
        return read_parts(items, path="input")
    return given


def read_parts(given: Sequence[object], *, path: str) -> tuple[Part, ...]:
    """Read parts. Raises InvalidRequestError with the place of one that is none."""
    made = []
    for at, one in enumerate(given):
        try:
            made.append(part_from(one))
        except ValueError as error:
            raise InvalidRequestError(f"{path}[{at}]: {error}", path=f"{path}[{at}]") from error
    return tuple(made)
