"""Asking a plugin for its answer: within a time limit, with services that remember what they were asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from zlib import crc32

from trimtab.conformance.requests import Case, kit_counter
from trimtab.conformance.shape import shape_faults
from trimtab.loading.plugins import Plugin
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import ServiceUnavailableError
from trimtab_sdk.request import Request

COUNT = "count"
EMBED = "embed"
DIMENSIONS = 32


class Desk:
    """Services that count as the host does and embed by words. `refused` is what was called and not offered."""

    def __init__(self, *, offered: Collection[str], deadline: float, failing: bool = False) -> None:
        self._offered = frozenset(offered) | {COUNT}
        self._deadline = deadline
        self._failing = failing
        self.refused: list[str] = []

    @property
    def deadline(self) -> float:
        """The moment the answer is due, on the clock of `time.monotonic()` (seconds)."""
        return self._deadline

    def can(self, name: str) -> bool:
        """Tell whether a service is offered."""
        return name in self._offered

    def count(self, text: str) -> int:
        """Count `text` in tokens."""
        return kit_counter().text(text)

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text; equal texts give equal vectors."""
        if EMBED not in self._offered:
            self.refused.append(EMBED)
            raise ServiceUnavailableError(EMBED)
        if self._failing:
            raise RuntimeError("the embedder of this test always fails")
        return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split():
        vector[crc32(word.encode("utf-8", "replace")) % DIMENSIONS] += 1.0
    return vector


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a call: the answer, or the exception, or neither when it was late.

    `desk` are the services it had. `seconds` are of wall time, `work` of processor time in this process.
    """

    request: Request
    desk: Desk
    answer: object = None
    error: BaseException | None = None
    late: bool = False
    seconds: float = 0.0
    work: float = 0.0

    @property
    def edit(self) -> Edit | None:
        """The answer as an edit; None when there is none that other rules can judge."""
        if self.error is not None or self.late or any(shape_faults(self.answer)):
            return None
        return self.answer if isinstance(self.answer, Edit) else Edit()


@dataclass(frozen=True, slots=True)
class Asker:
    """A plugin with everything its calls need: hook, settings, offered services and a time limit in seconds."""

    plugin: Plugin
    hook: str
    settings: Mapping[str, object]
    offered: frozenset[str]
    seconds: float

    def ask(
        self,
        case: Case,
        *,
        offered: Collection[str] | None = None,
        failing: bool = False,
        due_in: float | None = None,
    ) -> Reply:
        """Call the hook with the request of a case.

        `offered` stands in for the usual services, which fail when `failing`. `due_in` is how many seconds the
        plugin believes it has.
        """
        return self.hand(
            case.request(hook=self.hook, settings=self.settings), offered=offered, failing=failing, due_in=due_in
        )

    def hand(
        self,
        request: Request,
        *,
        offered: Collection[str] | None = None,
        failing: bool = False,
        due_in: float | None = None,
    ) -> Reply:
        """Call the hook with a request."""
        due = time.monotonic() + (self.seconds if due_in is None else due_in)
        desk = Desk(offered=self.offered if offered is None else offered, deadline=due, failing=failing)
        return _call(self, request, desk)


def _call(asker: Asker, request: Request, desk: Desk) -> Reply:
    answers: list[object] = []
    errors: list[BaseException] = []
    work: list[float] = []

    def run() -> None:
        try:
            answers.append(asker.plugin.call(asker.hook, request=request, services=desk))
        except BaseException as error:
            errors.append(error)
        work.append(time.thread_time())

    thread = threading.Thread(target=run, daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(asker.seconds)
    seconds = time.monotonic() - began
    if thread.is_alive():
        return Reply(request, desk, late=True, seconds=seconds)
    if errors:
        return Reply(request, desk, error=errors[0], seconds=seconds, work=work[0])
    return Reply(request, desk, answer=answers[0], seconds=seconds, work=work[0])
