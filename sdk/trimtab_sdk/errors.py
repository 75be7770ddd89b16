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
      ProviderError                     PROVIDER_…              the code of its fault; `retryable` says whether to
      StoreUnavailableError             STORE_UNAVAILABLE       the database is gone, locked or full
      NotFoundError                     CHAT_NOT_FOUND, MESSAGE_NOT_FOUND, TURN_NOT_FOUND
      HostStoppingError                 HOST_STOPPING           ask another process, or a little later
      TurnError                         a turn cannot go on
        TurnInProgressError             TURN_IN_PROGRESS        wait for it, or cancel it
        TurnStateError                  TURN_STATE              it is not in the state that this needs
        TurnLostError                   TURN_LOST               another process has taken it over
        TurnInterruptedError            TURN_INTERRUPTED        its process ended in the middle
        TurnStepsExceededError          TURN_STEPS_EXCEEDED     the model went on calling tools
        CursorLostError                 TOOL_RESULT_CURSOR_LOSS, CURSOR_LOST_AGAIN
      ChatChangedError                  CHAT_CHANGED            somebody else changed it meanwhile
      ToolFailedError                   TOOL_FAILED             a tool raised, was late or answered nonsense

The data are attributes; the text says what to do next. `details` holds the same data, ready for JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from trimtab_sdk.provider import Fault


class TrimtabError(Exception):
    """The root of all errors. `code` is stable; `str(error)` is for people."""

    code: str = "TRIMTAB_ERROR"

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
        asked = frozenset(self.current_input)
        heavy = [
            f"{name} ({tokens:,})"
            for name, tokens in sorted(self.protected.items(), key=lambda item: -item[1])
            if name not in asked
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


class ProviderError(TrimtabError):
    """A call to a provider failed. `code` is that of its `fault`, and the text says what to do next.

    - `provider`, `model`: who was asked. `status`: the HTTP status, 0 when there was no answer.
    - `retry_after`: seconds after which the server would like to be asked again, None when it does not say.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: Fault,
        provider: str,
        model: str = "",
        status: int = 0,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = fault.code
        self.fault = fault
        self.provider = provider
        self.model = model
        self.status = status
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.fault.retryable

    def _details(self) -> dict[str, object]:
        said = {
            "provider": self.provider,
            "model": self.model,
            "status": self.status,
            "upstreamCode": self.fault.upstream_code,
            "param": self.fault.param,
            "retryAfter": self.retry_after,
            "allowed": self.fault.allowed,
            "needed": self.fault.needed,
        }
        return {key: value for key, value in said.items() if value not in ("", 0, None)} | {
            "retryable": self.retryable
        }


class StoreUnavailableError(TrimtabError):
    """The store cannot be read or written now: gone, locked, full or not writable. Nothing was half written."""

    code = "STORE_UNAVAILABLE"


Sought: TypeAlias = Literal["chat", "message", "turn"]


class NotFoundError(TrimtabError):
    """There is no such chat, message or turn (`kind`) with this `id`, or it belongs to another owner."""

    def __init__(self, kind: Sought, id: str) -> None:
        super().__init__(f"there is no {kind} {id!r} of this owner")
        self.code = f"{kind.upper()}_NOT_FOUND"
        self.kind = kind
        self.id = id

    def _details(self) -> dict[str, object]:
        return {"kind": self.kind, "id": self.id}


class HostStoppingError(TrimtabError):
    """The host is about to stop: turns that run may end, and no new one begins."""

    code = "HOST_STOPPING"


class TurnError(TrimtabError):
    """A turn cannot be started, cannot go on or did not end well. `turn_id` is empty when it is not known."""

    code = "TURN_FAILED"

    def __init__(self, message: str, *, chat_id: str = "", turn_id: str = "") -> None:
        super().__init__(message)
        self.chat_id = chat_id
        self.turn_id = turn_id

    def _details(self) -> dict[str, object]:
        return {"chatId": self.chat_id, "turnId": self.turn_id}


class TurnInProgressError(TurnError):
    """The chat has a turn that still runs or waits for tool results. There is at most one."""

    code = "TURN_IN_PROGRESS"


class TurnStateError(TurnError):
    """The turn is not in the state that this needs: not paused, not failed, not the last one."""

    code = "TURN_STATE"


class TurnLostError(TurnError):
    """The turn's lease was lost and somebody else has ended it. What it would have written is not written."""

    code = "TURN_LOST"


class TurnInterruptedError(TurnError):
    """The process that ran the turn ended in the middle of it. Its input and its finished steps are stored."""

    code = "TURN_INTERRUPTED"


class TurnStepsExceededError(TurnError):
    """The model called tools in more steps than the chat allows."""

    code = "TURN_STEPS_EXCEEDED"


class CursorLostError(TurnError):
    """The provider lost the conversation where it cannot be sent again in this turn.

    `code` is `TOOL_RESULT_CURSOR_LOSS` or `CURSOR_LOST_AGAIN`.
    """

    code = "TOOL_RESULT_CURSOR_LOSS"

    def __init__(self, message: str, *, code: str, chat_id: str = "", turn_id: str = "") -> None:
        super().__init__(message, chat_id=chat_id, turn_id=turn_id)
        self.code = code


class ChatChangedError(TrimtabError):
    """The chat is at another revision than was expected: read it again. `revision` is the one it is at."""

    code = "CHAT_CHANGED"

    def __init__(self, chat_id: str, *, revision: int) -> None:
        super().__init__(f"the chat {chat_id!r} was changed meanwhile; read it again (it is at {revision} now)")
        self.chat_id = chat_id
        self.revision = revision

    def _details(self) -> dict[str, object]:
        return {"chatId": self.chat_id, "revision": self.revision}


class ToolFailedError(TrimtabError):
    """A tool raised, was late, or answered with what cannot be sent. The model is told, and the turn goes on."""

    code = "TOOL_FAILED"

    def __init__(self, message: str, *, tool: str, call_id: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        self.call_id = call_id

    def _details(self) -> dict[str, object]:
        return {"tool": self.tool, "callId": self.call_id}
