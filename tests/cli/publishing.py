"""Installed distributions, made by hand: what pip leaves behind, without pip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HEAVIEST = """
from trimtab_sdk import Edit, Traits, hookimpl

@hookimpl
def trimtab_traits():
    return Traits(settings_schema={"type": "object", "properties": {"words": {"type": "integer"}}})

@hookimpl
def trimtab_shift(request, services):
    drop, total = {}, request.total
    for group in sorted(request.groups, key=lambda group: -group.tokens):
        if total > request.target and request.protected.isdisjoint(group.ids):
            drop.update(dict.fromkeys(group.ids, "context-shift"))
            total -= group.tokens
    return Edit(drop=drop)
"""
"""A strategy that works."""


def leaving_a_mark(source: str, mark: Path) -> str:
    """A module that makes a file where it is imported, if it may."""
    return f"{source}\ntry:\n    open({str(mark)!r}, 'w').close()\nexcept OSError:\n    pass\n"


def publish(
    site: Path,
    distribution: str,
    source: str = HEAVIEST,
    *,
    entry: str = "",
    group: str = "trimtab.strategies",
    more: Mapping[str, str] | None = None,
) -> Path:
    """Put version 1.0 of a distribution with one module into a folder, and give the folder.

    The entry's name is that of the distribution without `trimtab-`, unless it is given; `more` are other files.
    """
    module = distribution.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    name = entry or distribution.removeprefix("trimtab-")
    files = {
        f"{module}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\nRequires-Dist: trimtab\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{group}]\n{name} = {module}\n",
        **(more or {}),
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    for path, text in {**files, f"{info}/RECORD": record}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    return site


def config_file(folder: Path, text: str) -> Path:
    """A configuration file that only its owner may write to."""
    path = folder / "settings.toml"
    path.write_text(text)
    path.chmod(0o644)
    return path
