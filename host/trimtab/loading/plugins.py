"""From an object to a plugin whose hooks can be called.

pluggy checks the object against the hookspecs. The host then walks the implementations itself: a plugin that
wraps others is refused, and no plugin ever shares a manager with another.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pluggy

from trimtab.loading.discovery import OWN_DISTRIBUTION
from trimtab_sdk import hookspecs
from trimtab_sdk.errors import Origin, PluginLoadError
from trimtab_sdk.request import Traits

SHIFT = "trimtab_shift"
INTERCEPT = "trimtab_intercept"
TRAITS = "trimtab_traits"


@dataclass(frozen=True, eq=False)
class Plugin:
    """A checked plugin: where it comes from, its hook implementations and its traits."""

    origin: Origin
    hooks: Mapping[str, pluggy.HookImpl]
    traits: Traits

    @property
    def is_built_in(self) -> bool:
        """Whether it came with the host."""
        return self.origin.distribution == OWN_DISTRIBUTION

    def call(self, hook: str, **arguments: object) -> object:
        """Call a hook with those of the arguments that the implementation names."""
        implementation = self.hooks[hook]
        return implementation.function(*[arguments[name] for name in implementation.argnames])


def make_plugin(subject: object, origin: Origin, *, hook: str) -> Plugin:
    """Check `subject`, a module or an instance, and give it as a plugin that implements `hook`.

    Raises PluginLoadError, in the author's terms, when it is a class, has unknown or wrapping hooks, lacks
    `hook`, or its traits are not Traits.
    """
    if inspect.isclass(subject):
        raise PluginLoadError(
            f"the entry is the class {subject.__name__}, not an instance; were the parentheses forgotten?",
            origin=origin,
        )
    hooks = _find_hooks(subject, origin)
    if hook not in hooks:
        raise PluginLoadError(f"has no {hook} marked with trimtab_sdk.hookimpl", origin=origin)
    return Plugin(origin, hooks, _read_traits(hooks, origin))


def _find_hooks(subject: object, origin: Origin) -> dict[str, pluggy.HookImpl]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(subject, name=origin.plugin)
        manager.check_pending()
    except (Exception, SystemExit) as error:
        raise PluginLoadError(f"is not a plugin: {error}", origin=origin) from error
    hooks: dict[str, pluggy.HookImpl] = {}
    for caller in manager.get_hookcallers(subject) or ():
        for implementation in caller.get_hookimpls():
            if implementation.wrapper or implementation.hookwrapper:
                raise PluginLoadError(f"{caller.name} is a wrapper; wrappers are refused", origin=origin)
            hooks[caller.name] = implementation
    return hooks


def _read_traits(hooks: Mapping[str, pluggy.HookImpl], origin: Origin) -> Traits:
    if TRAITS not in hooks:
        return Traits()
    try:
        traits: object = hooks[TRAITS].function()
    except (Exception, SystemExit) as error:
        raise PluginLoadError(f"{TRAITS} raised {type(error).__name__}", origin=origin, hook=TRAITS) from error
    if traits is None:
        return Traits()
    if type(traits) is not Traits:
        raise PluginLoadError(
            f"answered a {type(traits).__name__}; answer trimtab_sdk.Traits", origin=origin, hook=TRAITS
        )
    return traits
