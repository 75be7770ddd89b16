"""Many attacks, two at a time, each against a host app of its own."""

from __future__ import annotations

import queue
import re
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from hostile.attack import Attack, Mode, Verdict
from hostile.every_attack import ATTACKS
from hostile.judging import faults, told
from hostile.running import Nursery, let_loose

_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attack ended: what is wrong, and what the host said of it; `made` says that the attack took place."""

    faults: tuple[str, ...]
    told: str
    made: bool

    @property
    def verdict(self) -> Verdict:
        """Whether it was held."""
        return "lost" if self.faults else "held"


def every_case() -> list[tuple[Attack, Mode]]:
    """Each attack confined, and trusted where that makes sense."""
    return [(attack, "confined") for attack in ATTACKS] + [
        (attack, "trusted") for attack in ATTACKS if attack.trusted
    ]


def expected(attack: Attack, mode: Mode) -> Verdict:
    """What is to become of an attack: confined, all of them are held."""
    return attack.trusted if mode == "trusted" else "held"


class Campaign:
    """Makes attacks in the background, in the order in which they were asked for."""

    def __init__(self, cases: Iterable[tuple[Attack, Mode]]) -> None:
        self._nurseries: queue.SimpleQueue[Nursery] = queue.SimpleQueue()
        for _ in range(_AT_ONCE):
            self._nurseries.put(Nursery())
        self._threads = ThreadPoolExecutor(_AT_ONCE)
        self._futures: dict[tuple[str, str, Mode], Future[Outcome]] = {
            (attack.family, attack.name, mode): self._threads.submit(self._make, attack, mode)
            for attack, mode in cases
        }

    def outcome(self, attack: Attack, mode: Mode) -> Outcome:
        """Give the outcome of an attack, when it is over."""
        return self._futures[attack.family, attack.name, mode].result()

    def close(self) -> None:
        """Make no more attacks, and end what is left."""
        self._threads.shutdown(cancel_futures=True)
        for _ in range(_AT_ONCE):
            self._nurseries.get().close()

    def _make(self, attack: Attack, mode: Mode) -> Outcome:
        nursery = self._nurseries.get()
        try:
            seen = let_loose(attack, mode, nursery)
        finally:
            self._nurseries.put(nursery)
        words = told(seen)
        made = re.search(attack.pattern(mode), words, re.MULTILINE) is not None
        return Outcome(tuple(faults(attack, mode, seen)), words, made)
