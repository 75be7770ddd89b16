"""The facts of all cases that run: case id → what covers each of its facts, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from case_covers import Cover
from case_facts_copied import COPIED
from case_facts_own import OWN

FACTS: Mapping[str, tuple[Cover, ...]] = {**COPIED, **OWN}
