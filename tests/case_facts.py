"""The facts of all cases that run: case id → what covers each of its facts, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from case_covers import Cover
from case_facts_copied import COPIED
from case_facts_own import OWN
from case_facts_own_wires import OWN_WIRES
from case_facts_turns import TURNS
from case_facts_wires import WIRES

FACTS: Mapping[str, tuple[Cover, ...]] = {**COPIED, **TURNS, **WIRES, **OWN, **OWN_WIRES}
