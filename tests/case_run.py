"""One fit of a case with what came of it."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from case_blocks import blocks_of, find_messages
from case_files import Case, Json, Key, copy_of, dump
from case_formats import HEAD
from case_setup import Setup, fit, key_of_entry
from case_viewers import head_views, views_of
from case_views import View
from trimtab import Fit
from trimtab.conversion import Conversion
from trimtab.report import Entry
from trimtab_sdk import TrimtabError


@dataclass(frozen=True)
class Origin:
    """What a case was before it was brought into another format.

    `places` gives for each message of it where what it says went, nothing for one that did not arrive.
    """

    setup: Setup
    before: str
    conversion: Conversion
    places: Mapping[Key, tuple[Key, ...]]


@dataclass(frozen=True)
class Run:
    """One fit of a case, and what is expected of it.

    `before` is a dump of the input as it was; `turn` counts the fits of one conversation from 1, 0 for a fit of
    its own; `origin` says what was converted where the case was brought into another format.
    """

    label: str
    setup: Setup
    expect: Mapping[str, Json]
    result: Fit | TrimtabError
    before: str
    seconds: float
    connections: int
    turn: int = 0
    origin: Origin | None = None

    @property
    def fit(self) -> Fit:
        """The fit; an assertion fails when the run ended in an error."""
        assert isinstance(self.result, Fit), f"{self.label}: {self.result!r}"
        return self.result

    @property
    def error(self) -> TrimtabError:
        """The error; an assertion fails when the run went well."""
        assert isinstance(self.result, TrimtabError), f"{self.label}: no error came"
        return self.result

    @property
    def has_extras(self) -> bool:
        """Whether the request holds more than messages: tools or a response format."""
        body = self.setup.body or {}
        return any((self.setup.tools, self.setup.response_format, body.get("tools"), body.get("response_format")))

    @property
    def case(self) -> Case:
        return self.setup.case

    @property
    def messages(self) -> list[Json]:
        """The messages as they would be sent."""
        return list(self.fit.messages)

    @property
    def head(self) -> Json:
        """The system text of the head as it would be sent, None when there is none."""
        return (self.fit.request or {}).get(self.setup.wire.head_key)

    @property
    def views(self) -> list[View]:
        """The views of what would be sent, the head among them."""
        return [*head_views(self.head), *views_of(self.messages, self.case.format)]

    @property
    def given_views(self) -> list[View]:
        """The views of the input messages, without the head."""
        return views_of(self.setup.messages, self.case.format)

    def key(self, entry: Entry) -> Key:
        """Give the key of a report entry; an inserted text has its id."""
        return key_of_entry(self.setup, entry)

    def keys(self, entries: Sequence[Entry]) -> list[Key]:
        """Give the keys of report entries."""
        return [self.key(entry) for entry in entries]

    def entry(self, key: Key) -> Entry:
        """Give the report entry of an input message."""
        fit = self.fit
        found = [one for one in (*fit.kept, *fit.excluded, *fit.truncated) if self.key(one) == key]
        assert len(found) == 1, f"{self.label}: {key} has {len(found)} entries"
        return found[0]

    def given(self, key: Key) -> Json:
        """Give an input message, or the text of the head."""
        if key == HEAD and self.setup.head is not None:
            return self.setup.head
        return self.setup.messages[self.setup.place_of(key)]

    def sent(self) -> list[Key | None]:
        """Give the key of each message that is sent; None for what equals no kept input message.

        A message that the report says lost its reasoning is found without it.
        """
        if self.case.format == "neutral":
            return [message["id"] for message in self.messages]
        head: list[Key | None] = [] if self.head is None else [HEAD if self.head == self.setup.head else None]
        form = self.case.format
        kept = [key for key in self.keys(self.fit.kept) if key != HEAD or self.setup.head is None]
        stripped = {self.key(entry) for entry in self.fit.kept if entry.id in self.named("wire-rule")}
        wanted = [blocks_of(self.given(key), form, thinking=key not in stripped) for key in kept]
        blocks = [block for message in self.messages for block in blocks_of(message, form)]
        found = find_messages(blocks, wanted)
        return [*head, *(None if number is None else kept[number] for number in found)]

    def named(self, code: str) -> set[str]:
        """Give the ids that the diagnostics with a code name."""
        return {name for diagnostic in self.fit.diagnostics if diagnostic.code == code for name in diagnostic.ids}

    def blamed(self) -> set[tuple[str, str]]:
        """Give the plugins that the diagnostics name, each with the code."""
        return {(one.plugin, one.code) for one in self.fit.diagnostics if one.plugin}

    def again(self, **changes: Any) -> Fit:
        """Fit once more with something changed."""
        return fit(replace(self.setup, **changes))


def run_fit(setup: Setup, label: str, expect: Mapping[str, Json], origin: Origin | None = None) -> Run:
    """Fit a setup once, on a copy of its messages."""
    setup = replace(setup, messages=copy_of(setup.messages), head=copy_of(setup.head))
    return attempt(setup, label, expect, lambda: fit(setup), origin=origin)


def attempt(
    setup: Setup,
    label: str,
    expect: Mapping[str, Json],
    call: Callable[[], Fit],
    *,
    turn: int = 0,
    origin: Origin | None = None,
) -> Run:
    """Call the product without network, and give what came of it. Only a TrimtabError is an answer."""
    before = dump(setup.given)
    with _no_network() as connections:
        started = time.perf_counter()
        result = _result(call)
        seconds = time.perf_counter() - started
    name = f"{setup.case.file} [{label}]"
    return Run(name, setup, expect, result, before, seconds, len(connections), turn, origin)


def _result(call: Callable[[], Fit]) -> Fit | TrimtabError:
    try:
        return call()
    except TrimtabError as error:
        return error


@contextlib.contextmanager
def _no_network() -> Iterator[list[object]]:
    """Refuse and count every connection."""
    attempts: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        attempts.append(address)
        raise OSError(f"no connection is made while cases run, not to {address!r} either")

    with mock.patch.multiple(socket.socket, connect=refuse, connect_ex=refuse):
        yield attempts
