"""Is it alive, can it work, and how much does it do."""

from __future__ import annotations

from fastapi import APIRouter, Response

from trimtab.http.access import LOCAL_OWNER
from trimtab.http.metrics import MEDIA_TYPE
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute

router = APIRouter(prefix="/api/v2", route_class=StrictRoute, tags=["operations"])


@router.get("/health", operation_id="health", summary="Is the process alive?")
async def health() -> dict[str, str]:
    """Answer without asking the store."""
    return {"status": "ok"}


@router.get("/readiness", operation_id="readiness", summary="Can it work: does the store answer?")
async def readiness(service: Serving) -> dict[str, str]:
    """Read from the store; 503 STORE_UNAVAILABLE while it cannot be read."""
    await service.host.chats(owner=LOCAL_OWNER, limit=1)
    return {"status": "ready"}


@router.get("/metrics", operation_id="metrics", summary="Figures for Prometheus", response_class=Response)
async def metrics(service: Serving) -> Response:
    """Give the figures in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type=MEDIA_TYPE)
