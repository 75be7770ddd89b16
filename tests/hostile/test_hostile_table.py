"""The table of attacks: large enough, over all families and defences, and what the page shows."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

from hostile.attack import Defence
from hostile.every_attack import ATTACKS

ROOT = Path(__file__).parent.parent.parent
FAMILIES = {
    *("answers", "inserts", "words", "services", "counts", "time", "ends", "resources", "files", "network"),
    *("processes", "inside", "leaks", "redaction", "caches", "frames", "schemas", "metadata", "configuration"),
}


def test_no_attack_is_there_twice() -> None:
    names = Counter((attack.family, attack.name) for attack in ATTACKS)
    assert [name for name, times in names.items() if times > 1] == []


def test_there_are_attacks_of_every_family_on_every_defence() -> None:
    assert len(ATTACKS) >= 250
    assert {attack.family for attack in ATTACKS} == FAMILIES
    assert {attack.defence for attack in ATTACKS} == set(get_args(Defence))


def test_what_the_worker_alone_can_hold_was_shown_to_break_something_without_it() -> None:
    lost = [attack for attack in ATTACKS if attack.trusted == "lost"]
    assert len(lost) >= 70
    assert {attack.defence for attack in lost} >= {"worker", "metadata", "counter", "config"}


def test_the_page_shows_the_table_of_these_attacks() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "hostile_table.py"), "--print"]
    shown = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    begin, end = page.index("<!-- hostile table -->"), page.index("<!-- end -->")
    assert page[begin : end + len("<!-- end -->\n")] == shown
    assert len([line for line in shown.splitlines() if line.startswith("| ")]) >= len(ATTACKS)
