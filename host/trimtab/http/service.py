"""What every route works with: `request.app.state.service`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from trimtab.config import Config, Server
from trimtab.host import Host
from trimtab.http.metrics import Metrics
from trimtab.http.streams import StreamSlots


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a running server.

    - `host` does the work, `server` is how this server was configured, `config` all of the host's configuration.
    - `streams` are the slots for answers that are streamed; take one before a turn begins.
    """

    host: Host
    server: Server
    config: Config
    streams: StreamSlots
    metrics: Metrics


async def service_of(request: Request) -> Service:
    """Give the service of the app that a request came to."""
    service: Service = request.app.state.service
    return service


Serving: TypeAlias = Annotated[Service, Depends(service_of)]
"""The service, as a parameter of a route."""
