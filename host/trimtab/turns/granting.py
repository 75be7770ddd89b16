"""Keys that a host app hands out itself, call by call, as those that expire and are renewed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from trimtab.turns.faults import provider_error
from trimtab.turns.requesting import Prepared, with_grant
from trimtab.turns.targets import Target
from trimtab_sdk.errors import ProviderError
from trimtab_sdk.provider import Fault


@dataclass(frozen=True, slots=True)
class Granted:
    """A key for one call, and further headers that go with it, as the name of an account."""

    key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


Credentials: TypeAlias = Callable[[bool], Awaitable[Granted]]
"""Gives the key of an endpoint. The argument tells that the last one was refused: a new one is wanted."""


async def grant(
    target: Target, prepared: Prepared, credentials: Credentials, *, refresh: bool
) -> tuple[Target, Prepared]:
    """Give a request with the key that the host app hands out.

    Raises ProviderError (PROVIDER_KEY_MISSING) when it hands out none, or none that can be sent.
    """
    try:
        granted = await credentials(refresh)
        with_key = replace(target, key=granted.key)
        return with_key, with_grant(with_key, prepared, granted.headers)
    except Exception as error:
        raise _no_key(target) from error


def _no_key(target: Target) -> ProviderError:
    fault = Fault(code="PROVIDER_KEY_MISSING")
    detail = "the host app's own credentials gave none that can be used"
    return provider_error(fault, provider=target.name, detail=detail)
