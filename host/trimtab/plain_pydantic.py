"""Pydantic without plugins of its own.

When a model class is made, pydantic reads the entry points of everything that is installed and imports those of
the group `pydantic`. Here that would run code nobody vetted, and stop at the first broken metadata.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_SWITCH = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def no_pydantic_plugins() -> Iterator[None]:
    """Make the model classes inside this block without plugins; the environment is as before afterwards."""
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before
