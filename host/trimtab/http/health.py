"""Is it alive, can it work, and how much does it do."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Response

from trimtab.http.access import LOCAL_OWNER
from trimtab.http.answers import problems
from trimtab.http.metrics import MEDIA_TYPE
from trimtab.http.models.health import Health
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab_sdk.errors import HostStoppingError

router = APIRouter(prefix="/api/v2", route_class=StrictRoute, tags=["operations"])

_FIGURES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Counters, gauges and histograms.",
        "content": {
            "text/plain": {"schema": {"type": "string"}, "example": "trimtab_turns_running 0.0\n"},
        },
    }
}


@router.get("/health", operation_id="health", summary="Is the process alive?", responses=problems())
async def health() -> Health:
    """Answer without asking the store."""
    return Health(status="ok")


@router.get(
    "/readiness", operation_id="readiness", summary="Can it work: does the store answer?", responses=problems()
)
async def readiness(service: Serving) -> Health:
    """Read from the store; 503 while it cannot be read, and when the process is about to stop."""
    if service.host.is_stopping:
        raise HostStoppingError("this process is about to stop; ask another one")
    await service.host.chats(owner=LOCAL_OWNER, limit=1)
    return Health(status="ready")


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses=problems() | _FIGURES,
)
async def metrics(service: Serving) -> Response:
    """Give the figures in the text format of Prometheus: no ids, no owners, no names of models."""
    return Response(service.metrics.text(), media_type=MEDIA_TYPE)
