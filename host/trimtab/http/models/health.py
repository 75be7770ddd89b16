"""The state of a server."""

from __future__ import annotations

from typing import Literal

from trimtab.http.models.base import Shape


class Health(Shape):
    """`ok` when it is alive, `ready` when it can work."""

    status: Literal["ok", "ready"]
