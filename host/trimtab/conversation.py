"""A conversation that is fitted again and again: what is known of it is kept, and the accepted edit carried on."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trimtab.config import Config
from trimtab.fitting.held import HeldConversation
from trimtab.fitting.job import Setup
from trimtab.fitting.outside import clean_input
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab.naming import named_ids
from trimtab.opening import Options, open_conversation, replaced_note
from trimtab.report import Diagnostic, Fit
from trimtab_sdk.codec import Decoded
from trimtab_sdk.errors import InvalidBudgetError, InvalidRequestError

TARGET = 0.75


class Conversation:
    """Holds a conversation with its groups and counts, and fits it turn after turn.

        chat = Conversation(messages, model="gpt-4o")
        request = chat.fit().messages
        chat.append(answer, next_question)
        request = chat.fit().messages     # the former request with the new messages behind it, while that fits

    What the strategy did is done again at the next fit before anything else. Only when that is over the budget the
    strategy is called again, and then it cuts down to `target`, a share of the budget: so the prefix that a
    provider caches stays the same for many turns. The carried edit is discarded when everything fits without
    it, and when pins or the messages it speaks of change.

    A plugin that is not built in and changes the older part of the request from turn to turn, so that the prefix
    breaks, is named (`prefix-unstable`): after three breaks its texts go before the current input, after three
    more it is not called any more.

    The options are those of `trimtab.fit`. Without a `scope` the conversation gets one of its own: its workers
    end with it, or with `close`. Safe to use from many threads; calls run one after another.
    """

    def __init__(
        self,
        messages: object = (),
        *,
        model: str,
        strategy: str = "truncate",
        context_limit: int | None = None,
        reserve: int | None = None,
        pins: Sequence[int | str] = (),
        excluded: Sequence[int | str] = (),
        tools: Sequence[object] | None = None,
        response_format: Mapping[str, object] | None = None,
        format: str | None = None,
        settings: Mapping[str, object] | None = None,
        scope: str | None = None,
        config: Config | None = None,
        registry: ContextStrategyRegistry | None = None,
        target: float = TARGET,
    ) -> None:
        options = Options(
            model=model,
            strategy=strategy,
            context_limit=context_limit,
            reserve=reserve,
            tools=tools,
            response_format=response_format,
            format=format,
            settings=settings,
            scope=scope,
            config=config,
            registry=registry,
            target=_share(target),
        )
        opened = open_conversation(list(messages) if isinstance(messages, tuple) else messages, options)
        setup = opened.setup if scope is not None else _with_own_scope(opened.setup)
        self._closing = None if scope is not None else _forget_at_end(self, setup)
        self._held = HeldConversation(
            setup,
            opened.decoded,
            notes=opened.notes,
            pins=_ids("pins", pins, opened.decoded),
            excluded=_ids("excluded", excluded, opened.decoded),
        )
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Give the number of messages."""
        return len(self._held)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the messages, in order."""
        return self._held.ids

    def append(self, *messages: object) -> tuple[str, ...]:
        """Add messages at the end, in the format of the conversation; give their ids.

        Raises InvalidRequestError when one has the wrong shape; then none is added.
        """
        with self._lock:
            end = len(self)
            decoded, notes = self._splice(end, end, messages)
            fresh = decoded.messages[decoded.leading + end :]
            self._held.extend(decoded, fresh, notes=notes)
            return tuple(message.id for message in fresh)

    def edit(self, which: int | str, message: object) -> None:
        """Replace a message by another of the same id."""
        with self._lock:
            name, at = self._find(which)
            decoded, notes = self._splice(at, at + 1, (message,), ids=(name,))
            self._held.replace_messages(decoded, (name,), notes=notes)

    def remove(self, which: int | str) -> None:
        """Take a message out for good. What is left of its group is the caller's to mend."""
        with self._lock:
            name, at = self._find(which)
            decoded, notes = self._splice(at, at + 1, ())
            self._held.replace_messages(decoded, (name,), notes=notes)

    def pin(self, *which: int | str) -> None:
        """Protect messages."""
        with self._lock:
            self._held.pin(_ids("pins", which, self._held.decoded))

    def unpin(self, *which: int | str) -> None:
        """Protect messages no longer."""
        with self._lock:
            self._held.unpin(_ids("pins", which, self._held.decoded))

    def exclude(self, *which: int | str) -> None:
        """Leave messages out by hand, until they are included again. No summary goes on telling what they said."""
        with self._lock:
            self._held.exclude(_ids("excluded", which, self._held.decoded))

    def include(self, *which: int | str) -> None:
        """Leave messages out by hand no longer."""
        with self._lock:
            self._held.include(_ids("excluded", which, self._held.decoded))

    def close(self) -> None:
        """End the workers of the conversation. Those of a `scope` that the caller gave are the caller's to end."""
        if self._closing is not None:
            self._closing()

    def fit(self) -> Fit:
        """Fit the conversation as it is now. Raises what `trimtab.fit` raises."""
        with self._lock:
            return self._held.fit().fit

    def _splice(
        self, start: int, stop: int, messages: Sequence[object], *, ids: Sequence[str] = ()
    ) -> tuple[Decoded, tuple[Diagnostic, ...]]:
        """Give the conversation with some messages replaced, and the remarks on the new ones."""
        cleaned = clean_input(list(messages))
        items = cleaned.data if isinstance(cleaned.data, list) else []
        decoded = self._held.setup.codec.splice(self._held.decoded, start, stop, items, ids=ids)
        return decoded, replaced_note(cleaned.replaced)

    def _find(self, which: int | str) -> tuple[str, int]:
        (name,) = _ids("which", (which,), self._held.decoded)
        at = self._held.places[name]
        if at < 0:
            raise InvalidRequestError(
                f"{name!r} stands in a field of the body, not in the list of messages", path="which", ids=(name,)
            )
        return name, at


def _ids(what: str, which: Sequence[int | str], decoded: Decoded) -> frozenset[str]:
    return named_ids(what, which, decoded.messages, leading=decoded.leading)


def _with_own_scope(setup: Setup) -> Setup:
    return replace(setup, scope=os.urandom(16).hex())


def _forget_at_end(conversation: Conversation, setup: Setup) -> Callable[[], object] | None:
    """Give what ends the workers of a conversation; it is called when nobody holds the conversation any more."""
    if all(step.plugin.is_built_in for step in (setup.strategy, *setup.interceptors)):
        return None
    ending = weakref.finalize(conversation, setup.caller.forget, setup.scope or "")
    ending.atexit = False
    return ending


def _share(target: object) -> float:
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target <= 1:
        raise InvalidBudgetError(f"target must be a share of the budget, over 0 and at most 1, not {target!r}")
    return float(target)
