"""Make every attack of the hostile suite, and put the table of them into `docs/security.md`.

    python scripts/hostile_table.py             make the attacks, then write the table
    python scripts/hostile_table.py --print     print the table that the suite's own data give

Nothing is written when an attack ended in another way than the suite says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security.md"
BEGIN, END = "<!-- hostile table -->", "<!-- end -->"
HEADING = "## The attacks we make on it"
WORDS = """
The tests make {attacks} attacks, each on a host app in a process of its own, and judge from outside: by what was
sent, counted anew, by the report, exit code, time, memory, files, listeners and processes. Confined, all
{attacks} are held. Where the plugin is trusted, {lost} of {apart} are lost: that is what trust means. No word
stands in that column where the attack would make no sense there, or where its outcome depends on the machine.

The defence is the one that must hold a plugin that is not trusted. `counter` bounds what a driver says, `report`
cleans what people read, `conduct` watches over a conversation.
"""

if TYPE_CHECKING:
    from hostile.attack import Attack


def main() -> None:
    """Print the table, or make the attacks and write it."""
    parser = argparse.ArgumentParser(description="Put the table of attacks into docs/security.md.")
    parser.add_argument("--print", action="store_true", dest="prints", help="print the table; make no attack")
    sys.path.insert(0, str(ROOT / "tests"))
    from hostile.every_attack import ATTACKS

    if parser.parse_args().prints:
        print(section(ATTACKS))
        return
    surprises = list(made_otherwise())
    if surprises:
        sys.exit("\n".join(["nothing is written:", *surprises]))
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), section(ATTACKS)), encoding="utf-8")


def made_otherwise() -> Iterator[str]:
    """Make every attack, and name those that ended in another way than the suite says."""
    from hostile.campaign import Campaign, every_case, expected

    cases = every_case()
    campaign = Campaign(cases)
    try:
        for attack, mode in cases:
            outcome = campaign.outcome(attack, mode)
            if outcome.verdict != expected(attack, mode) or not (outcome.made or outcome.faults):
                yield f"{attack.family}: {attack.name}, {mode}: {outcome.verdict}; {'; '.join(outcome.faults)}"
    finally:
        campaign.close()


def section(attacks: Sequence[Attack]) -> str:
    """Give the section of the page, its marks included."""
    apart = [attack for attack in attacks if attack.trusted]
    lost = sum(attack.trusted == "lost" for attack in apart)
    words = WORDS.format(attacks=len(attacks), apart=len(apart), lost=lost)
    return "\n".join([BEGIN, HEADING, words, *table(attacks), END])


def table(attacks: Sequence[Attack]) -> Iterator[str]:
    """Give the lines of the table."""
    yield "| attack | family | defence | confined | trusted |"
    yield "| --- | --- | --- | --- | --- |"
    for attack in attacks:
        told = f"**{attack.name}**: {attack.does}".replace("|", "\\|")
        yield f"| {told} | {attack.family} | `{attack.defence}` | held | {attack.trusted} |"


def with_section(page: str, text: str) -> str:
    """Put the section in its place, at the end of a page that has none yet."""
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n{text}\n"
    before, _, rest = page.partition(BEGIN)
    return f"{before}{text}{rest.partition(END)[2]}"


if __name__ == "__main__":
    main()
