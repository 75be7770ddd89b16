"""Every error Trimtab raises, split by what a caller can do about it.

    TrimtabError                        code, details, to_dict()
      ConfigError                       CONFIG_INVALID          mend the configuration
        UnknownModelError               UNKNOWN_MODEL
        UnknownStrategyError            UNKNOWN_STRATEGY
        UnknownProviderError            UNKNOWN_PROVIDER
      InvalidRequestError               INVALID_REQUEST         mend the input
        InvalidBudgetError              INVALID_BUDGET
        UnknownFormatError              UNKNOWN_FORMAT
      TokenBudgetExceededError          TOKEN_BUDGET_EXCEEDED   pin less, or take a larger limit
      TokenizerUnavailableError         TOKENIZER_UNAVAILABLE   install a vocabulary
      ServiceUnavailableError           SERVICE_UNAVAILABLE     ask `services.can(name)` first
      PluginError                       a plugin is at fault; has plugin, distribution, version, hook
        PluginLoadError                 PLUGIN_LOAD_FAILED
        PluginNeedsError                SERVICE_UNAVAILABLE     it needs what this host does not offer
        PluginNotTrustedError           PLUGIN_NOT_TRUSTED
        PluginRejectedError             PLUGIN_REJECTED         its answer broke the contract
        ProtectedContextRemovedError    PROTECTED_CONTEXT_REMOVED
        PluginTimeoutError              PLUGIN_TIMEOUT
        PluginCrashedError              PLUGIN_CRASHED
        PluginBusyError                 PLUGIN_BUSY             no room to call it now
        PluginSuspendedError            PLUGIN_SUSPENDED        it failed too often in this chat

The data are attributes; the text says what to do next. `details` holds the same data, ready for JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


class TrimtabError(Exception):
    """The root of all errors. `code` is stable; `str(error)` is for people."""

    code: ClassVar[str] = "TRIMTAB_ERROR"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args, self.__dict__)

    @property
    def details(self) -> dict[str, object]:
        """The error's data, JSON values with camelCase keys."""
        return self._details()

    def _details(self) -> dict[str, object]:
        return {}

    def to_dict(self) -> dict[str, object]:
        """Give `code`, `message` and `details`: the body of every error that leaves the process."""
        return {"code": self.code, "message": self.message, "details": self.details}


def _again(kind: type[TrimtabError], args: tuple[object, ...], data: dict[str, object]) -> TrimtabError:
    """Make an error anew from its pickle, without asking its constructor."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(data)
    return error


class ConfigError(TrimtabError):
    """The host app asked for something that cannot be."""

    code = "CONFIG_INVALID"


class _UnknownNameError(ConfigError):
    def __init__(self, message: str, *, name: str, known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.known = tuple(known)

    def _details(self) -> dict[str, object]:
        return {"name": self.name, "known": list(self.known)}


class UnknownModelError(_UnknownNameError):
    """The catalogue has no limits for this model and the caller gave none."""

    code = "UNKNOWN_MODEL"


class UnknownStrategyError(_UnknownNameError):
    """No strategy of this name is installed or registered."""

    code = "UNKNOWN_STRATEGY"


class UnknownProviderError(_UnknownNameError):
    """No provider of this name is installed."""

    code = "UNKNOWN_PROVIDER"


class InvalidRequestError(TrimtabError):
    """The input has the wrong shape. `path` names the field, as in `messages[3].content`; `ids` the messages."""

    code = "INVALID_REQUEST"

    def __init__(self, message: str, *, path: str = "", ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.ids = tuple(ids)

    def _details(self) -> dict[str, object]:
        return {"path": self.path, "ids": list(self.ids)}


class InvalidBudgetError(InvalidRequestError):
    """A limit, reserve, budget or target makes no sense."""

    code = "INVALID_BUDGET"

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value

    def _details(self) -> dict[str, object]:
        return {"value": self.value if isinstance(self.value, int) else repr(self.value)}


class UnknownFormatError(InvalidRequestError):
    """No codec reads this input."""

    code = "UNKNOWN_FORMAT"

    def __init__(self, message: str, *, known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.known = tuple(known)

    def _details(self) -> dict[str, object]:
        return {"known": list(self.known)}


class TokenBudgetExceededError(TrimtabError):
    """What must stay is over the budget, so no request can be made.

    - `needed`, `allowed`, `overhead`: tokens; `needed` includes the overhead.
    - `protected`: id → tokens of every protected message; `places`: id → its position in the input, if known.
    - `smallest_limit`: the smallest context limit that would do, None when no limit is known to be in play.
    """

    code = "TOKEN_BUDGET_EXCEEDED"

    def __init__(
        self,
        *,
        needed: int,
        allowed: int,
        overhead: int,
        protected: Mapping[str, int],
        places: Mapping[str, int] | None = None,
        current_input: Sequence[str] = (),
        smallest_limit: int | None = None,
    ) -> None:
        self.needed = needed
        self.allowed = allowed
        self.overhead = overhead
        self.protected = dict(protected)
        self.places = dict(places or {})
        self.current_input = tuple(current_input)
        self.smallest_limit = smallest_limit
        super().__init__(self._explain())

    def _explain(self) -> str:
        heavy = [
            f"{name} ({tokens:,})"
            for name, tokens in sorted(self.protected.items(), key=lambda item: -item[1])
            if name not in self.current_input
        ]
        parts = [f"what must stay needs {self.needed:,} tokens, {self.allowed:,} are allowed"]
        if self.overhead:
            parts.append(f"{self.overhead:,} of them are the request's own overhead, tools included")
        if heavy:
            more = f" and {len(heavy) - 5} more" if len(heavy) > 5 else ""
            parts.append(f"the protected messages that weigh most: {', '.join(heavy[:5])}{more}")
        advice = "unpin or shorten some of these, or take a larger limit" if heavy else "take a larger limit"
        if self.smallest_limit is not None:
            advice += f" (the smallest that does is {self.smallest_limit:,})"
        return "; ".join([*parts, advice])

    def _details(self) -> dict[str, object]:
        return {
            "needed": self.needed,
            "allowed": self.allowed,
            "overhead": self.overhead,
            "protected": [
                {"id": name, "index": self.places.get(name), "tokens": tokens}
                for name, tokens in self.protected.items()
            ],
            "currentInput": list(self.current_input),
            "smallestLimit": self.smallest_limit,
        }


class TokenizerUnavailableError(TrimtabError):
    """A tokenizer driver has no vocabulary on this machine. The text says how to get one."""

    code = "TOKENIZER_UNAVAILABLE"


class ServiceUnavailableError(TrimtabError):
    """The host does not offer this service here."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, name: str) -> None:
        super().__init__(f"this host has no service {name!r}; ask services.can({name!r}) before you call it")
        self.name = name

    def _details(self) -> dict[str, object]:
        return {"name": self.name}


@dataclass(frozen=True, slots=True)
class Origin:
    """Who is behind a plugin: its name, and the distribution with version it came from, empty when unknown."""

    plugin: str
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        if not self.distribution:
            return self.plugin
        return f"{self.plugin} ({self.distribution} {self.version})".replace(" )", ")")


class PluginError(TrimtabError):
    """A plugin is at fault. `hook` is the hook that was called, empty while loading."""

    code = "PLUGIN_FAILED"

    def __init__(self, message: str, *, origin: Origin, hook: str = "", ids: Sequence[str] = ()) -> None:
        called = f" in {hook}" if hook else ""
        super().__init__(f"plugin {origin}{called}: {message}")
        self.origin = origin
        self.hook = hook
        self.ids = tuple(ids)
        self.reason = message

    @property
    def plugin(self) -> str:
        """The plugin's name."""
        return self.origin.plugin

    @property
    def distribution(self) -> str:
        """The distribution the plugin came from, empty when it was registered by hand."""
        return self.origin.distribution

    @property
    def version(self) -> str:
        """The version of that distribution."""
        return self.origin.version

    def _details(self) -> dict[str, object]:
        return {
            "plugin": self.plugin,
            "distribution": self.distribution,
            "version": self.version,
            "hook": self.hook,
            "ids": list(self.ids),
        }


class PluginLoadError(PluginError):
    """The plugin could not be imported, or is not what its entry point promises."""

    code = "PLUGIN_LOAD_FAILED"


class PluginNeedsError(PluginError):
    """The plugin cannot work without a service that this host does not offer."""

    code = "SERVICE_UNAVAILABLE"


class PluginNotTrustedError(PluginError):
    """The plugin is installed, but nobody said it may run here."""

    code = "PLUGIN_NOT_TRUSTED"


class PluginRejectedError(PluginError):
    """The plugin's answer broke the contract; nothing of it was used."""

    code = "PLUGIN_REJECTED"


class ProtectedContextRemovedError(PluginError):
    """The plugin dropped or shortened what must stay; nothing of its answer was used."""

    code = "PROTECTED_CONTEXT_REMOVED"


class PluginTimeoutError(PluginError):
    """The plugin did not answer in time."""

    code = "PLUGIN_TIMEOUT"


class PluginCrashedError(PluginError):
    """The plugin raised; its exception is the `__cause__`."""

    code = "PLUGIN_CRASHED"


class PluginBusyError(PluginError):
    """An earlier call that came too late still runs, or every worker is busy: the plugin is not called now."""

    code = "PLUGIN_BUSY"


class PluginSuspendedError(PluginError):
    """The plugin failed three times in this chat, so it is not called there any more."""

    code = "PLUGIN_SUSPENDED"
