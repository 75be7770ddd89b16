"""The host's counter: tokenizer times framing, checked and cached."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.fitting.approximate import ApproximateV1, floor_tokens
from trimtab.fitting.cleaning import class_name
from trimtab.report import Diagnostic, TokenizerInfo
from trimtab_sdk.counting import Aspect, Cost, Framing, Tokenizer
from trimtab_sdk.messages import Message

CACHE_BYTES = 64 * 1024 * 1024
SCOPE_BYTES = 4 * 1024 * 1024
MAX_SCOPES = 256
_ENTRY_BYTES = 120
_EXTRA_TOKENS = 16
_DENSE = 8


class TextCounts:
    """Counts of texts by one tokenizer, bounded in bytes: the oldest leave first. Safe between threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        self.get = self._counts.get

    def put(self, text: str, count: int) -> None:
        """Remember a count; `get(text)` gives it, or None when it is not known."""
        size = _size(text)
        if size > self._max_bytes:
            return
        with self._lock:
            if text in self._counts:
                return
            while self._bytes + size > self._max_bytes:
                oldest, _ = self._counts.popitem(last=False)
                self._bytes -= _size(oldest)
            self._counts[text] = count
            self._bytes += size


class ScopedCounts:
    """A store of counts for each scope, so that no plugin learns from the clock what another chat counted."""

    def __init__(self) -> None:
        self._scopes: dict[str, TextCounts] = {}
        self._lock = threading.Lock()

    def of(self, scope: str | None) -> TextCounts:
        """Give the store of a scope; None is a fresh one for each call."""
        if scope is None:
            return TextCounts(SCOPE_BYTES)
        with self._lock:
            counts = self._scopes.pop(scope, None) or TextCounts(SCOPE_BYTES)
            while len(self._scopes) >= MAX_SCOPES:
                del self._scopes[next(iter(self._scopes))]
            self._scopes[scope] = counts
            return counts


def _size(text: str) -> int:
    return sys.getsizeof(text) + _ENTRY_BYTES


PLUGIN_COUNTS = ScopedCounts()


@dataclass(slots=True)
class Suspicion:
    """What a tokenizer driver did wrong last, empty while it did nothing wrong."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """A tokenizer driver with what the host keeps for it, and for no other of the same profile."""

    tokenizer: Tokenizer
    counts: TextCounts = field(default_factory=lambda: TextCounts(CACHE_BYTES))
    suspicion: Suspicion = field(default_factory=Suspicion)


APPROXIMATE = Driver(ApproximateV1())


class TextCounter:
    """Counts texts with a tokenizer driver that may lie, and keeps the counts.

    A count must be an int from 0 to the bytes of the text and a few more, and not under what any honest
    tokenizer gives; otherwise the floor, or the approximate count, is used and the driver is named.
    """

    def __init__(self, tokenizer: Tokenizer, counts: TextCounts, suspicion: Suspicion) -> None:
        self._count = tokenizer.count
        self._known = counts.get
        self._counts = counts
        self._suspicion = suspicion

    def __call__(self, text: str) -> int:
        """Give the tokens of `text`."""
        count = self._known(text)
        if count is None:
            count = self._checked(text)
            self._counts.put(text, count)
        return count

    def _checked(self, text: str) -> int:
        if not text:
            return 0
        try:
            count: object = self._count(text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a native library's panic is no Exception
            self._suspicion.text = f"it raised {class_name(error)}"
            return ApproximateV1().count(text)
        if type(count) is not int or not 0 <= count <= 4 * len(text) + _EXTRA_TOKENS:
            self._suspicion.text = "it gave a count that cannot be"
            return ApproximateV1().count(text)
        if count * _DENSE < len(text) or count == 0:
            floor = floor_tokens(text)
            if count < floor:
                self._suspicion.text = "it counted far less than any text of that length has"
                return floor
        return count


class Counter:
    """Counts messages and requests for one tokenizer and one framing."""

    def __init__(self, driver: Driver, framing: Framing, *, counts: TextCounts | None = None) -> None:
        self._driver = driver
        self.framing = framing
        self.text = TextCounter(driver.tokenizer, driver.counts if counts is None else counts, driver.suspicion)

    def message(self, message: Message) -> Cost:
        """Give what a message costs in the request."""
        return self.framing.message_cost(message, self.text)

    def messages(
        self, messages: Sequence[Message], on_progress: Callable[[int, int], None] | None = None
    ) -> dict[str, Cost]:
        """Give id → cost of each message; `on_progress` hears (done, all) every hundred messages."""
        if on_progress is None:
            cost_of, count = self.framing.message_cost, self.text
            return {message.id: cost_of(message, count) for message in messages}
        costs: dict[str, Cost] = {}
        for done, message in enumerate(messages):
            if done % 100 == 0:
                on_progress(done, len(messages))
            costs[message.id] = self.message(message)
        on_progress(len(messages), len(messages))
        return costs

    def request(self, *, tools: Sequence[object], response_format: Mapping[str, object] | None) -> Cost:
        """Give what the request costs besides its messages."""
        return self.framing.request_cost(tools=tools, response_format=response_format, count=self.text)

    def for_plugin(self, plugin: str, scope: str | None) -> Counter:
        """Give the same counter with a store of its own: what plugins ask never meets the host's counts.

        `scope` is the key of the conversation or tenant; None gives a fresh store.
        """
        tokenizer = self._driver.tokenizer
        key = None if scope is None else "\0".join([plugin, tokenizer.profile, tokenizer.version, scope])
        return Counter(self._driver, self.framing, counts=PLUGIN_COUNTS.of(key))

    def info(self, aspects: frozenset[Aspect], *, images: bool) -> TokenizerInfo:
        """Say how the count was made, given the approximate aspects of all costs in the request."""
        tokenizer = self._driver.tokenizer
        shown = "approximate" if "images" in aspects else "exact"
        return TokenizerInfo(
            profile=tokenizer.profile,
            version=tokenizer.version,
            approximate=tokenizer.approximate or bool(self._driver.suspicion.text),
            framing="approximate" if aspects & {"framing", "parts"} else "exact",
            images=shown if images else "none",  # type: ignore[arg-type]
        )

    def diagnostics(self) -> list[Diagnostic]:
        """Give the complaint about the tokenizer driver, if there is one."""
        complaint = self._driver.suspicion.text
        if not complaint:
            return []
        profile = self._driver.tokenizer.profile
        return [
            Diagnostic(
                "TOKENIZER_SUSPECT",
                f"the tokenizer {profile} is not used where {complaint}; a safe figure stands in its place",
                plugin=profile,
            )
        ]
