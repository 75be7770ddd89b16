"""Distributions put into a folder the way an installer does, honest and forged ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import trimtab
from trimtab.config import Config
from trimtab.loading.candidates import all_candidates
from trimtab.loading.discovery import Candidate, Installed, installed

STRATEGIES = "trimtab.strategies"


@dataclass(frozen=True)
class Wheel:
    """A distribution with one module, `recap_one` of `trimtab-recap` by default; every part of it can be forged.

    `record` replaces the RECORD, `listed` adds lines to it. `entry_points` replaces the file of that name.
    """

    name: str = "trimtab-recap"
    version: str = "1.0"
    module: str = "recap_one"
    entry: str = "recap"
    group: str = STRATEGIES
    source: str = "raise SystemExit('imported')\n"
    requires: Iterable[str] = ()
    files: Mapping[str, str] | None = None
    listed: Iterable[str] = ()
    record: str | None = None
    metadata: str | None = None
    entry_points: str | bytes | None = None
    editable: Path | None = None

    @property
    def folder(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    def put(self, site: Path) -> Path:
        """Install it into `site` and give its metadata folder."""
        info = site / self.folder
        info.mkdir(parents=True)
        files = {f"{self.module.replace('.', '/')}.py": self.source} if self.files is None else dict(self.files)
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        (info / "METADATA").write_text(self._metadata())
        (info / "entry_points.txt").write_bytes(self._entry_points())
        if self.editable is not None:
            origin = {"url": self.editable.as_uri(), "dir_info": {"editable": True}}
            (info / "direct_url.json").write_text(json.dumps(origin))
        (info / "RECORD").write_text(self._record(files))
        return info

    def _metadata(self) -> str:
        if self.metadata is not None:
            return self.metadata
        lines = [f"Requires-Dist: {line}" for line in self.requires]
        return "\n".join(
            ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}", *lines, "", ""]
        )

    def _entry_points(self) -> bytes:
        if isinstance(self.entry_points, bytes):
            return self.entry_points
        text = (
            f"[{self.group}]\n{self.entry} = {self.module}\n" if self.entry_points is None else self.entry_points
        )
        return text.encode()

    def _record(self, files: Iterable[str]) -> str:
        if self.record is not None:
            return self.record
        own = [f"{self.folder}/{name}" for name in ("METADATA", "entry_points.txt", "RECORD")]
        return "".join(f"{path},,\n" for path in [*files, *self.listed, *own])


OTHER = Wheel(name="trimtab-other", module="other_one", entry="other")


OWN = Wheel(
    name="trimtab",
    version="0.1.0",
    files={},
    entry_points=f"[{STRATEGIES}]\ntruncate = trimtab_strategies.truncate\n",
    editable=Path(trimtab.__file__).resolve().parent.parent,
)


def candidates(site: Path, directory: Path | None = None) -> tuple[Candidate, ...]:
    """Read the metadata of one folder as an environment; Trimtab itself is put there, with one strategy."""
    if not (site / OWN.folder).exists():
        OWN.put(site)
    return all_candidates([str(site)], None if directory is None else str(directory))


def rows(site: Path, directory: Path | None = None, **config: object) -> dict[str, Installed]:
    """List the third parties' rows by name; a name that is there twice is a mistake of the test."""
    listing = [row for row in every_row(site, directory, **config) if row.trust != "built-in"]
    assert len({row.name for row in listing}) == len(listing), listing
    return {row.name: row for row in listing}


def every_row(site: Path, directory: Path | None = None, **config: object) -> tuple[Installed, ...]:
    """List everything."""
    return installed(config=Config(**config), candidates=candidates(site, directory))


def refusal(site: Path, name: str = "recap", directory: Path | None = None, **config: object) -> str:
    """Give why a plugin is refused; the other distribution, put beside it, must still be ready."""
    if not (site / OTHER.folder).exists():
        OTHER.put(site)
    listing = rows(site, directory, **config)
    assert listing["other"].status == "ready", listing["other"].reason
    assert listing[name].status == "refused"
    return listing[name].reason
