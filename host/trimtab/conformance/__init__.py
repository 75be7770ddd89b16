"""Contracts for authors of plugins: subclass one in a test module, give it your plugin, run pytest.

    import pytest
    from trimtab.conformance import StrategyContract
    import my_strategy

    class TestMyStrategy(StrategyContract):
        @pytest.fixture
        def subject(self):
            return my_strategy      # what the entry point names: the module or the instance

A contract is a set of rules, a test each, whose docstring says what to do when it fails. What a plugin can do
beyond the least is claimed by class attributes (`inserts = True`); a rule about something that is not claimed is
skipped with the words `not claimed`. A rule that your plugin cannot keep yet is marked, never deleted:

    @pytest.mark.xfail(reason="cuts inside of emoji", strict=True)
    def test_spans_keep_pieces_of_texts(self, asker):
        super().test_spans_keep_pieces_of_texts(asker)

The package needs the extra `conformance` (pytest and hypothesis). Names are loaded when they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.conformance.codec_contract import CodecContract
    from trimtab.conformance.embedder_contract import EmbedderContract
    from trimtab.conformance.interceptor import InterceptorContract
    from trimtab.conformance.provider_contract import ProviderContract
    from trimtab.conformance.strategy import StrategyContract
    from trimtab.conformance.tokenizer_contract import TokenizerContract

LEVEL = 1
"""The contracts' level: it rises, with a minor release, when a rule is added that a plugin must keep."""

_HOMES = {
    "CodecContract": "trimtab.conformance.codec_contract",
    "EmbedderContract": "trimtab.conformance.embedder_contract",
    "InterceptorContract": "trimtab.conformance.interceptor",
    "ProviderContract": "trimtab.conformance.provider_contract",
    "StrategyContract": "trimtab.conformance.strategy",
    "TokenizerContract": "trimtab.conformance.tokenizer_contract",
}

__all__ = [
    "LEVEL",
    "CodecContract",
    "EmbedderContract",
    "InterceptorContract",
    "ProviderContract",
    "StrategyContract",
    "TokenizerContract",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _make_asserts_readable() -> None:
    """Let pytest explain the asserts of the contracts too; it must know of a module before that is imported."""
    import pytest

    names = [f"{__name__}.{module.name}" for module in iter_modules(__path__)]
    pytest.register_assert_rewrite(*[name for name in names if name not in sys.modules])


if "pytest" in sys.modules:
    _make_asserts_readable()
