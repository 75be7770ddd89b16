"""Run the commands that the pages show, and put what they print today below them.

    python scripts/renew_output.py [PAGE …]      default: docs/strategies/*.md
    python scripts/renew_output.py --check       changes nothing, ends with 1 where a page is out of date

A command is a line `$ trimtab …` in a block marked `console`; what follows it in the block is its output. Of a
`fit` that prints the conversation too, the report is shown, as on a terminal.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COLUMNS = "80"
_BLOCK = re.compile(r"^```console\n\$ (trimtab .*)\n(?:.*\n)*?```$", re.MULTILINE)


def main() -> None:
    """Renew the pages, or tell which are out of date."""
    parser = argparse.ArgumentParser(description="Put what the commands print today below them.")
    parser.add_argument("pages", nargs="*", type=Path, help="default: docs/strategies/*.md")
    parser.add_argument("--check", action="store_true", help="change nothing, end with 1 if a page is old")
    arguments = parser.parse_args()
    stale = 0
    for page in arguments.pages or sorted((ROOT / "docs" / "strategies").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        fresh = renewed(text)
        if fresh == text:
            continue
        stale += 1
        print(f"{page} is out of date" if arguments.check else f"{page} renewed")
        if not arguments.check:
            page.write_text(fresh, encoding="utf-8", newline="\n")
    sys.exit(1 if stale and arguments.check else 0)


def renewed(text: str) -> str:
    """Give a page with the output of its commands as it is today."""

    def run(block: re.Match[str]) -> str:
        return f"```console\n$ {block[1]}\n{output(block[1])}```"

    return _BLOCK.sub(run, text)


def output(command: str) -> str:
    """Run `trimtab …` in the folder of the project and give what people see, without blanks at line ends."""
    quiet = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "LINES")}
    done = subprocess.run(
        [sys.executable, "-m", "trimtab.cli", *shlex.split(command)[1:]],
        cwd=ROOT,
        env={**quiet, "COLUMNS": COLUMNS, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    shown = done.stderr or done.stdout
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


if __name__ == "__main__":
    main()
