"""What an id or a name must be to be stored, and reading stored JSON without believing it."""

from __future__ import annotations

from typing import Final

from trimtab.store.json_text import is_encodable, load, load_object
from trimtab_sdk.errors import InvalidRequestError, StoreUnavailableError

MAX_ID: Final = 255
MAX_NAME: Final = 1024


def is_id(value: object) -> bool:
    """Tell whether something can be the id of a chat, a message or a turn, or an owner."""
    return isinstance(value, str) and 1 <= len(value) <= MAX_ID and _is_storable(value)


def check_id(value: str, *, path: str) -> None:
    """Raise InvalidRequestError for what cannot be an id: 1 to 255 characters, no NUL, no lone surrogate."""
    if not is_id(value):
        raise InvalidRequestError(f"`{path}` must have 1 to {MAX_ID} characters and no NUL", path=path)


def check_name(value: str, *, path: str) -> None:
    """Raise InvalidRequestError for what cannot be stored in a column of names: up to 1,024 characters, no NUL."""
    if not isinstance(value, str) or len(value) > MAX_NAME or not _is_storable(value):
        raise InvalidRequestError(f"`{path}` must have at most {MAX_NAME} characters and no NUL", path=path)


def check_text(value: str, *, path: str) -> None:
    """Raise InvalidRequestError for a text that PostgreSQL would refuse."""
    if not isinstance(value, str) or not _is_storable(value):
        raise InvalidRequestError(f"`{path}` must be a text without NUL and lone surrogates", path=path)


def _is_storable(value: str) -> bool:
    return "\0" not in value and is_encodable(value)


def corrupt(what: str, why: object) -> StoreUnavailableError:
    """Give the error for a row that holds what this program never writes."""
    return StoreUnavailableError(
        f"{what} is damaged in the store ({why}); put a backup in its place, or delete it"
    )


def stored_object(text: object, *, what: str) -> dict[str, object]:
    """Read a stored JSON object. Raises StoreUnavailableError, naming `what`."""
    try:
        return load_object(text)
    except ValueError as error:
        raise corrupt(what, error) from error


def stored_object_or_none(text: object, *, what: str) -> dict[str, object] | None:
    """Read a stored JSON object where there may be none."""
    return None if text is None else stored_object(text, what=what)


def stored_text(text: object, *, what: str) -> str:
    """Read a text that was stored as JSON. Raises StoreUnavailableError, naming `what`."""
    try:
        value = load(text)
    except ValueError as error:
        raise corrupt(what, error) from error
    if not isinstance(value, str):
        raise corrupt(what, "a text was expected")
    return value


def stored_ids(text: object, *, what: str) -> tuple[str, ...]:
    """Read a stored list of ids. Raises StoreUnavailableError, naming `what`."""
    try:
        value = load(text)
    except ValueError as error:
        raise corrupt(what, error) from error
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise corrupt(what, "a list of ids was expected")
    return tuple(value)
