"""Which installed plugins are judged, whether they may run here, and what is claimed for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trimtab.conformance.orders import CONTRACTS, Order, contract_of
from trimtab.conformance.own_claims import OWN_CLAIMS
from trimtab.loading.discovery import Installed, by_name, find, installed, normalized
from trimtab.loading.registry import CONFINED
from trimtab.loading.vetting import ACTING_KINDS
from trimtab_sdk.errors import InvalidRequestError, Origin, PluginLoadError, PluginNotTrustedError

if TYPE_CHECKING:
    from trimtab.config import Config

_KEEPER = "test_no_rule_was_dropped_or_rewritten"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller says.

    - `claims` by name, `xfails` as rule → why it cannot be kept yet, `settings` of strategies and interceptors.
    - `samples` are inputs of a codec's format.
    - `trust`: whether drivers may run though the configuration does not trust them.
    """

    claims: Mapping[str, object] = field(default_factory=dict)
    xfails: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    samples: Sequence[object] = ()
    trust: bool = False


def rows_named(target: str, config: Config) -> list[Installed]:
    """Give the plugins of this name, and those of the distribution of this name; none where there is neither."""
    every = installed(config=config)
    named = [row for row in every if row.name == target]
    chosen = [
        by_name(row for row in named if row.kind == kind)[target] for kind in {row.kind: None for row in named}
    ]
    theirs = [row for row in every if normalized(row.candidate.distribution) == normalized(target)]
    # What only calls itself like a built-in's distribution is the listing's business.
    own = [row for row in theirs if row.candidate.own]
    return list(dict.fromkeys([*chosen, *(own or theirs)]))


def order_for(row: Installed, wishes: Wishes, config: Config) -> Order:
    """Give the order to judge a plugin.

    Raises PluginNotTrustedError when it runs only when trusted and is not, PluginLoadError when it may not run at
    all, InvalidRequestError when the wishes do not fit its contract.
    """
    if row.kind not in CONTRACTS:
        raise PluginLoadError(f"cannot run: {row.reason or 'it is of no known kind'}", origin=_origin(row))
    allowed = _allowed(row, wishes, config)
    claims = {name: value for name, value in wishes.claims.items() if name in contract_of(row.kind).abilities}
    if row.candidate.own and not wishes.claims:
        claims = dict(OWN_CLAIMS.get((row.kind, row.name), {}))
    if row.kind in ACTING_KINDS and wishes.settings:
        claims["settings"] = dict(wishes.settings)
    if row.kind == "codec" and wishes.samples:
        claims["samples"] = list(wishes.samples)
    if row.kind == "provider" and (own := _codecs_beside(row, allowed)):
        claims["own_codecs"] = own
    return Order(
        row.candidate.group,
        row.name,
        row.kind,
        confined=_is_confined(row),
        claims=claims,
        xfails={rule: why for rule, why in wishes.xfails.items() if rule in _rules(row.kind)},
        config=allowed.model_dump(mode="json", exclude_unset=True),
    )


def _codecs_beside(row: Installed, config: Config) -> list[str]:
    """Name the codecs that a provider's own distribution brings."""
    others = installed("trimtab.codecs", config=config)
    return [one.name for one in others if one.candidate.distribution == row.candidate.distribution]


def check_wishes(wishes: Wishes, kinds: Iterable[str]) -> None:
    """Raise InvalidRequestError for a wish that the contract of no kind here knows."""
    wanted = list(dict.fromkeys(kinds))
    for name, value in wishes.claims.items():
        _check_claim(name, value, wanted)
    rules = {rule for kind in wanted for rule in _rules(kind)}
    for rule in wishes.xfails:
        if rule not in rules:
            raise InvalidRequestError(f"there is no rule {rule!r}; the report names them", path="--xfail")
    if wishes.settings and not ACTING_KINDS.intersection(wanted):
        raise InvalidRequestError("settings are for strategies and interceptors", path="--settings")
    if wishes.samples and "codec" not in wanted:
        raise InvalidRequestError("samples are for codecs", path="--sample")


def _check_claim(name: str, value: object, kinds: Iterable[str]) -> None:
    contracts = [contract_of(kind) for kind in kinds]
    known = sorted({ability for contract in contracts for ability in contract.abilities})
    if name not in known:
        raise InvalidRequestError(
            f"nothing is called {name!r}; what can be claimed is {', '.join(known)}", path="--claim"
        )
    usual = [getattr(contract, name) for contract in contracts if name in contract.abilities]
    if any(isinstance(one, bool) != isinstance(value, bool) for one in usual):
        raise InvalidRequestError(
            f"{name} is claimed with a value, as --claim '{name}=[\"embed\"]'"
            if isinstance(value, bool)
            else f"{name} is claimed without a value",
            path="--claim",
        )


def _rules(kind: str) -> Iterator[str]:
    return (name for name in dir(contract_of(kind)) if name.startswith("test_") and name != _KEEPER)


def _is_confined(row: Installed) -> bool:
    return row.kind in ACTING_KINDS and not row.candidate.own


def _allowed(row: Installed, wishes: Wishes, config: Config) -> Config:
    """Give the configuration under which a plugin runs as it should: confined, or trusted."""
    if row.candidate.own:
        return _ready(row, config, {"built-in"})
    if _is_confined(row):
        # What is trusted anyway may run confined too.
        less = {"trusted": (), "untrusted": "confine"} if row.trust == "trusted" else {}
        return _ready(row, config.model_copy(update=less), CONFINED)
    more = {"trusted": (*config.trusted, row.candidate.distribution)} if wishes.trust else {}
    can_be_trusted = row.candidate.home != "directory" and not row.candidate.fault
    if row.status == "refused" and can_be_trusted and not wishes.trust:
        raise PluginNotTrustedError(
            f"is a {row.kind}, and cannot be confined; run it again with --trust if you trust who made it",
            origin=_origin(row),
        )
    return _ready(row, config.model_copy(update=more), {"trusted"})


def _ready(row: Installed, config: Config, trusts: Iterable[str]) -> Config:
    found = find(row.candidate.group, row.name, config=config)
    if found is None or found.candidate != row.candidate:
        raise PluginLoadError(f"cannot run: {row.reason or 'another one has its name'}", origin=_origin(row))
    if found.status != "ready" or found.trust not in trusts:
        raise PluginLoadError(f"cannot run: {found.reason}", origin=_origin(row))
    return config


def _origin(row: Installed) -> Origin:
    return Origin(row.name, row.distribution, row.version)
