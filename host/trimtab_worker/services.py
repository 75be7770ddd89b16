"""What a plugin may ask for: each question is a frame to the host, which counts and limits them."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from trimtab_sdk.errors import ServiceUnavailableError
from trimtab_worker.frames import Pipe

MOST_CHARS = 500_000
"""The longest text a plugin may ask about: the host must be able to answer well within any deadline."""


class WorkerServices:
    """The services of one call, told apart from other calls by its `ticket`."""

    def __init__(self, pipe: Pipe, *, ticket: str, offered: Collection[str], deadline: float) -> None:
        self._pipe = pipe
        self._ticket = ticket
        self._offered = offered
        self._deadline = deadline
        self._counts: dict[str, int] = {}
        self._costs: dict[str, int] = {}

    @property
    def deadline(self) -> float:
        """The moment the answer is due, on the clock of `time.monotonic()` (seconds)."""
        return self._deadline

    def can(self, name: str) -> bool:
        """Tell whether the host offers a service here."""
        return name in self._offered

    def count(self, text: str) -> int:
        """Count `text` in tokens. Raises ValueError for more than 500,000 characters."""
        _check_text(text, "services.count")
        if "count" not in self._offered:
            raise ServiceUnavailableError("count")
        return self._known(self._counts, "count", text)

    def cost_of_insert(self, text: str) -> int:
        """Give what an insert of this text would cost, its label and framing included. Raises as `count` does."""
        _check_text(text, "cost_of_insert")
        return self._known(self._costs, "cost", text)

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Give one vector for each text. Raises ServiceUnavailableError where the host has no embedder."""
        if "embed" not in self._offered:
            raise ServiceUnavailableError("embed")
        return cast("list[list[float]]", self._ask("embed", list(texts)))

    def _known(self, answers: dict[str, int], service: str, text: str) -> int:
        if text not in answers:
            answers[text] = cast("int", self._ask(service, text))
        return answers[text]

    def _ask(self, service: str, value: object) -> object:
        self._pipe.send({"kind": "ask", "ticket": self._ticket, "service": service, "value": value})
        return cast("dict[str, object]", self._pipe.receive())["value"]


def _check_text(text: object, what: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} takes a text, not a {type(text).__name__}")
    if len(text) > MOST_CHARS:
        raise ValueError(f"{what} takes at most {MOST_CHARS} characters in a worker, not {len(text)}")
