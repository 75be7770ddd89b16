"""Keeping the lease of a running turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType

from trimtab.store.protocol import Store
from trimtab_sdk.errors import StoreUnavailableError, TurnLostError

LEASE_SECONDS = 30.0
_LOG = logging.getLogger("trimtab.turns")


class Heartbeat:
    """Renews a lease three times within its length, as long as the `async with` block runs.

    `on_lost` is called once when the lease is gone, `on_cancel` when somebody asks for the end of the turn. While
    the store cannot be reached the lease lives on until it is over.
    """

    def __init__(
        self,
        store: Store,
        turn_id: str,
        fence: int,
        *,
        clock: Callable[[], float],
        on_lost: Callable[[TurnLostError], None],
        on_cancel: Callable[[], None],
        seconds: float = LEASE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._turn_id = turn_id
        self._fence = fence
        self._clock = clock
        self._sleep = sleep
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._seconds = seconds
        self._until = clock() + seconds
        self._poked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Heartbeat:
        self._task = asyncio.create_task(self._beat(), name=f"trimtab-lease-{self._turn_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def poke(self) -> None:
        """Renew the lease now: somebody may want the turn to end."""
        self._poked.set()

    async def _beat(self) -> None:
        while True:
            await self._rest()
            try:
                cancel = await self._renew()
            except TurnLostError as error:
                self._on_lost(error)
                return
            if cancel:
                self._on_cancel()
                return

    async def _rest(self) -> None:
        resting = asyncio.ensure_future(self._sleep(self._seconds / 3))
        poked = asyncio.ensure_future(self._poked.wait())
        try:
            await asyncio.wait({resting, poked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            resting.cancel()
            poked.cancel()
        self._poked.clear()

    async def _renew(self) -> bool:
        until = self._clock() + self._seconds
        try:
            cancel = await self._store.renew_lease(self._turn_id, self._fence, until=until)
        except StoreUnavailableError as error:
            _LOG.warning("the lease of turn %s could not be renewed: %s", self._turn_id, error)
            if self._clock() < self._until:
                return False
            raise TurnLostError(
                "the store could not be reached for as long as the turn was leased; try again once it can",
                turn_id=self._turn_id,
            ) from error
        self._until = until
        return cancel
