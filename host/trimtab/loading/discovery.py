"""What is installed, read from metadata alone: nothing is imported here."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from importlib_metadata import EntryPoint

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
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

Trust: TypeAlias = Literal["built-in", "trusted", "needs-trust"]
Status: TypeAlias = Literal["ready", "refused", "blocked"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry point as some distribution's metadata names it."""

    group: str
    name: str
    value: str
    distribution: str
    version: str


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin as the listing shows it. `reason` says why it is not `ready`, and what to do."""

    name: str
    kind: str
    distribution: str
    version: str
    trust: Trust
    status: Status
    reason: str
    candidate: Candidate

    def to_dict(self) -> dict[str, str]:
        """Give the listing's row as JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "distribution": self.distribution,
            "version": self.version,
            "trust": self.trust,
            "status": self.status,
            "reason": self.reason,
        }


_cache: dict[str, tuple[Candidate, ...]] = {}
_cache_lock = threading.Lock()


def installed(
    group: str,
    *,
    config: Config | None = None,
    candidates: Iterable[Candidate] | None = None,
) -> tuple[Installed, ...]:
    """List what is installed in an entry-point group, sorted by name and distribution, importing nothing.

    `config` says what is trusted and what is blocked. `candidates` replaces the metadata of this
    environment, for tests; else the metadata are read once per process and group.
    """
    found = _found(group) if candidates is None else tuple(candidates)
    owners: dict[str, list[Candidate]] = {}
    for candidate in sorted(set(found), key=lambda one: (one.name, one.distribution, one.value)):
        owners.setdefault(candidate.name, []).append(candidate)
    return tuple(_vetted(candidate, rivals, config) for rivals in owners.values() for candidate in rivals)


def forget_installed() -> None:
    """Read the metadata of this environment anew at the next call."""
    with _cache_lock:
        _cache.clear()


def _found(group: str) -> tuple[Candidate, ...]:
    with _cache_lock:
        if group not in _cache:
            from importlib_metadata import entry_points

            _cache[group] = tuple(_candidate(entry) for entry in entry_points(group=group))
        return _cache[group]


def _candidate(entry: EntryPoint) -> Candidate:
    dist = entry.dist
    name = normalized(dist.metadata["Name"] or "") if dist is not None else ""
    return Candidate(entry.group, entry.name, entry.value, name, dist.version if dist is not None else "")


def is_name(name: object) -> bool:
    """Tell whether a plugin may be called this: a to z, 0 to 9, dot, dash, underscore, at most 64."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def normalized(distribution: str) -> str:
    """Give a distribution's name in the one spelling that is compared."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _vetted(candidate: Candidate, rivals: list[Candidate], config: Config | None) -> Installed:
    trust = _trust(candidate, config)
    status, reason = _verdict(candidate, rivals, trust, config)
    return Installed(
        name=candidate.name,
        kind=GROUPS[candidate.group],
        distribution=candidate.distribution,
        version=candidate.version,
        trust=trust,
        status=status,
        reason=reason,
        candidate=candidate,
    )


def _trust(candidate: Candidate, config: Config | None) -> Trust:
    if candidate.distribution == OWN_DISTRIBUTION:
        return "built-in"
    if config is not None and config.trusts(candidate.distribution, candidate.version):
        return "trusted"
    return "needs-trust"


def _verdict(
    candidate: Candidate, rivals: list[Candidate], trust: Trust, config: Config | None
) -> tuple[Status, str]:
    if not is_name(candidate.name):
        return "refused", "its name is not made of a to z, 0 to 9, dot, dash and underscore"
    if trust == "built-in":
        return "ready", ""
    if config is not None and config.blocks(candidate.distribution, candidate.name):
        return "blocked", "blocked by the configuration"
    if any(rival.distribution == OWN_DISTRIBUTION for rival in rivals):
        return "refused", f"{candidate.name!r} is the name of a built-in"
    if trust == "needs-trust":
        return "refused", f"not trusted; to let it run, add {candidate.distribution!r} to Config(trusted=[...])"
    others = _other_owners(candidate, rivals, config)
    if others:
        return "refused", f"{', '.join(others)} publishes the same name; block one of them"
    return "ready", ""


def _other_owners(candidate: Candidate, rivals: list[Candidate], config: Config | None) -> list[str]:
    """The other trusted owners of a name; untrusted ones do not count, or anybody could switch a plugin off."""
    return [
        rival.distribution
        for rival in rivals
        if rival != candidate
        and _trust(rival, config) == "trusted"
        and not (config is not None and config.blocks(rival.distribution, rival.name))
    ]


def by_name(listing: Iterable[Installed]) -> Mapping[str, Installed]:
    """Give the row that stands for each name: the ready one if there is one, else the first."""
    rows: dict[str, Installed] = {}
    for row in listing:
        if row.name not in rows or (row.status == "ready" and rows[row.name].status != "ready"):
            rows[row.name] = row
    return rows
