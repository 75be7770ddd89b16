"""What this server has: plugins, strategies, providers and models."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from trimtab.catalogue import Catalogue
from trimtab.host import Host
from trimtab.http.access import Owner
from trimtab.http.answers import json_answer, problems
from trimtab.http.models.catalogue import Models, Plugins, Providers, Strategies
from trimtab.http.service import Serving
from trimtab.http.strict import StrictRoute
from trimtab.loading import installed
from trimtab_sdk.errors import TrimtabError

router = APIRouter(prefix="/api/v2", route_class=StrictRoute, tags=["catalogue"])


@router.get(
    "/plugins",
    operation_id="listPlugins",
    summary="List the installed plugins",
    response_model=Plugins,
    responses=problems(),
)
async def plugins(owner: Owner, service: Serving) -> Response:
    """Give every plugin that is installed: from whom, trusted or confined, and why one cannot be used."""
    rows = await asyncio.to_thread(installed, config=service.config)
    return json_answer({"plugins": [row.to_dict() for row in rows]})


@router.get(
    "/strategies",
    operation_id="listStrategies",
    summary="List the strategies",
    response_model=Strategies,
    responses=problems(),
)
async def strategies(owner: Owner, service: Serving) -> Response:
    """Give the strategies that a chat may name as its `contextStrategy`."""
    rows = await asyncio.to_thread(installed, "trimtab.strategies", config=service.config)
    return json_answer({"strategies": [row.to_dict() for row in rows]})


@router.get(
    "/providers",
    operation_id="listProviders",
    summary="List the providers",
    response_model=Providers,
    responses=problems(),
)
async def providers(owner: Owner, service: Serving) -> Response:
    """Give whom a chat may name as its `provider`, how it carries on, and whether its key is there."""
    return json_answer({"providers": await asyncio.to_thread(_providers, service.host)})


@router.get(
    "/models",
    operation_id="listKnownModels",
    summary="List the models whose limits are known",
    response_model=Models,
    responses=problems(),
)
async def models(
    owner: Owner,
    service: Serving,
    filter: Annotated[
        str, Query(max_length=200, description="A part of a model's or provider's name.", examples=["gpt-4o"])
    ] = "",
) -> Response:
    """Give the limits that a fit goes by; those of the configuration go before the catalogue's."""
    wanted = filter.casefold()
    known = Catalogue.load().with_overrides(service.config.models).models()
    found = [
        {
            "name": model.name,
            "provider": model.provider,
            "contextLimit": model.context_limit,
            "maxInput": model.max_input,
            "maxOutput": model.max_output,
            "encoding": model.encoding,
        }
        for model in known
        if wanted in model.name.casefold() or wanted in model.provider.casefold()
    ]
    return json_answer({"models": found, "total": len(found)})


def _providers(host: Host) -> list[dict[str, object]]:
    drivers = {row.name for row in installed("trimtab.providers", config=host.config) if row.status == "ready"}
    return [_provider(host, name) for name in sorted(drivers | host.config.providers.keys())]


def _provider(host: Host, name: str) -> dict[str, object]:
    endpoint = host.config.providers.get(name)
    said: dict[str, object] = {
        "name": name,
        "driver": name if endpoint is None else endpoint.driver or name,
        "configured": endpoint is not None,
        "usable": False,
        "reason": "",
        "mode": None,
        "format": None,
        "key": "missing",
    }
    try:
        target = host.target(name)
    except TrimtabError as error:
        return said | {"reason": error.message, **_driver_facts(host, str(said["driver"]))}
    key = "present" if target.variable or host.hands_out_key(name) else "not-needed"
    driver = target.provider
    return said | {"usable": True, "mode": target.mode, "format": driver.codec, "key": key}


def _driver_facts(host: Host, driver: str) -> dict[str, object]:
    try:
        made = host.registry.provider(driver, host.config)
    except TrimtabError:
        return {}
    return {"mode": made.mode, "format": made.codec}
