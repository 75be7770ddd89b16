"""What a server refuses once it has the whole context: odd calls and results, signatures, steps sent twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.interactions_refusals import BAD_SIGNATURE, UNSIGNED
from fakes.interactions_signatures import SENTINEL, Signer, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Judges a context. `calls` holds a hash of each call made here; see InteractionsServer for the rest."""

    signer: Signer
    calls: dict[str, str] = field(default_factory=dict, hash=False)
    strict_prefix: bool
    strict_steps: bool

    def remember(self, steps: Sequence[Json]) -> None:
        """Note the calls that an answer makes, but those whose arguments nobody can send back."""
        calls = [step for step in steps if step["type"] == "function_call" and "" not in step["arguments"]]
        self.calls.update((step["id"], call_digest(step)) for step in calls)

    def faults(self, chain: Sequence[Json], sent: Sequence[Json]) -> list[Wrong]:
        """Judge what is sent behind a chain."""
        return [
            *twice_faults(chain, sent),
            *self._step_faults(chain, sent),
            *unsigned_faults(chain, sent),
            *pairing_faults(chain, sent),
        ]

    def is_stale(self, step: Json) -> bool:
        """Whether a step is signed with keys that are used no more."""
        seal = self.signer.open(step.get("signature") or "") if step["type"] == "thought" else None
        return seal is not None and seal.keys != self.signer.keys

    def _step_faults(self, chain: Sequence[Json], sent: Sequence[Json]) -> Iterator[Wrong]:
        for at, step in enumerate(sent):
            if step["type"] == "thought" and step.get("signature") not in (None, SENTINEL):
                yield from self._thought_faults(step, [*chain, *sent[:at]], f"input[{at}]")
            elif step["type"] == "function_call" and self.strict_steps and not self._is_as_made(step):
                yield Wrong(f"input[{at}]: the call {step['id']!r} is not as it was made", f"input[{at}]")

    def _is_as_made(self, step: Json) -> bool:
        return self.calls.get(step["id"]) in (None, call_digest(step))

    def _thought_faults(self, step: Json, before: Sequence[Json], place: str) -> Iterator[Wrong]:
        seal = self.signer.open(step["signature"])
        if seal is None:
            yield Wrong(f"{place}: {BAD_SIGNATURE}", f"{place}.signature")
        elif self.strict_steps and seal.thought != digest(step.get("summary") or []):
            yield Wrong(f"{place}: the thought's summary is not as it was made", f"{place}.summary")
        elif self.strict_prefix and seal.prefix != digest(before):
            yield Wrong(f"{place}: {BAD_SIGNATURE} It was made behind other steps.", f"{place}.signature")


def call_digest(step: Json) -> str:
    """Hash what a call says."""
    return digest([step["name"], step["arguments"]])


def twice_faults(chain: Sequence[Json], sent: Sequence[Json]) -> Iterator[Wrong]:
    """Find calls and thoughts that the chain holds already; only a user may say the same twice."""
    held = {mark for step in chain if (mark := _mark(step))}
    for at, step in enumerate(sent):
        if _mark(step) in held:
            yield Wrong(f"input[{at}]: a {step['type']} of the chain is sent twice", f"input[{at}]")


def _mark(step: Json) -> tuple[str, str] | None:
    key = {"function_call": "id", "thought": "signature"}.get(step["type"])
    value = step.get(key) if key else None
    return (step["type"], value) if value and value != SENTINEL else None


def unsigned_faults(chain: Sequence[Json], sent: Sequence[Json]) -> Iterator[Wrong]:
    """Find runs of calls that no signed thought stands before; each run is named once."""
    signed = called = False
    for at, step in enumerate([*chain, *sent], -len(chain)):
        kind = step["type"]
        if kind in ("user_input", "function_result"):
            signed = called = False
        elif kind == "thought":
            signed = signed or bool(step.get("signature"))
        elif kind == "function_call" and not called:
            called = True
            if not signed and at >= 0:
                yield Wrong(f"input[{at}]: {UNSIGNED}", f"input[{at}]")


def pairing_faults(chain: Sequence[Json], sent: Sequence[Json]) -> Iterator[Wrong]:
    """Find calls without their results and results without their calls.

    Results stand right behind the calls of one run, in any order; nothing else is said before the last of them.
    """
    steps = [*chain, *sent]
    owed: Counter[str] = Counter()
    for at, step in enumerate(steps):
        place = at - len(chain)
        if step["type"] == "function_result":
            yield from _result_faults(step, owed, place)
            owed -= Counter([step["call_id"]])
            continue
        answered = at > 0 and steps[at - 1]["type"] == "function_result"
        if +owed and (answered or step["type"] == "user_input"):
            yield _open_calls(owed, place)
            owed.clear()
        if step["type"] == "function_call":
            yield from _call_faults(steps[:at], place)
            owed[step["id"]] += 1
    if +owed:
        yield _open_calls(owed, len(sent))


def _result_faults(step: Json, owed: Counter[str], place: int) -> Iterator[Wrong]:
    if not owed[step["call_id"]]:
        yield Wrong(
            f"input[{place}]: a function_result for {step['call_id']!r}, which is no open call. Please ensure "
            "that the number of function results is equal to the number of function calls.",
            f"input[{place}].call_id",
        )


def _call_faults(before: Sequence[Json], place: int) -> Iterator[Wrong]:
    if not any(step["type"] == "user_input" for step in before):
        yield Wrong(f"input[{place}]: a function_call before any user_input", f"input[{place}]")


def _open_calls(owed: Counter[str], place: int) -> Wrong:
    return Wrong(
        f"input[{place}]: no function_result for {', '.join(sorted(+owed))}. Please ensure that the number of "
        "function results is equal to the number of function calls.",
        f"input[{place}]",
    )
