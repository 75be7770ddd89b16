"""Wheels made by hand: a zip file with a RECORD, as the specification of the format has it, without a build tool.

The format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_WHEEL = "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_NO_SOURCE = {"__pycache__", ".pyc"}


def wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str | bytes],
    *,
    entries: Mapping[str, Mapping[str, str]] | None = None,
    requires: Iterable[str] = (),
    version: str = "1.0",
) -> Path:
    """Write a wheel into `folder` and give its path.

    `files` is path → content; `entries` is group without `trimtab.` → name → object.
    """
    stem = f"{name.replace('-', '_')}-{version}"
    groups = {f"trimtab.{group}": objects for group, objects in (entries or {}).items()}
    return _write(folder, stem, files, metadata=_metadata(name, version, requires), groups=groups)


def trimtab_wheel(folder: Path) -> Path:
    """Write a wheel of this checkout, without the packages it needs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = {**project["entry-points"], "console_scripts": project["scripts"]}
    files: dict[str, str | bytes] = {}
    for package in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        files |= _sources(ROOT / package)
    stem = f"trimtab-{project['version']}"
    return _write(folder, stem, files, metadata=_metadata("trimtab", project["version"], ()), groups=groups)


def _sources(package: Path) -> dict[str, str | bytes]:
    paths = (
        path for path in package.rglob("*") if path.is_file() and _NO_SOURCE.isdisjoint({*path.parts, path.suffix})
    )
    return {str(path.relative_to(package.parent)): path.read_bytes() for path in paths}


def _metadata(name: str, version: str, requires: Iterable[str]) -> str:
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires)]
    return "\n".join(["Metadata-Version: 2.1", *lines, "", ""])


def _write(
    folder: Path,
    stem: str,
    files: Mapping[str, str | bytes],
    *,
    metadata: str,
    groups: Mapping[str, Mapping[str, str]],
) -> Path:
    info = f"{stem}.dist-info"
    every = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": _WHEEL,
        f"{info}/entry_points.txt": _ini(groups),
    }
    bodies = {path: body.encode() if isinstance(body, str) else body for path, body in every.items()}
    record = "".join(f"{path},{_digest(body)},{len(body)}\n" for path, body in bodies.items())
    place = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in bodies.items():
            archive.writestr(path, body)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return place


def _ini(groups: Mapping[str, Mapping[str, str]]) -> str:
    sections = (
        "".join([f"[{group}]\n", *(f"{name} = {value}\n" for name, value in objects.items())])
        for group, objects in groups.items()
    )
    return "\n".join(sections)


def _digest(body: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
