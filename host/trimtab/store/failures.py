"""What went wrong in a database, told as an error of ours that says what to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from trimtab.store.addresses import Address
from trimtab_sdk.errors import InvalidRequestError, StoreUnavailableError, TrimtabError

_TRY_AGAIN: Final = "try again a little later"

_SQLITE: Final = (
    ("SQLITE_BUSY", f"is locked by another process; {_TRY_AGAIN}"),
    ("SQLITE_LOCKED", f"is locked by another process; {_TRY_AGAIN}"),
    ("SQLITE_FULL", "is out of space; free some on its disk and try again"),
    ("SQLITE_READONLY_DBMOVED", "was moved or deleted while it was open; restart on the right file"),
    ("SQLITE_READONLY", "can only be read; allow this user to write the file and its folder"),
    ("SQLITE_PERM", "must not be opened by this user; allow it to write the file and its folder"),
    ("SQLITE_CANTOPEN", "cannot be opened; check that its folder exists and can be written to"),
    ("SQLITE_NOTADB", "is no SQLite database; name another file"),
    ("SQLITE_CORRUPT", "is damaged; put a backup in its place, or rescue it with sqlite3's .recover"),
    ("SQLITE_IOERR", "met an input or output error; check its disk"),
    ("SQLITE_TOOBIG", "cannot hold a value of this size; take a smaller one"),
)

_POSTGRES: Final = (
    ("53100", "is out of space; free some on its disk and try again"),
    ("53300", "has no connection left; raise its max_connections or open fewer"),
    ("55P03", f"is locked by another process; {_TRY_AGAIN}"),
    ("40", f"was busy with a change in the way; {_TRY_AGAIN}"),
    ("25006", "can only be read; name the server that takes writes"),
    ("28", "does not let this user in; check user and password"),
    ("42501", "does not let this user do this; grant the rights on its tables"),
    ("3D000", "does not exist; create it"),
    ("57P", f"was shut down; start it, or {_TRY_AGAIN}"),
    ("08", f"cannot be reached; start it, or {_TRY_AGAIN}"),
    ("58", "met an input or output error; look into its log"),
    ("XX", "is damaged; look into its log"),
)


@contextmanager
def told(address: Address) -> Iterator[None]:
    """Turn what a database raises into StoreUnavailableError, the original as its cause."""
    try:
        yield
    except TrimtabError:
        raise
    except (DataError, OverflowError, UnicodeEncodeError) as error:
        raise _unstorable(error) from error
    except StatementError as error:
        if isinstance(error.orig, OverflowError | UnicodeEncodeError):
            raise _unstorable(error) from error
        raise StoreUnavailableError(f"{address} {_said(error)}") from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreUnavailableError(f"{address} {_said(error)}") from error


def _unstorable(error: Exception) -> InvalidRequestError:
    return InvalidRequestError(f"a value cannot be stored as it is: {type(error).__name__}")


def _said(error: Exception) -> str:
    if isinstance(error, PoolTimeoutError):
        return f"had no free connection in time; {_TRY_AGAIN}"
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(cause, "sqlite_errorname", None)
    if isinstance(name, str):
        return _first(_SQLITE, name) or f"refused ({name}); it may be of another program"
    state = getattr(cause, "sqlstate", None)
    if isinstance(state, str):
        return _first(_POSTGRES, state) or f"refused (SQLSTATE {state}); it may be of another program"
    if isinstance(error, DBAPIError) and type(cause).__name__ == "OperationalError":
        return "cannot be reached; check that it runs, and its name, user and password"
    return f"failed ({type(cause).__name__}); the cause has the details"


def _first(known: tuple[tuple[str, str], ...], code: str) -> str | None:
    return next((said for start, said in known if code.startswith(start)), None)
