"""The memory of this process."""

from __future__ import annotations

import gc
from pathlib import Path


def resident_mb() -> float:
    """Give the resident set in MiB, after what can be freed was freed."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024
