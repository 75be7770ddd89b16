"""A request as the fake server remembers it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from fakes.chat_moments import Moment
from fakes.chat_replies import Json
from fakes.chat_wire import HttpRequest

Fate: TypeAlias = Literal["answering", "answered", "cut", "closed by client", "server closed"]


@dataclass(slots=True)
class Request:
    """What was asked and what became of it. `number` counts from 1; header names are in lower case.

    `body` is the JSON value, an empty object when there is none. `done` happens when `fate` is settled.
    """

    number: int
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    fate: Fate = "answering"
    done: Moment = field(default_factory=lambda: Moment("the end of the answer"))

    @property
    def messages(self) -> Json:
        """Its messages."""
        return self.body["messages"]

    @property
    def input(self) -> Json:
        """Its input, where the wire has that word."""
        return self.body["input"]


def request_from(http: HttpRequest, *, number: int, connection: int) -> Request:
    """Make the record of a request that has just come."""
    return Request(number, connection, http.method, http.path, http.headers, http.raw)


def body_of(request: Request) -> Json:
    """Read the body. Raises ValueError for what is no JSON, or none that says what it is."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("application/json"):
        raise ValueError(f"the content-type is {kind!r}")
    return json.loads(request.raw, parse_constant=_refuse)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
