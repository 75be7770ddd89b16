"""How long an answer is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Literal, TypeAlias, TypeVar

from trimtab.config_models import Endpoint
from trimtab.turns.faults import CallFaultError
from trimtab_sdk.provider import Fault

Limit: TypeAlias = Literal["first_byte_seconds", "idle_seconds", "answer_seconds"]
_T = TypeVar("_T")


class Patience:
    """Waits within the limits of an endpoint and says which one ran out.

    `answer_seconds` run from the start of a try. `first_byte_seconds` run from the moment the request goes out
    until the first byte of the body; until then the time to connect has a limit of its own. From then on every
    piece gives another `idle_seconds`; a keep-alive comment is a piece like any other.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + endpoint.answer_seconds
        self._next = self._end
        self._limit: Limit = "answer_seconds"
        self._scope: asyncio.Timeout | None = None

    async def wait_for(self, waiting: Awaitable[_T]) -> _T:
        """Give what is waited for. Raises CallFaultError (PROVIDER_TIMEOUT) when it does not come in time."""
        scope = asyncio.timeout_at(self._next)
        self._scope = scope
        try:
            async with scope:
                return await waiting
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise self._ran_out() from error
        finally:
            self._scope = None

    def sent(self) -> None:
        """Wait for the first byte from now on, also in a wait that has begun."""
        self._begin("first_byte_seconds", self._endpoint.first_byte_seconds)
        if self._scope is not None:
            self._scope.reschedule(self._next)

    def heard(self) -> None:
        """Wait for the next piece from now on."""
        self._begin("idle_seconds", self._endpoint.idle_seconds)

    def _begin(self, limit: Limit, seconds: float) -> None:
        when = self._clock() + seconds
        self._limit = limit if when < self._end else "answer_seconds"
        self._next = min(when, self._end)

    def _ran_out(self) -> CallFaultError:
        seconds: float = getattr(self._endpoint, self._limit)
        fault = Fault(code="PROVIDER_TIMEOUT", retryable=True)
        return CallFaultError(fault, detail=f"{self._limit}, {seconds:g}, ran out")
