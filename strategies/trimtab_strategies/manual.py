"""`manual`: what the user flagged has left before any strategy runs; the rest is shifted as `truncate` does.

The report tells the two apart: `manual` for what was taken out by hand, `context-shift` for what left by age.
"""

from __future__ import annotations

from trimtab_sdk import Edit, Request, Services, Traits, hookimpl
from trimtab_strategies import truncate


@hookimpl
def trimtab_traits() -> Traits:
    """Say which settings there are: those of truncate."""
    return Traits(settings_schema=truncate.SCHEMA)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Drop by age down to the target."""
    return truncate.trimtab_shift(request, services)
