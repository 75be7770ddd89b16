"""Who of the candidates may run, and where: the configuration's decisions, over plain data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from trimtab.fitting.cleaning import clean_note
from trimtab.loading.discovery import (
    GROUPS,
    OWN_DISTRIBUTION,
    UNKNOWN_KIND,
    Candidate,
    Installed,
    Status,
    Trust,
    is_name,
    normalized,
)
from trimtab.loading.reading import shown

if TYPE_CHECKING:
    from trimtab.config import Config

ACTING_KINDS = frozenset({"strategy", "interceptor"})
CAN_CONFINE = hasattr(os, "fork")

_Verdict: TypeAlias = tuple[Trust, Status, str]


def vetted(candidates: Iterable[Candidate], config: Config | None) -> tuple[Installed, ...]:
    """Give the rows of these candidates, each once, sorted by name and distribution.

    Without a configuration nobody is trusted and whatever can be confined is.
    """
    ordered = sorted(set(candidates), key=_order)
    named = _named_in_trusted(config)
    first = {one: _alone(one, config, named) for one in ordered}
    owners: dict[tuple[str, str], list[Candidate]] = {}
    for one in ordered:
        owners.setdefault((one.group, one.name), []).append(one)
    return tuple(_row(one, _among(one, owners[one.group, one.name], first)) for one in ordered)


def _order(one: Candidate) -> tuple[str, ...]:
    return one.name, one.distribution, one.home, one.group, one.value, one.version, one.file, one.fault


def _row(one: Candidate, verdict: _Verdict) -> Installed:
    trust, status, reason = verdict
    return Installed(
        name=one.name if is_name(one.name) else shown(one.name),
        kind=GROUPS.get(one.group, UNKNOWN_KIND),
        distribution=shown(one.distribution),
        version=shown(one.version),
        trust=trust,
        status=status,
        reason=clean_note("; ".join(part for part in (reason, one.note) if part)),
        candidate=one,
    )


def _alone(one: Candidate, config: Config | None, named: Mapping[str, str]) -> _Verdict:
    """Judge a candidate by itself, as if it were the only one of its name."""
    trust = _trust(one, config, named)
    if one.own:
        return ("built-in", "refused", one.fault) if one.fault else ("built-in", "ready", "")
    if config is not None and not config.plugins:
        return trust, "off", "plugins are switched off; leave out --no-plugins, or Config(plugins=False)"
    if config is not None and config.blocks(one.distribution, one.name):
        return trust, "blocked", "blocked by the configuration"
    fault = _fault(one)
    if fault:
        return trust, "refused", fault
    if trust == "needs-trust":
        return trust, "refused", _how_to_trust(one, config, named)
    return trust, "ready", _what_to_know(one, trust, named)


def _among(one: Candidate, owners: Sequence[Candidate], first: Mapping[Candidate, _Verdict]) -> _Verdict:
    """Judge a candidate among all that have its name: built-ins go first, then the trusted, then the rest."""
    trust, status, _ = first[one]
    if one.own or status in {"blocked", "off"} or _fault(one):
        return first[one]
    if any(rival.own for rival in owners):
        return trust, "refused", f"{one.name!r} is the name of a built-in"
    if status != "ready":
        return first[one]
    ready = [rival for rival in owners if rival != one and first[rival][1] == "ready"]
    trusted = [rival for rival in ready if first[rival][0] == "trusted"]
    rivals = trusted if trust == "trusted" or trusted else ready
    if not rivals:
        return first[one]
    others = ", ".join(shown(rival.distribution) for rival in rivals[:3])
    return trust, "refused", f"{others} publishes the same name; block or uninstall one of them"


def _trust(one: Candidate, config: Config | None, named: Mapping[str, str]) -> Trust:
    if one.own:
        return "built-in"
    if _may_trust(one) and config is not None and one.distribution in named and _in_range(one, config):
        return "trusted"
    if not _can_be_confined(one) or (config is not None and config.untrusted == "refuse"):
        return "needs-trust"
    return "confined" if one.home == "directory" else "unprotected-install"


def _may_trust(one: Candidate) -> bool:
    return one.home != "directory" and one.distribution != OWN_DISTRIBUTION


def _in_range(one: Candidate, config: Config) -> bool:
    return not one.fault and config.trusts(one.distribution, one.version)


def _can_be_confined(one: Candidate) -> bool:
    return CAN_CONFINE and GROUPS.get(one.group) in ACTING_KINDS


def _fault(one: Candidate) -> str:
    if one.fault:
        return one.fault
    if not is_name(one.name):
        return "its name is not made of a to z, 0 to 9, dot, dash and underscore"
    if one.group not in GROUPS:
        return "it is of no kind that Trimtab knows"
    if one.distribution == OWN_DISTRIBUTION:
        return f"it calls itself {OWN_DISTRIBUTION}, but its code is not what runs here; uninstall it"
    return ""


def _how_to_trust(one: Candidate, config: Config | None, named: Mapping[str, str]) -> str:
    kind = GROUPS[one.group]
    if one.home == "directory" and kind not in ACTING_KINDS:
        return (
            f"nothing in a plugin directory can be trusted, and a {kind} runs only when it is; "
            "install it into Trimtab's own environment and trust it there"
        )
    if one.home == "directory":
        return "nothing in a plugin directory can be trusted, and the configuration refuses what is not"
    why = "not trusted"
    if one.distribution in named:
        why = f"trusted only as {named[one.distribution]!r}"
    elif kind in ACTING_KINDS and not CAN_CONFINE:
        why = "not trusted, and plugins cannot be confined on this platform"
    if kind in ACTING_KINDS and CAN_CONFINE:
        return f"{why}; to let it run, add {one.distribution!r} to Config(trusted=[...]), or untrusted='confine'"
    return f"{why}; to let it run, add {one.distribution!r} to Config(trusted=[...])"


def _what_to_know(one: Candidate, trust: Trust, named: Mapping[str, str]) -> str:
    if trust == "confined" and one.distribution in named:
        return "the configuration names it, but nothing in a plugin directory can be trusted: it stays confined"
    if trust != "unprotected-install":
        return ""
    range_ = (
        f"trusted only as {named[one.distribution]!r}, so it runs confined; " if one.distribution in named else ""
    )
    return (
        f"{range_}it runs confined, but its installer could have changed anything in this environment; "
        "a plugin directory keeps it apart"
    )


def _named_in_trusted(config: Config | None) -> dict[str, str]:
    if config is None or not config.trusted:
        return {}
    from packaging.requirements import Requirement

    lines = ((normalized(Requirement(line).name), line) for line in config.trusted)
    return dict(reversed(list(lines)))
