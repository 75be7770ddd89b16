"""`trimtab new-plugin`: a project with a plugin that works, to be changed into one's own."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.screen import clean, console_for

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Distributions must not end otherwise, though entry points might.
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?")
_WRITTEN_AGAINST = "trimtab>=0.1"
# What tools leave behind in folders they ran in.
_LEFTOVERS = (".", "__pycache__")


@click.command("new-plugin", short_help="Start a plugin of your own.")
@click.argument("name", metavar="NAME")
@click.option("--interceptor", is_flag=True, help="Start an interceptor, not a strategy.")
@click.option("--dir", "folder", metavar="PATH", help="The folder to make; NAME in this one by default.")
def new_plugin_command(name: str, interceptor: bool, folder: str | None) -> None:
    """Make a project for a strategy NAME: the plugin, a test of its contract, and what publishes it.

    The distribution is called trimtab-NAME. The project works as it is; its tests pass.
    """
    kind = "interceptor" if interceptor else "strategy"
    if fault := name_fault(name):
        raise click.BadParameter(fault, param_hint="NAME")
    place = Path(name if folder is None else folder)
    make_project(place, name, kind)
    console_for(sys.stdout).out(*_told(place, name, kind), sep="\n", highlight=False)


def name_fault(name: str) -> str:
    """Tell why a plugin cannot be called so; nothing when it can."""
    from trimtab.loading.records import OWN_PACKAGES

    if _NAME.fullmatch(name) is None:
        return (
            f"{clean(name, limit=80)!r} is no name for a plugin; take up to 64 of a to z, 0 to 9, dot, dash and "
            "underscore, with a letter or digit first and last"
        )
    if name.startswith("trimtab"):
        return f"{name!r} begins with trimtab; the distribution is called trimtab-NAME anyway, so leave it out"
    if name in _built_ins() or _module(name) in OWN_PACKAGES:
        return f"{name!r} is taken by Trimtab itself; take another"
    return ""


def make_project(place: Path, name: str, kind: str) -> None:
    """Write the project into a folder that must not exist. Raises click.UsageError, and then nothing is left."""
    files = dict(project_files(name, kind))
    try:
        place.mkdir()
    except FileExistsError:
        raise click.UsageError(f"{clean(str(place))} exists already; nothing was written") from None
    except (OSError, ValueError) as error:
        raise _unwritable(place, error) from error
    try:
        for path, text in files.items():
            file = place / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise _unwritable(place, error) from error


def project_files(name: str, kind: str) -> Iterator[tuple[str, str]]:
    """Give path and text of every file of a new project: the template's, renamed."""
    from importlib.resources import files

    words = _words(name, kind)
    for path, file in _files_below(files("trimtab") / "data" / "plugin-template" / kind):
        yield _renamed(path, words), _renamed(file.read_text(encoding="utf-8"), words)


def _files_below(folder: Traversable, before: str = "") -> Iterator[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.name.startswith(_LEFTOVERS):
            continue
        if one.is_file():
            yield before + one.name, one
        else:
            yield from _files_below(one, f"{before}{one.name}/")


def _words(name: str, kind: str) -> dict[str, str]:
    """Give what the template says → what this project says instead."""
    from importlib.metadata import version

    camel = "".join(word.capitalize() for word in re.split(r"[._-]+", name))
    return {
        f"my-{kind}": name,
        f"trimtab_my_{kind}": _module(name),
        f"my_{kind}": _underscored(name),
        f"My{kind.capitalize()}": camel,
        _WRITTEN_AGAINST: f"trimtab>={'.'.join(version('trimtab').split('.')[:2])}",
    }


def _renamed(text: str, words: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, words)), lambda found: words[found[0]], text)


def _module(name: str) -> str:
    return f"trimtab_{_underscored(name)}"


def _underscored(name: str) -> str:
    return re.sub(r"[._-]+", "_", name)


def _built_ins() -> frozenset[str]:
    from trimtab.loading.discovery import GROUPS, built_in

    return frozenset(row.name for group in GROUPS for row in built_in(group))


def _unwritable(place: Path, error: OSError | ValueError) -> click.UsageError:
    reason = error.strerror if isinstance(error, OSError) else None
    return click.UsageError(f"{clean(str(place))} cannot be written: {reason or error}")


def _told(place: Path, name: str, kind: str) -> Iterator[str]:
    here = clean(str(place))
    yield f"made {here}, with the {kind} {name!r} and a test of its contract. Next:"
    yield ""
    yield f"  cd {here}"
    yield "  python -m pip install -e '.[test]'"
    yield "  python -m pytest"
    yield f"  trimtab plugins --load {name}"
    yield ""
    yield f"{_module(name)}.py is where your own begins."
