"""Hearing of events that other processes store in a PostgreSQL database, on a connection of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trimtab.store.addresses import PostgresAddress
from trimtab.store.auditing import CHANNEL
from trimtab.store.engines import postgres_arguments

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_LOG = logging.getLogger("trimtab.store")
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 15.0
_SILENCE: Final = 60.0
"""After how many silent seconds the connection is asked whether it lives."""


async def watch(
    address: PostgresAddress, heard: Callable[[str, int], None], connected: Callable[[bool], None]
) -> None:
    """Call `heard` for everything that is told on the channel, and connect again whenever that ends.

    Ends when it is cancelled, and where this event loop cannot wait for a connection.
    """
    from psycopg import Error, InterfaceError

    pause = _FIRST_PAUSE
    while True:
        try:
            async with await _connect(address) as connection:
                connected(True)
                pause = _FIRST_PAUSE
                await _listen(connection, heard)
        except InterfaceError as error:
            _LOG.warning(
                "events of other processes come late, for this event loop cannot wait for them: %s", error
            )
            return
        except (Error, OSError) as error:
            _LOG.warning("events of other processes come late until %s is back: %s", address, type(error).__name__)
        finally:
            connected(False)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


async def _connect(address: PostgresAddress) -> AsyncConnection:
    from psycopg import AsyncConnection, conninfo

    url = address.url.set(drivername="postgresql").render_as_string(hide_password=False)
    options = {key: str(value) for key, value in postgres_arguments(address).items()}
    connection = await AsyncConnection.connect(conninfo.make_conninfo(url, **options), autocommit=True)
    try:
        await connection.execute(f"LISTEN {CHANNEL}".encode())
    except BaseException:
        await connection.close()
        raise
    return connection


async def _listen(connection: AsyncConnection, heard: Callable[[str, int], None]) -> None:
    while True:
        async for notice in connection.notifies(timeout=_SILENCE):
            sequence, _, turn_id = notice.payload.partition(" ")
            if turn_id and sequence.isdecimal():
                heard(turn_id, int(sequence))
        await connection.execute(b"SELECT 1")
