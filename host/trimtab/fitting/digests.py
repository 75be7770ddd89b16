"""A short name for plain values, to see whether they are still the same."""

from __future__ import annotations

import hashlib
import json


def digest(value: object) -> str:
    """Name a JSON value in 32 hexadecimal digits. The order of keys tells nothing.

    What is no JSON value is told by its `repr`, so that may get another name each time.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
