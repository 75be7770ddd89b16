"""From an object to the hooks it implements: the same check in the host's process and in a worker.

pluggy checks the object against the hookspecs. The implementations are then walked one by one: a plugin that wraps
others is refused, and no plugin ever shares a manager with another.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pluggy

from trimtab_sdk import hookspecs
from trimtab_sdk.request import Traits

TRAITS = "trimtab_traits"


class HookError(Exception):
    """The object is no plugin; the text says why, in the author's terms. `hook` is the one at fault, if any."""

    def __init__(self, message: str, *, hook: str = "") -> None:
        super().__init__(message)
        self.hook = hook


def find_hooks(subject: object, *, hook: str) -> dict[str, pluggy.HookImpl]:
    """Give hook name → implementation of `subject`, a module or an instance that implements `hook`.

    Raises HookError when it is a class, has unknown or wrapping hooks, or lacks `hook`.
    """
    if inspect.isclass(subject):
        raise HookError(
            f"the entry is the class {subject.__name__}, not an instance; were the parentheses forgotten?"
        )
    hooks = _registered(subject)
    if hook not in hooks:
        raise HookError(f"has no {hook} marked with trimtab_sdk.hookimpl")
    return hooks


def read_traits(hooks: Mapping[str, pluggy.HookImpl]) -> Traits:
    """Give the traits that a plugin's hooks tell, the usual ones when they tell none. Raises HookError."""
    if TRAITS not in hooks:
        return Traits()
    try:
        traits: object = hooks[TRAITS].function()
    except (Exception, SystemExit) as error:
        raise HookError(f"{TRAITS} raised {type(error).__name__}", hook=TRAITS) from error
    if traits is None:
        return Traits()
    if type(traits) is not Traits:
        raise HookError(f"answered a {type(traits).__name__}; answer trimtab_sdk.Traits", hook=TRAITS)
    return traits


def call_hook(implementation: pluggy.HookImpl, arguments: Mapping[str, object]) -> object:
    """Call a hook with those of the arguments that the implementation names."""
    return implementation.function(*[arguments[name] for name in implementation.argnames])


def _registered(subject: object) -> dict[str, pluggy.HookImpl]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(subject, name="plugin")
        manager.check_pending()
    except (Exception, SystemExit) as error:
        raise HookError(f"is not a plugin: {error}") from error
    hooks: dict[str, pluggy.HookImpl] = {}
    for caller in manager.get_hookcallers(subject) or ():
        for implementation in caller.get_hookimpls():
            if implementation.wrapper or implementation.hookwrapper:
                raise HookError(f"{caller.name} is a wrapper; wrappers are refused")
            hooks[caller.name] = implementation
    return hooks
