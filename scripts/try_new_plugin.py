"""Do what the author's guide tells, command by command, in a fresh environment, and what `new-plugin` promises.

    python scripts/try_new_plugin.py [FOLDER]      default: a temporary folder, removed afterwards

A source distribution of this checkout is built, a wheel from that, and Trimtab is installed from the wheel; what
it needs comes from the package registry. Everything is written into FOLDER. Ends with 1 where a command fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "writing-a-plugin.md"
PROMISES = (
    "trimtab new-plugin demo && cd demo && pip install -e . && pytest",
    "trimtab new-plugin demo-note --interceptor && cd demo-note && pip install -e . && pytest",
)
"""Each is run in an empty folder, where Trimtab with its extra `conformance` is installed."""
_BLOCK = re.compile(r"```(?P<kind>sh|python)\n(?:# (?P<file>\w+\.py)\n)?(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """Commands for a shell, or a file to write into the folder where they left off."""

    text: str
    file: str = ""


def main() -> None:
    """Try everything and tell how it ended."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(tell(folder))
    with tempfile.TemporaryDirectory(prefix="trimtab-new-plugin-") as temporary:
        sys.exit(tell(Path(temporary)))


def tell(folder: Path) -> int:
    """Try the guide and the promises; give the exit code."""
    wheels = make_wheel(folder)
    work = folder / "guide"
    work.mkdir()
    shutil.copy(ROOT / "examples" / "small-chat.json", work / "chat.json")
    codes = [shell(work, script_of(guide_steps()), wheels)]
    for at, promise in enumerate(PROMISES):
        place = folder / f"promise-{at}"
        place.mkdir()
        prepared = "python -m venv ../env-$$ && . ../env-$$/bin/activate && pip install -q 'trimtab[conformance]'"
        codes.append(shell(place, f"{prepared}\nset -x\n{promise}\n", wheels))
    print(f"\nthe guide: {said(codes[0])}; new-plugin: {', '.join(map(said, codes[1:]))}")
    return int(any(codes))


def make_wheel(folder: Path) -> Path:
    """Build a source distribution, and from it the wheel; give the folder that both are in."""
    tools, place = folder / "tools", folder / "wheels"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    python = tools / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "build"], check=True)
    subprocess.run([python, "-m", "build", "--outdir", place, ROOT], check=True, stdout=subprocess.DEVNULL)
    return place


def guide_steps() -> Iterator[Step]:
    """Give the commands of the guide's first section, and the file it shows, in order."""
    section = GUIDE.read_text(encoding="utf-8").partition("## Ten minutes")[2].partition("\n## ")[0]
    for block in _BLOCK.finditer(section):
        if block["kind"] == "sh":
            yield Step(block["text"])
        elif block["file"]:
            yield Step(block["text"], block["file"])


def script_of(steps: Iterator[Step]) -> str:
    """Give one script for the shell, which prints each command before it runs it."""
    lines = [f"cat > {step.file} <<'EOF'\n{step.text}EOF\n" if step.file else step.text for step in steps]
    return "set -x\n" + "".join(lines)


def shell(folder: Path, script: str, wheels: Path) -> int:
    """Run a script that ends at the first failure, with a home of its own; give its exit code."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    found = f"{os.environ.get('PIP_FIND_LINKS', '')} {wheels}".strip()
    env = {**os.environ, "HOME": str(home), "PIP_FIND_LINKS": found, "PIP_QUIET": "1"}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        env.pop(name, None)
    sys.stdout.flush()
    return subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=env, check=False).returncode


def said(code: int) -> str:
    """Write an exit code so that a failure is seen."""
    return "done" if code == 0 else f"FAILED with {code}"


if __name__ == "__main__":
    main()
