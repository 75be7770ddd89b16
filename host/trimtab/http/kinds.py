"""What the two APIs are told apart by."""

from __future__ import annotations

from typing import Final

GATEWAY_PREFIX: Final = "/v1/"
"""Below this path answers have the shapes that clients of OpenAI read."""
PROBLEM_TYPE: Final = "application/problem+json"
