"""What a child process is told to judge, and what it tells: plain data that goes through JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import trimtab.conformance

if TYPE_CHECKING:
    from trimtab.conformance.base import Contract

ORDER = "order.json"
TOLD = "told.jsonl"
"""The files that go between the processes: an order, and a line for each rule that began or came to something."""

Outcome: TypeAlias = Literal["passed", "failed", "expected-failure", "not-claimed", "not-judged", "not-run"]

CONTRACTS = {
    "strategy": "StrategyContract",
    "interceptor": "InterceptorContract",
    "codec": "CodecContract",
    "provider": "ProviderContract",
    "tokenizer": "TokenizerContract",
    "embedder": "EmbedderContract",
}
"""Kind of plugin → the contract it must keep."""


@dataclass(frozen=True, slots=True)
class Order:
    """A plugin to judge.

    - `group` and `name` find its entry point; `kind` says which contract it must keep.
    - `confined`: it is called in a worker, else in the child itself.
    - `claims` are attributes of the contract class: what the plugin can do, and its settings.
    - `xfails` is rule → why the plugin cannot keep it yet.
    - `config` is the host's configuration, as `Config(**config)` takes it.
    """

    group: str
    name: str
    kind: str
    confined: bool
    claims: Mapping[str, object] = field(default_factory=dict)
    xfails: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> str:
        """Give the order as text."""
        return json.dumps(asdict(self))


def order_from(text: str) -> Order:
    """Read what `Order.to_json` wrote."""
    values = cast("dict[str, object]", json.loads(text))
    return Order(**values)  # type: ignore[arg-type]


def contract_of(kind: str) -> type[Contract]:
    """Give the contract that a kind of plugin must keep. It needs pytest and hypothesis."""
    return cast("type[Contract]", getattr(trimtab.conformance, CONTRACTS[kind]))
