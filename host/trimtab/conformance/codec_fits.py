"""Whole fits with a codec: what a host makes of conversations in its format."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.api import fit
from trimtab.config import Config
from trimtab.conformance.codec_inputs import Wire
from trimtab.conformance.codec_rules import more_to_mend
from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.fitting.counting import APPROXIMATE, Counter
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab.report import Fit
from trimtab_sdk.codec import Codec, Decoded
from trimtab_sdk.errors import InvalidRequestError, TokenBudgetExceededError

MODEL = "kit"
_WINDOW = 1_000_000
_SHARES = (0.9, 0.5)
_STRATEGIES = ("truncate", "summarize")


def fitted(codec: Codec, wire: Wire) -> Iterator[Fit]:
    """Fit an input whole, then into shares of what it costs; give those that can be made."""
    registry = ContextStrategyRegistry()
    registry.register_codec(codec.name, codec, replace=True)
    whole = _fit(codec, wire, registry, "truncate", _WINDOW)
    if whole is None:
        return
    yield whole
    for strategy in _STRATEGIES:
        for share in _SHARES:
            result = _fit(codec, wire, registry, strategy, max(20, int(whole.tokens_before * share * 10 / 9)))
            if result is not None:
                yield result


def _fit(codec: Codec, wire: Wire, registry: ContextStrategyRegistry, strategy: str, limit: int) -> Fit | None:
    try:
        return fit(
            wire.fresh(),
            model=MODEL,
            context_limit=limit,
            reserve=0,
            format=codec.name,
            strategy=strategy,
            registry=registry,
            config=Config(models={MODEL: {"encoding": APPROXIMATE.tokenizer.profile, "context_limit": _WINDOW}}),
        )
    except (TokenBudgetExceededError, InvalidRequestError):
        return None


def fitted_faults(writer: Codec, result: Fit) -> Iterator[str]:
    """Tell what is wrong with what a fit sends: read again, repaired again, counted again."""
    data = result.messages if result.request is None else result.request
    got = outcome_of(writer.decode, data)
    if got.error is not None:
        yield f"what a fit sends cannot be read: {shown(got.error)}"
    elif isinstance(got.value, Decoded):
        read = got.value
        everyone = {message.id for message in read.messages}
        yield from more_to_mend(writer.adapt(read.messages, read.originals, protected=everyone), read.messages)
        counter = Counter(APPROXIMATE, writer.framing(APPROXIMATE.tokenizer.profile, MODEL))
        cost = result.overhead + sum(one.tokens for one in counter.messages(read.messages).values())
        if cost > result.tokens_after:
            yield f"what a fit sends costs {cost} tokens, and its report says {result.tokens_after}"
