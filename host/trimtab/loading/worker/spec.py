"""What a worker is told to load, and within which bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab_sdk.errors import Origin

if TYPE_CHECKING:
    from trimtab.config import Config


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """A plugin that will run confined.

    - `module` and `attribute` are the two halves of its entry point; `attribute` is empty for the module itself.
    - `hook` is the one it must implement.
    - `paths` are the folders put on the worker's import path, in order; the worker may read these and no others.
    - `file` is the one the module must come from, empty where any will do.
    """

    origin: Origin
    module: str
    attribute: str
    hook: str
    paths: tuple[str, ...]
    file: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a confined plugin may use: a pool of `workers`, `memory_mb` MiB, `service_calls` in one call.

    `strict` refuses a worker whose confinement is not complete.
    """

    workers: int
    memory_mb: int
    service_calls: int
    strict: bool


def bounds_of(config: Config, name: str) -> Bounds:
    """Give what a configuration allows a confined plugin."""
    limits = config.limits_for(name)
    return Bounds(config.workers, limits.memory_mb, limits.service_calls, config.strict)
