"""Install Trimtab and a plugin with pip, uv tool and pipx, and see that it runs confined and trusted alike.

    python scripts/try_installs.py [FOLDER]      default: a temporary folder, removed afterwards

Everything goes into FOLDER: a wheel of this checkout, a wheel of a small plugin, uv and pipx themselves, and what
they install. They ask the package registry for what Trimtab needs, and find Trimtab itself in FOLDER. Ends with 1
where something is not as it should be.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from install.fresh_environment import CHAT, Json, calls_of, run, same_fit, settings  # noqa: E402
from install.published import clerk, strategy  # noqa: E402

STAMPED = 'interceptors = ["stamp"]\n'
ADDED = {"add": "shelf", "addConfined": "corner"}
"""A command that the listing advises → the strategy that is added by it."""
TRUSTED = f'{STAMPED}trusted = ["trimtab-clerk"]\n'


@dataclass(frozen=True, slots=True)
class Wheels:
    """The wheels that are installed by path: Trimtab and a plugin. Two more are added as the listing advises."""

    trimtab: Path
    clerk: Path


@dataclass(frozen=True, slots=True)
class Installer:
    """A way to install: how it tells its version, what it installs Trimtab with, the plugin, and all of it again.

    `renew` is what its users do to renew Trimtab, and `command` is the `trimtab` that comes of it.
    """

    name: str
    version: Sequence[str | Path]
    install: Sequence[Sequence[str | Path]]
    renew: Sequence[str | Path]
    command: Path
    env: Mapping[str, str]

    def run(self, words: Sequence[str | Path]) -> str:
        """Run one of its commands with the caller's environment, and give what it prints."""
        done = subprocess.run(
            [*map(str, words)], env={**os.environ, **self.env}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout.strip()


def main() -> None:
    """Try every installer and print the table."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(tell(folder))
    with tempfile.TemporaryDirectory(prefix="trimtab-installs-") as temporary:
        sys.exit(tell(Path(temporary)))


def tell(folder: Path) -> int:
    """Print the table and what the listing advises; give the exit code."""
    wheels = make_wheels(folder)
    rows = [judged(installer, wheels, folder) for installer in installers(folder, wheels)]
    print_table([{key: value for key, value in row.items() if key != "advice"} for row in rows])
    for row in rows:
        print(f"\n{row['installer']} is told:\n{row['advice']}")
    return int(any("NO" in row.values() for row in rows))


def make_wheels(folder: Path) -> Wheels:
    """Build a wheel of this checkout with its own build tool, and the plugins' by hand."""
    place = folder / "wheels"
    place.mkdir()
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(ROOT)]
    subprocess.run(build, check=True)
    (trimtab,) = place.glob("trimtab-*.whl")
    for name in ADDED.values():
        strategy(place, name, requires=("trimtab",))
    return Wheels(trimtab, clerk(place))


def installers(folder: Path, wheels: Wheels) -> list[Installer]:
    """Give the installers; uv and pipx are put into an environment of their own first."""
    tools = make_environment(folder / "tools")
    subprocess.run([tools / "python", "-m", "pip", "install", "--quiet", "uv", "pipx"], check=True)
    return [
        with_pip(folder, wheels),
        with_uv(folder, wheels, tools / "uv"),
        with_pipx(folder, wheels, tools / "pipx"),
    ]


def make_environment(folder: Path) -> Path:
    """Make a virtual environment and give the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin"


def finding(wheels: Wheels) -> dict[str, str]:
    """Give the settings by which pip and uv find the wheels, as if they were published."""
    folder = str(wheels.trimtab.parent)
    before = os.environ.get("PIP_FIND_LINKS", "")
    return {"PIP_FIND_LINKS": f"{before} {folder}".strip(), "UV_FIND_LINKS": folder}


def with_pip(folder: Path, wheels: Wheels) -> Installer:
    """A fresh environment and its own pip."""
    programs = make_environment(folder / "pip")
    pip = (programs / "python", "-m", "pip")
    install = (*pip, "install", "--quiet")
    return Installer(
        name="pip",
        version=(*pip, "--version"),
        install=[(*install, wheels.trimtab), (*install, wheels.clerk)],
        renew=(*install, "--force-reinstall", "--no-deps", wheels.trimtab),
        command=programs / "trimtab",
        env=finding(wheels),
    )


def with_uv(folder: Path, wheels: Wheels, uv: Path) -> Installer:
    """An environment that `uv tool` keeps for Trimtab."""
    place = folder / "uv"
    return Installer(
        name="uv tool --with",
        version=(uv, "--version"),
        install=[(uv, "tool", "install", "--quiet", wheels.trimtab, "--with", wheels.clerk)],
        renew=(uv, "tool", "upgrade", "--quiet", "--reinstall", "trimtab"),
        command=place / "bin" / "trimtab",
        env={
            **finding(wheels),
            "UV_TOOL_DIR": str(place / "tools"),
            "UV_TOOL_BIN_DIR": str(place / "bin"),
            "UV_PYTHON": sys.executable,
            "PATH": f"{uv.parent}{os.pathsep}{os.environ['PATH']}",
        },
    )


def with_pipx(folder: Path, wheels: Wheels, pipx: Path) -> Installer:
    """An environment that pipx keeps for Trimtab."""
    place = folder / "pipx"
    return Installer(
        name="pipx inject",
        version=(pipx, "--version"),
        install=[(pipx, "install", wheels.trimtab), (pipx, "inject", "trimtab", wheels.clerk)],
        renew=(pipx, "reinstall", "trimtab"),
        command=place / "bin" / "trimtab",
        env={
            **finding(wheels),
            "PIPX_HOME": str(place),
            "PIPX_BIN_DIR": str(place / "bin"),
            "PIPX_MAN_DIR": str(place / "man"),
            "PATH": f"{pipx.parent}{os.pathsep}{os.environ['PATH']}",
        },
    )


def judged(installer: Installer, wheels: Wheels, folder: Path) -> dict[str, str]:
    """Install, look at the listing, fit confined and trusted, renew, and follow the listing's advice."""
    for words in installer.install:
        installer.run(words)
    row = listed(installer)["clerk"]
    facts = {
        "installer": installer.name,
        "version": installer.run(installer.version).split(" from ")[0],
        "listed": f"{row['distribution']} {row['version']}, {row['origin']}",
        "trust": f"{row['trust']}, {row['status']}",
        "confined = trusted": yes(lambda: is_the_same_confined_and_trusted(installer, folder)),
    }
    installer.run(installer.renew)
    facts["kept when renewed"] = yes(lambda: "clerk" in listed(installer))
    directory = folder / f"{installer.command.parent.parent.name}-plugins"
    directory.mkdir()
    config = settings(folder, f"plugin_directory = '{directory}'")
    advice = cast("dict[str, str]", listing(installer, "--config", config)["install"])
    for command, name in ADDED.items():
        installer.run(shlex.split(advice[command].replace("NAME", f"trimtab-{name}")))
    rows = listed(installer, "--config", config)
    origins = {name: row["origin"] for name, row in rows.items() if row["status"] == "ready"}
    wanted = {"clerk": "environment", "shelf": "environment", "corner": "directory"}
    facts["advice works"] = yes(lambda: wanted.items() <= origins.items())
    return {**facts, "advice": "\n".join(advice[command] for command in ADDED)}


def is_the_same_confined_and_trusted(installer: Installer, folder: Path) -> bool:
    """Whether the strategy and the interceptor run in both ways, and make the same fit."""
    confined, trusted = (fit(installer, settings(folder, text)) for text in (STAMPED, TRUSTED))
    ways = [[call["confined"] for call in calls_of(report).values()] for report in (confined, trusted)]
    return ways == [[True, True], [False, False]] and same_fit(confined, trusted)


def fit(installer: Installer, config: Path) -> Json:
    """Fit the small example with the plugin and give the report."""
    words = ("--model", "gpt-4o", "--limit", "500", "--json", "--strategy", "clerk")
    return run(installer.command, "fit", CHAT, *words, "--config", config).json


def listing(installer: Installer, *options: str | Path) -> Json:
    """Give what `trimtab plugins` tells."""
    return run(installer.command, "plugins", "--json", *options).json


def listed(installer: Installer, *options: str | Path) -> dict[str, dict[str, str]]:
    """Give the rows of others' plugins by name."""
    rows = cast("list[dict[str, str]]", listing(installer, *options)["plugins"])
    return {row["name"]: row for row in rows if row["origin"] != "own"}


def yes(holds: Callable[[], bool]) -> str:
    """Write what holds, and what does not, so that it is seen."""
    return "yes" if holds() else "NO"


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table in Markdown."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |")


if __name__ == "__main__":
    main()
