"""What a fit tells: the conversation as it may be sent, and an account of every message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

if TYPE_CHECKING:
    from trimtab_sdk.errors import PluginError

Exactness: TypeAlias = Literal["exact", "approximate"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a request may cost, and where that comes from. All figures are tokens.

    `available` = min(`max_input`, `context_limit` - `reserve`) - `margin`. What is None is not known and limits
    nothing. The margin is kept where the tokenizer is approximate.
    """

    available: int
    reserve: int
    context_limit: int | None = None
    max_input: int | None = None
    margin: int = 0

    def to_dict(self) -> dict[str, object]:
        """Give the figures as JSON values."""
        return {
            "contextLimit": self.context_limit,
            "maxInput": self.max_input,
            "reserve": self.reserve,
            "margin": self.margin,
            "available": self.available,
        }


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """How the count was made, and which parts of it are approximate.

    `approximate` speaks of text alone; `framing` of what the wire adds around it (tool calls, tools and response
    formats have no published rule); `images` is `none` where there are none.
    """

    profile: str
    version: str
    approximate: bool
    framing: Exactness = "exact"
    images: Literal["exact", "approximate", "none"] = "none"

    def to_dict(self) -> dict[str, object]:
        """Give the same as JSON values."""
        return {
            "profile": self.profile,
            "version": self.version,
            "approximate": self.approximate,
            "framing": self.framing,
            "images": self.images,
        }


@dataclass(frozen=True, slots=True)
class Entry:
    """One message in the report.

    - `index` is its place in the input, from 0; None for an inserted text.
    - `tokens` is what it costs in the request, or would have cost if it left.
    - `original_tokens` is what a truncated message cost before.
    - `approximate` says that no published rule gives the figure, whatever the tokenizer.
    - `plugin` is the plugin that inserted it.
    """

    id: str
    index: int | None
    role: str
    tokens: int
    reason: str
    approximate: bool = False
    original_tokens: int | None = None
    plugin: str = ""

    def to_dict(self) -> dict[str, object]:
        """Give the entry as JSON values; keys that say nothing are left out."""
        entry: dict[str, object] = {
            "id": self.id,
            "index": self.index,
            "role": self.role,
            "tokens": self.tokens,
            "reason": self.reason,
        }
        if self.approximate:
            entry["approximate"] = True
        if self.original_tokens is not None:
            entry["originalTokens"] = self.original_tokens
        if self.plugin:
            entry["plugin"] = self.plugin
        return entry


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something the caller should know: a repair, a refused edit, a note.

    `code` is stable: an error code in capitals, or a word such as `wire-rule`. `ids` are the messages concerned;
    `plugin`, `distribution` and `version` name the plugin at fault, empty where there is none.
    """

    code: str
    message: str
    ids: tuple[str, ...] = ()
    plugin: str = ""
    distribution: str = ""
    version: str = ""

    def to_dict(self) -> dict[str, object]:
        """Give the diagnostic as JSON values; keys that say nothing are left out."""
        diagnostic: dict[str, object] = {"code": self.code, "message": self.message}
        if self.ids:
            diagnostic["ids"] = list(self.ids)
        if self.plugin:
            diagnostic["plugin"] = self.plugin
        if self.distribution:
            diagnostic["distribution"] = self.distribution
            diagnostic["version"] = self.version
        return diagnostic


@dataclass(frozen=True, slots=True)
class PluginCall:
    """One call of a plugin in a fit, or why a plugin that was due was not called.

    - `hook` is `trimtab_shift` or `trimtab_intercept`. `built_in` plugins came with the host, `confined` ones ran
      in a worker process.
    - `seconds` of wall time. Two records that differ in nothing else are equal.
    - `dropped`, `shortened`, `inserted`: how many messages of the request it left out (the rest of their groups
      and earlier inserts included), cut and added; `insert_tokens` is what the added ones cost.
    - `restored`: what must stay and it dropped or shortened; nothing of its answer was used then.
    - `rejected`: why nothing of it was used, an error code or `prefix-unstable`; empty when its answer was used.
    - `asked`: how often a confined plugin asked the host for something; `output`: what it printed, cleaned.
    """

    plugin: str
    distribution: str
    version: str
    hook: str
    built_in: bool = False
    confined: bool = False
    seconds: float = field(default=0.0, compare=False)
    dropped: int = 0
    shortened: int = 0
    inserted: int = 0
    insert_tokens: int = 0
    restored: tuple[str, ...] = ()
    rejected: str = ""
    asked: int = 0
    output: str = ""

    def to_dict(self) -> dict[str, object]:
        """Give the record as JSON values, the time in milliseconds; keys that say nothing are left out."""
        call: dict[str, object] = {"plugin": self.plugin}
        if self.distribution:
            call |= {"distribution": self.distribution, "version": self.version}
        call |= {
            "hook": self.hook,
            "builtIn": self.built_in,
            "confined": self.confined,
            "milliseconds": round(self.seconds * 1000, 1),
            "dropped": self.dropped,
            "shortened": self.shortened,
            "inserted": self.inserted,
            "insertTokens": self.insert_tokens,
        }
        said = {
            "restored": list(self.restored),
            "rejected": self.rejected,
            "asked": self.asked,
            "output": self.output,
        }
        return call | {key: value for key, value in said.items() if value}


def plugin_remark(error: PluginError, answer: str) -> Diagnostic:
    """Give the remark on what a plugin did wrong, and what the host did about it."""
    return Diagnostic(
        error.code,
        f"{error.reason}; {answer}",
        error.ids,
        plugin=error.plugin,
        distribution=error.distribution,
        version=error.version,
    )


class Entries(Sequence[Entry]):
    """Entries of a report, made when somebody looks; equal to any sequence with the same entries."""

    def __init__(self, make: Callable[[], Sequence[Entry]]) -> None:
        self._make = make
        self._entries: tuple[Entry, ...] | None = None

    def _all(self) -> tuple[Entry, ...]:
        if self._entries is None:
            self._entries = tuple(self._make())
        return self._entries

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[tuple[Entry, ...]], Entries], tuple[tuple[Entry, ...]]]:
        return _made, (self._all(),)

    def __repr__(self) -> str:
        return repr(self._all())


def _made(entries: tuple[Entry, ...]) -> Entries:
    return Entries(lambda: entries)


@dataclass(frozen=True, slots=True)
class Fit:
    """A conversation that fits, and the account of it.

    - `messages` is in the format it was given in; `request` is the whole body when one was given.
    - Every input message is in exactly one of `kept`, `excluded`, `truncated`; every text a plugin added is in
      `inserted`. The tokens of kept, truncated and inserted plus `overhead` are `tokens_after`.
    - `tokens_before` is what the input would have cost.
    - `calls` are the plugins that were due, in the order they ran.
    """

    messages: list[object]
    request: dict[str, object] | None
    model: str
    strategy: str
    format: str
    tokenizer: TokenizerInfo
    budget: Budget
    tokens_before: int
    tokens_after: int
    overhead: int
    kept: Sequence[Entry]
    excluded: Sequence[Entry]
    truncated: Sequence[Entry]
    inserted: Sequence[Entry]
    diagnostics: tuple[Diagnostic, ...]
    calls: tuple[PluginCall, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give the report, without the conversation, as JSON values with camelCase keys."""
        return {
            "model": self.model,
            "strategy": self.strategy,
            "format": self.format,
            "tokenizer": self.tokenizer.to_dict(),
            "budget": self.budget.to_dict(),
            "tokensBefore": self.tokens_before,
            "tokensAfter": self.tokens_after,
            "overhead": self.overhead,
            "kept": [entry.to_dict() for entry in self.kept],
            "excluded": [entry.to_dict() for entry in self.excluded],
            "truncated": [entry.to_dict() for entry in self.truncated],
            "inserted": [entry.to_dict() for entry in self.inserted],
            "diagnostics": [diagnostic.to_dict() for diagnostic in self.diagnostics],
            "calls": [call.to_dict() for call in self.calls],
        }
