"""What happened to each message on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trimtab.report import Diagnostic
from trimtab_sdk.errors import Origin, PluginError
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True)
class Inserted:
    """A text that a plugin added: whose it is, whether it is the strategy's, and the dropped ids it stands for."""

    message: Message
    origin: Origin
    by_strategy: bool
    covers: tuple[str, ...]


@dataclass(slots=True)
class Account:
    """The books of one fit.

    `left` and `shortened` are id → reason. `inserted` holds what is in the context now. `insert_tokens` is
    what each plugin's inserts cost so far, by plugin name. `relevant` are ids a plugin called so.
    """

    left: dict[str, str] = field(default_factory=dict)
    shortened: dict[str, str] = field(default_factory=dict)
    inserted: dict[str, Inserted] = field(default_factory=dict)
    relevant: set[str] = field(default_factory=set)
    insert_tokens: dict[str, int] = field(default_factory=dict)
    _remarks: dict[Diagnostic, None] = field(default_factory=dict)

    def leave(self, ids: Iterable[str], reason: str) -> None:
        """Book messages out. A summary that leaves uncovers what it stood for."""
        for name in ids:
            insert = self.inserted.pop(name, None)
            if insert is None:
                self.left[name] = reason
                self.shortened.pop(name, None)
                continue
            for covered in insert.covers:
                self.left[covered] = "context-shift"
            self.note(reason, f"the insert {name} left again", ids=(name,), origin=insert.origin)

    def note(self, code: str, message: str, *, ids: Iterable[str] = (), origin: Origin | None = None) -> None:
        """Add a remark for the report, once."""
        remark = Diagnostic(
            code,
            message,
            tuple(ids),
            plugin=origin.plugin if origin else "",
            distribution=origin.distribution if origin else "",
            version=origin.version if origin else "",
        )
        self._remarks.setdefault(remark)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The remarks, each once, in the order they came up."""
        return tuple(self._remarks)

    def blame(self, error: PluginError, answer: str) -> None:
        """Add what a plugin did wrong, and what the host did about it."""
        self.note(error.code, f"{error.reason}; {answer}", ids=error.ids, origin=error.origin)

    @property
    def touched(self) -> bool:
        """Whether anything left, was shortened or was inserted."""
        return bool(self.left or self.shortened or self.inserted)
