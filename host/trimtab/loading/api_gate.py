"""Whether a distribution asks for this version of Trimtab, by the Requires-Dist lines of its metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from trimtab.loading.discovery import OWN_DISTRIBUTION, normalized
from trimtab.loading.reading import shown

_NAME = re.compile(r"\s*([A-Za-z0-9._-]+)")


def api_fault(requires: Iterable[str], version: str) -> str:
    """Say what stands against running with the host of this version, nothing when nothing does.

    Lines that name others, and lines whose marker does not hold here, are passed over.
    """
    for line in requires:
        found = _NAME.match(line)
        if found is not None and normalized(found.group(1)) == OWN_DISTRIBUTION and found.group() != line.strip():
            fault = _line_fault(line, version)
            if fault:
                return fault
    return ""


@lru_cache(maxsize=256)
def _line_fault(line: str, version: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if not applies or requirement.specifier.contains(version, prereleases=True):
            return ""
    except (InvalidRequirement, ValueError) as error:
        return f"its requirement {shown(line)} cannot be read ({type(error).__name__})"
    needed = f"{OWN_DISTRIBUTION}{requirement.specifier}"
    return f"it needs {shown(needed)}, this is {version}; install a version of it that was made for this Trimtab"
