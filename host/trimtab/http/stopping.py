"""Stopping a server without cutting off an answer."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from trimtab.host import Host


class DrainingServer(uvicorn.Server):
    """A uvicorn that lets running turns end when it is told to stop.

    It takes no new connections from then on, and no new turns on those it has; turns that do not end within
    `seconds` are cancelled. Streams end with their turns, and what is idle is closed, so that all of it is stored
    and told when the process ends.
    """

    def __init__(self, config: uvicorn.Config, *, host: Host, seconds: float) -> None:
        super().__init__(config)
        self._host = host
        self._seconds = seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, drain, and let the app go."""
        draining = asyncio.ensure_future(self._host.drain(self._seconds))
        await super().shutdown(sockets)
        await draining
