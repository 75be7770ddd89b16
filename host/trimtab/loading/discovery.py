"""What is installed, read from metadata alone: nothing is imported here.

In visible steps: find metadata folders (`scanning`), read them (`metadata`), compare them with each other
(`candidates`, `records`, `provenance`, `api_gate`), then decide by the configuration (`vetting`).
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from trimtab.config import Config

OWN_DISTRIBUTION = "trimtab"
GROUPS = {
    "trimtab.strategies": "strategy",
    "trimtab.interceptors": "interceptor",
    "trimtab.codecs": "codec",
    "trimtab.providers": "provider",
    "trimtab.tokenizers": "tokenizer",
    "trimtab.embedders": "embedder",
}
UNKNOWN_KIND = "unknown"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MAX_KEPT = 16

Trust: TypeAlias = Literal["built-in", "trusted", "confined", "needs-trust", "unprotected-install"]
Home: TypeAlias = Literal["environment", "editable", "directory"]
Status: TypeAlias = Literal["ready", "refused", "blocked", "off"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry point as some distribution's metadata names it.

    - `group` is empty where metadata could not be read so far; the candidate stands for a whole distribution then.
    - `value` is `module` or `module:attribute`.
    - `home` is how the distribution was installed: into the host's environment, there as editable, or into the
      plugin directory.
    - `paths` are the folders its modules are imported from, `file` is the file of the entry's own module.
    - `own` says that it is this very distribution, not one of the same name.
    - `fault` says why it may not run whatever the configuration says, empty when nothing speaks against it.
    - `note` is what a reader of the listing should know all the same.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    home: Home = "environment"
    paths: tuple[str, ...] = ()
    file: str = ""
    own: bool = False
    fault: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin as the listing shows it. `reason` says why it is not `ready` and what to do, or what to know.

    `status` is `off` for what would be looked at if plugins were not switched off.
    """

    name: str
    kind: str
    distribution: str
    version: str
    trust: Trust
    status: Status
    reason: str
    candidate: Candidate

    @property
    def origin(self) -> str:
        """How it came here: `own` with Trimtab itself, `environment`, `editable` or `directory`."""
        return "own" if self.candidate.own else self.candidate.home

    def to_dict(self) -> dict[str, str]:
        """Give the listing's row as JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "distribution": self.distribution,
            "version": self.version,
            "origin": self.origin,
            "trust": self.trust,
            "status": self.status,
            "reason": self.reason,
        }


_cache: dict[tuple[str, ...], tuple[Candidate, ...]] = {}
_cache_lock = threading.Lock()
_built_in: dict[str, tuple[tuple[Candidate, ...], tuple[Installed, ...]]] = {}
"""Group → the built-ins as they were read, and their rows."""


def installed(
    group: str | None = None,
    *,
    config: Config | None = None,
    candidates: Iterable[Candidate] | None = None,
) -> tuple[Installed, ...]:
    """List what is installed in an entry-point group, sorted by name and distribution, importing nothing.

    Without `group` everything is listed, also distributions whose metadata cannot be read: their rows have the
    kind `unknown` and the distribution's name. `config` says what is trusted, blocked and confined. `candidates`
    replaces the metadata of this environment, for tests; else these are read once per process, import path and
    plugin directory.

    Raises ConfigError when the configured plugin directory cannot be read.
    """
    from trimtab.loading.vetting import vetted

    found = _everything(config) if candidates is None else tuple(candidates)
    return vetted((one for one in found if group is None or one.group == group), config)


def built_in(group: str) -> tuple[Installed, ...]:
    """List the built-ins of a group; no other distribution is looked at."""
    own = _own()
    known = _built_in.get(group)
    if known is None or known[0] is not own:
        from trimtab.loading.vetting import vetted

        known = _built_in[group] = (own, vetted((one for one in own if one.group == group), None))
    return known[1]


def find(group: str, name: str, *, config: Config) -> Installed | None:
    """Give the row that stands for a name. Others are looked through only when no built-in is called so."""
    own = by_name(built_in(group)).get(name)
    if own is not None:
        return own
    return by_name(installed(group, config=config)).get(name)


def in_process(group: str, *, config: Config) -> tuple[Installed, ...]:
    """List what may run in this process: built-ins and, where the configuration trusts somebody, the trusted."""
    if not config.trusted or not config.plugins:
        return tuple(row for row in built_in(group) if row.status == "ready")
    rows = installed(group, config=config)
    return tuple(row for row in rows if row.status == "ready" and row.trust in {"built-in", "trusted"})


def forget_installed() -> None:
    """Read the metadata of this environment anew at the next call."""
    with _cache_lock:
        _cache.clear()


def by_name(listing: Iterable[Installed]) -> Mapping[str, Installed]:
    """Give the row that stands for each name: the ready one if there is one, else the first."""
    rows: dict[str, Installed] = {}
    for row in listing:
        if row.name not in rows or (row.status == "ready" and rows[row.name].status != "ready"):
            rows[row.name] = row
    return rows


def is_name(name: object) -> bool:
    """Tell whether a plugin may be called this: a to z, 0 to 9, dot, dash, underscore, at most 64."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def normalized(distribution: str) -> str:
    """Give a distribution's name in the one spelling that is compared."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _everything(config: Config | None) -> tuple[Candidate, ...]:
    from trimtab.loading.candidates import all_candidates

    directory = None if config is None or config.plugin_directory is None else str(config.plugin_directory)
    return _kept(("all", directory or ""), lambda: all_candidates(sys.path, directory))


def _own() -> tuple[Candidate, ...]:
    from trimtab.loading.candidates import own_candidates

    return _kept(("own",), lambda: own_candidates(sys.path))


def _kept(question: tuple[str, ...], answer: Callable[[], tuple[Candidate, ...]]) -> tuple[Candidate, ...]:
    key = (*question, *(entry for entry in sys.path if isinstance(entry, str)))
    with _cache_lock:
        if key not in _cache:
            if len(_cache) >= _MAX_KEPT:
                _cache.clear()
            _cache[key] = answer()
        return _cache[key]
