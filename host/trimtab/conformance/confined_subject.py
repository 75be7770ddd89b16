"""A plugin in a worker, as the subject of a contract: its hooks ask the worker, its own code never runs here."""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_hex

from trimtab.config import Config
from trimtab.fitting.calling import cost_service
from trimtab.loading.plugins import INTERCEPT, SHIFT, Plugin
from trimtab.loading.worker.calling import Use, call_confined
from trimtab.loading.worker.pool import worker_pool
from trimtab.loading.worker.spec import bounds_of
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import PluginError, PluginRejectedError
from trimtab_sdk.hookspecs import hookimpl
from trimtab_sdk.request import Request, Services, Traits

UNSEEN = {
    "test_leaves_its_request_alone": "in a worker it has nothing but copies",
    "test_asks_only_for_services_that_are_offered": "a worker refuses such a call by itself",
    "test_lives_with_a_failing_service": "no service fails in a worker",
}
"""Rule → why nobody can judge it from outside of a worker."""
_PATIENCE = 5
_ANSWERED = re.compile(r"answered an? (.+?)(?:; answer a trimtab_sdk|$)")


class WrongAnswer:
    """Stands for an answer that was no edit. Its class is called as that answer was, for whoever tells of it."""


_NO_EDIT = (PluginError, WrongAnswer)


class ConfinedSubject:
    """What strategies and interceptors in a worker share.

    All calls of one subject go to one worker, so what the plugin keeps from one conversation to the next shows;
    `close` ends it. A copy made by pickle asks a worker of its own. Each call that fails costs a worker, so a
    plugin that only ever fails is not asked for long: the last failure is told again then.
    """

    def __init__(self, plugin: Plugin, config: Config) -> None:
        self._plugin = plugin
        self._config = config
        self._scope = f"conform-{token_hex(8)}"
        self._failures = 0
        self._last: object = None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._plugin, self._config)

    def close(self) -> None:
        """End the worker, in the background."""
        worker_pool().forget(self._scope)

    @hookimpl
    def trimtab_traits(self) -> Traits:
        """Give the traits that the worker told when it loaded the plugin."""
        return self._plugin.traits

    def _ask(self, request: Request, services: Services) -> object:
        if self._failures < _PATIENCE:
            self._last = self._outcome(request, services)
            self._failures = self._failures + 1 if isinstance(self._last, _NO_EDIT) else 0
        if isinstance(self._last, PluginError):
            raise self._last.with_traceback(None)
        return self._last

    def _outcome(self, request: Request, services: Services) -> object:
        """Give the edit, the error instead of one, or what stands for an answer that is none."""
        try:
            return self._call(request, services)
        except PluginRejectedError as error:
            return _stand_in(error)
        except PluginError as error:
            return error

    def _call(self, request: Request, services: Services) -> Edit | None:
        plugin, config = self._plugin, self._config
        assert plugin.confined is not None
        name = plugin.origin.plugin
        grant = config.grant_for(name)
        served = _served(services)
        return call_confined(
            worker_pool(),
            plugin.confined,
            request,
            services={"cost": cost_service(request), **served},
            offered=[one for one in grant.services if one in served and services.can(one)],
            meta=grant.meta,
            scope=self._scope,
            bounds=bounds_of(config, name),
            seconds=config.seconds_for(name, strategy=plugin.confined.hook == SHIFT),
            use=Use(),
            due=services.deadline,
        )


class ConfinedStrategy(ConfinedSubject):
    """A strategy in a worker."""

    @hookimpl
    def trimtab_shift(self, request: Request, services: Services) -> object:
        """Let the worker answer."""
        return self._ask(request, services)


class ConfinedInterceptor(ConfinedSubject):
    """An interceptor in a worker."""

    @hookimpl
    def trimtab_intercept(self, request: Request, services: Services) -> object:
        """Let the worker answer."""
        return self._ask(request, services)


class UnloadedSubject:
    """Stands for a plugin that could not be loaded: whoever looks for its hooks is told why."""

    def __init__(self, error: PluginError) -> None:
        self._error = error

    def __dir__(self) -> list[str]:
        raise self._error

    def close(self) -> None:
        """Do nothing: no worker was left."""


_KINDS = {SHIFT: ConfinedStrategy, INTERCEPT: ConfinedInterceptor}


def confined_subject(loaded: Plugin | PluginError, config: Config) -> ConfinedSubject | UnloadedSubject:
    """Give the subject for what was loaded into a worker, or could not be."""
    if isinstance(loaded, PluginError):
        return UnloadedSubject(loaded)
    assert loaded.confined is not None
    return _KINDS[loaded.confined.hook](loaded, config)


def _stand_in(error: PluginRejectedError) -> PluginRejectedError | WrongAnswer:
    answered = _ANSWERED.match(error.reason)
    if answered is None:
        return error
    made: WrongAnswer = type(answered[1], (WrongAnswer,), {})()
    return made


def _served(services: Services) -> dict[str, Callable[[object], object]]:
    return {
        "count": lambda value: services.count(_text(value)),
        "embed": lambda value: services.embed(_texts(value)),
    }


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"a text is wanted, not a {type(value).__name__}")
    return value.encode("utf-8", "replace").decode()


def _texts(value: object) -> list[str]:
    if type(value) is not list:
        raise TypeError(f"a list of texts is wanted, not a {type(value).__name__}")
    return [_text(one) for one in value]
