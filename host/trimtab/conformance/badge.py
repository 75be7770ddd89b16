"""The line for a README that says which contract a plugin keeps. Plain Markdown, no picture from anywhere."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from trimtab.conformance.orders import CONTRACTS

if TYPE_CHECKING:
    from trimtab.conformance.reporting import Report


def badge_line(report: Report) -> str:
    """Give the line: the contract and its level, how many rules were kept, claims, and what it does not keep yet.

    It holds for one version of the plugin, judged by one version of Trimtab; it names both.
    """
    told = report.judgement
    rules = len(told.of("passed"))
    later = len(told.of("expected-failure"))
    extra = [f"claims {', '.join(report.claims)}"] if report.claims else []
    extra += [f"{later} not kept yet"] if later else []
    return (
        f"**Trimtab {CONTRACTS[report.order.kind]} level {report.level}**: `{report.order.name}` of "
        f"`{report.distribution} {report.version}` keeps {many_rules(rules)}"
        + "".join(f", {one}" for one in extra)
        + f" (`trimtab conform` {version('trimtab')})"
    )


def many_rules(rules: int) -> str:
    """Write how many rules."""
    return "1 rule" if rules == 1 else f"{rules} rules"
