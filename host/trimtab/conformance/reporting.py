"""What a run came to, rule by rule, for people and for programs. A plugin's words are cleaned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from trimtab.conformance.badge import many_rules
from trimtab.conformance.orders import CONTRACTS, Order, Outcome

Ending: TypeAlias = Literal["finished", "time-limit", "broken"]

_GIVEN = frozenset({"settings", "samples", "own_codecs"})
NOT_MEASURES = frozenset({"claims"})
_WORST: Sequence[Outcome] = ("failed", "expected-failure", "not-judged", "not-claimed", "passed", "not-run")
_FINISHED = frozenset({0, 1})
_CLAIMING = "test_does_only_what_it_claims"
_UNCLAIMED = re.compile(r"`([a-z_]{1,40}) = True`")
_ABILITIES = re.compile(r"[a-z_]+( or [a-z_]+)*: ")
_LONGEST_LINE = 1_500


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What came of one rule.

    - `advice` says what to do when it fails, `faults` what is wrong.
    - `reason` is why it was not judged, not claimed, or is expected to fail.
    - `measures` is name → figure.
    """

    rule: str
    outcome: Outcome
    seconds: float = 0.0
    advice: str = ""
    faults: tuple[str, ...] = ()
    reason: str = ""
    measures: Mapping[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The rule in words."""
        return self.rule.removeprefix("test_").replace("_", " ")

    def to_dict(self) -> dict[str, object]:
        """Give JSON values."""
        return {
            "rule": self.rule,
            "outcome": self.outcome,
            "seconds": self.seconds,
            "advice": self.advice,
            "faults": list(self.faults),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of each rule, how the run ended, how long it took; `printed` is what a broken one wrote."""

    rules: tuple[RuleResult, ...]
    ending: Ending
    seconds: float
    printed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the run came to its end, something was judged and no rule is broken."""
        outcomes = {one.outcome for one in self.rules}
        return self.ending == "finished" and "passed" in outcomes and not outcomes & {"failed", "not-run"}

    @property
    def measures(self) -> dict[str, object]:
        """Name → figure, of all rules."""
        every = {name: value for one in self.rules for name, value in one.measures.items()}
        return {name: value for name, value in every.items() if name not in NOT_MEASURES}

    def of(self, outcome: Outcome) -> list[RuleResult]:
        """Give the rules that came to this."""
        return [one for one in self.rules if one.outcome == outcome]


@dataclass(frozen=True, slots=True)
class Report:
    """A judged plugin: what was ordered, whose it is, at which level of the contracts, and the judgement."""

    order: Order
    distribution: str
    version: str
    level: int
    judgement: Judgement

    @property
    def claims(self) -> list[str]:
        """What was claimed for it, what it was given left out."""
        return sorted(name for name, value in self.order.claims.items() if value and name not in _GIVEN)

    def to_dict(self) -> dict[str, object]:
        """Give JSON values with camelCase keys."""
        from trimtab.conformance.badge import badge_line

        told = self.judgement
        return {
            "name": self.order.name,
            "kind": self.order.kind,
            "distribution": self.distribution,
            "version": self.version,
            "contract": CONTRACTS[self.order.kind],
            "level": self.level,
            "runs": "confined" if self.order.confined else "in-process",
            "claims": self.claims,
            "settings": self.order.claims.get("settings", {}),
            "passed": told.passed,
            "ending": told.ending,
            "seconds": round(told.seconds, 3),
            "rules": [one.to_dict() for one in told.rules],
            "measures": {_camel(name): value for name, value in told.measures.items()},
            "printed": list(told.printed),
            "badge": badge_line(self) if told.passed else None,
        }


def read_judgement(told: str, *, late: bool, printed: str, seconds: float) -> Judgement:
    """Read the lines that a child told. `late` says that it was ended, `printed` is what it wrote besides."""
    rows = list(_rows(told))
    code = next((row["ended"] for row in rows if "ended" in row), None)
    ending: Ending = "time-limit" if late else "finished" if code in _FINISHED else "broken"
    rules = tuple(_merged(row for row in rows if "rule" in row))
    if ending == "finished":
        return Judgement(rules, ending, seconds)
    return Judgement(rules, ending, seconds, tuple(_lines(printed)) if ending == "broken" else ())


def _rows(told: str) -> Iterator[dict[str, object]]:
    for line in told.splitlines():
        try:
            row: object = json.loads(line)
        except ValueError:
            # The child was ended while it wrote.
            continue
        if isinstance(row, dict):
            yield row


def _merged(rows: Iterator[dict[str, object]]) -> list[RuleResult]:
    """Give each rule once, with the worst that came of it; one that was begun and came to nothing has failed."""
    results: dict[str, RuleResult] = {}
    begun: set[str] = set()
    for row in rows:
        rule = str(row["rule"])
        if row["outcome"] == "began":
            begun.add(rule)
            continue
        result = _result(row)
        known = results.get(rule)
        if known is None or _WORST.index(result.outcome) < _WORST.index(known.outcome):
            results[rule] = result
    return [_ended(one) if one.outcome == "not-run" and one.rule in begun else one for one in results.values()]


def _ended(one: RuleResult) -> RuleResult:
    return replace(one, outcome="failed", faults=("the run was over before this rule came to an end",))


def _result(row: Mapping[str, object]) -> RuleResult:
    outcome = cast("Outcome", row["outcome"])
    lines = tuple(_lines(str(row.get("words", ""))))
    rule = str(row["rule"])
    failed = outcome == "failed"
    measures = row.get("measures")
    return RuleResult(
        rule,
        outcome,
        seconds=cast("float", row.get("seconds", 0.0)),
        advice=_advice(rule, lines, str(row.get("advice", ""))) if failed else str(row.get("advice", "")),
        faults=lines if failed else (),
        reason="" if failed else " ".join(lines),
        measures=measures if isinstance(measures, dict) else {},
    )


def _advice(rule: str, faults: Sequence[str], advice: str) -> str:
    """Say how to claim with this command what a contract class says how to claim in code."""
    names = sorted({name for line in faults for name in _UNCLAIMED.findall(line)})
    if rule != _CLAIMING or not names:
        return advice
    options = " ".join(f"--claim {name}" for name in names)
    return f"Run it again with {options}, so that the rules for that are tried; or stop doing it."


def _lines(words: str) -> Iterator[str]:
    for line in words.splitlines():
        shown = "".join(char if char.isprintable() else " " for char in line[:_LONGEST_LINE]).rstrip()
        if shown.strip():
            yield shown


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def report_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Give the report for people: lines, each with the style it is shown in, empty for none."""
    told = report.judgement
    yield from _headline(report)
    for one in told.of("failed"):
        yield "", ""
        yield f"broken: {one.title}", "bold red"
        yield f"  what to do: {one.advice}", ""
        yield from ((f"  {line}", "") for line in one.faults)
    yield from _named("expected to fail", [f"{one.title} ({one.reason})" for one in told.of("expected-failure")])
    yield from _named("not claimed, so not tried", _by_claim(told.of("not-claimed")))
    yield from _named("not judged", _by_reason(told.of("not-judged")))
    yield from _named("not run", [one.title for one in told.of("not-run")])
    yield from _named("it ended with", told.printed)
    if told.measures:
        yield "", ""
        yield "measured: " + ", ".join(_figure(name, value) for name, value in told.measures.items()), ""


def _headline(report: Report) -> Iterator[tuple[str, str]]:
    told, order = report.judgement, report.order
    where = "in a confined worker" if order.confined else "in a process of its own, not confined"
    kept = len(told.of("passed"))
    verdict = {"finished": "", "time-limit": ", ended by the time limit", "broken": ", broke off"}[told.ending]
    yield (
        (
            f"{order.name} ({order.kind} of {report.distribution} {report.version}), {CONTRACTS[order.kind]} "
            f"level {report.level}, {where}"
        ),
        "bold",
    )
    broken = len(told.of("failed"))
    claimed = f", claims {', '.join(report.claims)}" if report.claims else ""
    outcome = "passed" if told.passed else "FAILED"
    yield (
        (f"{outcome}: {many_rules(kept)} kept, {broken} broken, in {told.seconds:.1f} s{verdict}{claimed}"),
        "green" if told.passed else "bold red",
    )


def _figure(name: str, value: object) -> str:
    return f"{name.replace('_', ' ')}: {value}"


def _named(heading: str, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    if lines:
        yield "", ""
        yield f"{heading}:", ""
        yield from ((f"  {line}", "") for line in lines)


def _by_claim(rules: Sequence[RuleResult]) -> list[str]:
    return [line if _ABILITIES.match(line) is None else f"--claim {line}" for line in _by_reason(rules)]


def _by_reason(rules: Sequence[RuleResult]) -> list[str]:
    titles: dict[str, list[str]] = {}
    for one in rules:
        titles.setdefault(one.reason, []).append(one.title)
    return [f"{reason}: {'; '.join(named)}" for reason, named in titles.items()]
