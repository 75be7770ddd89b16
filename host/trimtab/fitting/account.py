"""What happened to each message on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from trimtab.report import Diagnostic, PluginCall, plugin_remark
from trimtab_sdk.edit import Span
from trimtab_sdk.errors import Origin, PluginError
from trimtab_sdk.messages import Message, Path

Cuts: TypeAlias = Mapping[Path, tuple[Span, ...]]
"""The spans that stay of the texts of a message."""

PluginKey: TypeAlias = tuple[Origin, str]
"""A plugin as it is told apart from others: where it comes from, and its hook."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """A text that a plugin added: whose it is, whether it is the strategy's, and the dropped ids it stands for."""

    message: Message
    origin: Origin
    by_strategy: bool
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deed:
    """What a plugin did to the request in one fit.

    - `dropped`: the ids that left; `cuts`: id → what stays of a message.
    - `inserts`: texts, each with the id of the message it stands in front of.
    """

    dropped: frozenset[str]
    cuts: Mapping[str, Cuts]
    inserts: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Account:
    """The books of one fit.

    - `left` and `shortened` are id → reason, `cuts` the spans that stay of what was shortened, `whole` what that
      was before.
    - `inserted` holds what is in the context now, `insert_tokens` what each of these costs.
    - `relevant` are ids a plugin called so; `stripped` are messages that held bound reasoning alone and left,
      `silent` those that left since the wire has nothing to write of them as they came.
    - `calls` are the records of the plugins that were due; `deeds` is what those did that are not built in.
    """

    left: dict[str, str] = field(default_factory=dict)
    shortened: dict[str, str] = field(default_factory=dict)
    cuts: dict[str, Cuts] = field(default_factory=dict)
    whole: dict[str, Message] = field(default_factory=dict)
    inserted: dict[str, Inserted] = field(default_factory=dict)
    relevant: set[str] = field(default_factory=set)
    stripped: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    insert_tokens: dict[str, int] = field(default_factory=dict)
    calls: list[PluginCall] = field(default_factory=list)
    deeds: dict[PluginKey, Deed] = field(default_factory=dict)
    _remarks: dict[Diagnostic, None] = field(default_factory=dict)

    def leave(self, ids: Iterable[str], reason: str) -> None:
        """Book messages out. A summary uncovers what it stood for, unless another summary stands for it now."""
        if not self.inserted and not self.shortened:
            self.left.update(dict.fromkeys(ids, reason))
            return
        for name in ids:
            insert = self.inserted.pop(name, None)
            if insert is None:
                self.left[name] = reason
                self.shortened.pop(name, None)
                self.cuts.pop(name, None)
                self.whole.pop(name, None)
                continue
            del self.insert_tokens[name]
            if reason == "summarized":
                continue
            self.left.update(dict.fromkeys(insert.covers, "context-shift"))
            self.note(reason, f"the insert {name} left again", ids=(name,), origin=insert.origin)

    def shorten(self, whole: Message, reason: str, cuts: Cuts) -> None:
        """Book that only some spans of the texts of `whole`, a message nobody cut, stay."""
        self.shortened[whole.id] = reason
        self.cuts[whole.id] = cuts
        self.whole[whole.id] = whole

    def insert(self, insert: Inserted, tokens: int) -> None:
        """Book a text that a plugin added, and what it costs."""
        self.inserted[insert.message.id] = insert
        self.insert_tokens[insert.message.id] = tokens

    def spent_by(self, plugin: str) -> int:
        """Give what the inserts of a plugin cost that are in the context now."""
        return sum(
            self.insert_tokens[name] for name, insert in self.inserted.items() if insert.origin.plugin == plugin
        )

    def note(self, code: str, message: str, *, ids: Iterable[str] = (), origin: Origin | None = None) -> None:
        """Add a remark for the report, once."""
        plugin = origin if origin is not None else Origin("")
        self._remarks.setdefault(
            Diagnostic(code, message, tuple(ids), plugin.plugin, plugin.distribution, plugin.version)
        )

    def blame(self, error: PluginError, answer: str) -> None:
        """Add what a plugin did wrong, and what the host did about it."""
        self._remarks.setdefault(plugin_remark(error, answer))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The remarks, each once, in the order they came up."""
        return tuple(self._remarks)

    @property
    def touched(self) -> bool:
        """Whether anything left, was shortened or was inserted."""
        return bool(self.left or self.shortened or self.inserted)
