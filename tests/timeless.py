"""Reports without the time that plugin calls took, which no two fits share."""

from __future__ import annotations

from typing import Any


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """A fit's report as JSON values, with no milliseconds in it."""
    calls = [{key: value for key, value in call.items() if key != "milliseconds"} for call in report["calls"]]
    return {**report, "calls": calls}
