"""A plugin that was checked and can be called, in this process or in a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pluggy

from trimtab.fitting.cleaning import clean_note
from trimtab.loading.discovery import OWN_DISTRIBUTION
from trimtab.loading.worker.spec import WorkerSpec
from trimtab_sdk.errors import Origin, PluginLoadError
from trimtab_sdk.request import Traits
from trimtab_worker.hooks import TRAITS, HookError, call_hook, find_hooks, read_traits

SHIFT = "trimtab_shift"
INTERCEPT = "trimtab_intercept"

__all__ = ["INTERCEPT", "SHIFT", "TRAITS", "Plugin", "make_plugin"]


@dataclass(frozen=True, eq=False)
class Plugin:
    """A checked plugin: where it comes from, its hook implementations and its traits.

    A `confined` one has no implementations here: they are in a worker. `refused` is step → why, of the steps of
    its confinement that the platform refused.
    """

    origin: Origin
    hooks: Mapping[str, pluggy.HookImpl]
    traits: Traits
    confined: WorkerSpec | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_built_in(self) -> bool:
        """Whether it came with the host."""
        return self.origin.distribution == OWN_DISTRIBUTION

    def call(self, hook: str, **arguments: object) -> object:
        """Call a hook here with those of the arguments that the implementation names."""
        return call_hook(self.hooks[hook], arguments)


def make_plugin(subject: object, origin: Origin, *, hook: str) -> Plugin:
    """Check `subject`, a module or an instance, and give it as a plugin that implements `hook`.

    Raises PluginLoadError, in the author's terms, when it is a class, has unknown or wrapping hooks, lacks
    `hook`, or its traits are not Traits.
    """
    try:
        hooks = find_hooks(subject, hook=hook)
        return Plugin(origin, hooks, read_traits(hooks))
    except HookError as error:
        raise PluginLoadError(clean_note(str(error)), origin=origin, hook=error.hook) from error
