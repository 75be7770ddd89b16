"""A Python and the worker's packages where every user may read them, and the users a worker is tried as.

A checkout, its environment and its interpreter may stand in folders that only their owner can enter. A worker of
another user needs a copy.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pluggy

import trimtab_sdk
import trimtab_worker

NOBODY = 65534
_LEFT_OUT = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip", "config-*")
_SHELL = '#!/bin/sh\nLD_LIBRARY_PATH="{lib}" exec "{python}" "$@"\n'


@dataclass(frozen=True, slots=True)
class Identity:
    """A user to run a child as; `uid` is None for the user that runs the tests."""

    name: str
    uid: int | None = None

    def popen(self, command: list[str], **settings: object) -> subprocess.Popen[str]:
        """Start `command` as this user, with pipes for text and an empty environment."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        user = {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}
        return subprocess.Popen(command, text=True, cwd="/", env={}, **{**pipes, **user, **settings})  # type: ignore[call-overload, no-any-return]


IS_ROOT = os.geteuid() == 0
OWN = Identity("root" if IS_ROOT else "own user")
# One user without privileges is always tried; root too, where the tests run as root.
PLAIN = Identity("nobody", NOBODY) if IS_ROOT else OWN
IDENTITIES = [OWN, PLAIN] if IS_ROOT else [OWN]


@dataclass(frozen=True, slots=True)
class House:
    """`python` runs under `-I -S`; `packages` is a folder to put on its import path."""

    folder: Path
    python: str
    packages: Path


@contextlib.contextmanager
def open_house(*modules: Path) -> Iterator[House]:
    """Make a house that every user may read, with `modules` beside the packages, and tear it down afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-house-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        python, packages = _python(folder), folder / "packages"
        for package in (trimtab_worker, trimtab_sdk, pluggy):
            source = Path(str(package.__file__)).parent
            shutil.copytree(source, packages / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        for module in modules:
            shutil.copy(module, packages)
        _open_to_all(packages)
        subprocess.run([python, "-I", "-S", "-m", "compileall", "-q", str(packages)], check=True)
        yield House(folder, python, packages)
    finally:
        shutil.rmtree(folder)


def _python(folder: Path) -> str:
    base = _base_python()
    return base if _runs_as_plain_user(base) else _copied_python(folder, Path(base))


def _base_python() -> str:
    """The interpreter behind the environment that the tests run in."""
    code = "import sys; print(sys._base_executable)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    return os.path.realpath(done.stdout.strip())


def _runs_as_plain_user(python: str) -> bool:
    try:
        child = PLAIN.popen([python, "-I", "-S", "-c", "import json, ctypes"])
    except PermissionError:
        return False
    child.communicate()
    return child.returncode == 0


def _copied_python(folder: Path, base: Path) -> str:
    """Copy the interpreter and its library; a script tells the loader where its shared library went."""
    home, version = folder / "python", f"python{sys.version_info.major}.{sys.version_info.minor}"
    (home / "bin").mkdir(parents=True)
    shutil.copy(base, home / "bin" / version)
    shutil.copytree(Path(os.__file__).parent, home / "lib" / version, ignore=_LEFT_OUT)
    for library in (Path(sys.base_prefix) / "lib").glob("libpython*.so*"):
        shutil.copy(library, home / "lib")
    script = folder / "python-for-all"
    script.write_text(_SHELL.format(lib=home / "lib", python=home / "bin" / version))
    _open_to_all(home)
    script.chmod(0o755)
    return str(script)


def _open_to_all(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
