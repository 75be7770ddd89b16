"""The contracts of plugins that keep every rule, collected by the pytest of a child process."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.broken_plugins import HeaviestFirst, Redacts, Reminds, Sound
from trimtab.conformance import InterceptorContract, StrategyContract
from trimtab_strategies import manual, summarize, truncate, vector_recall


class TestTruncate(StrategyContract):
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return truncate


class TestTruncateThatShortens(StrategyContract):
    settings: Mapping[str, object] = {"shorten_messages": True, "tool_result_share": 0.2}
    shortens = True
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return truncate


class TestManual(StrategyContract):
    examples = 5

    @pytest.fixture
    def subject(self) -> object:
        return manual


class TestSummarize(StrategyContract):
    summarizes = True

    @pytest.fixture
    def subject(self) -> object:
        return summarize


class TestVectorRecall(StrategyContract):
    names_relevant = True
    needs_services = ("embed",)
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return vector_recall


class TestHeaviestFirst(StrategyContract):
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return HeaviestFirst()


class TestSound(StrategyContract):
    examples = 5

    @pytest.fixture
    def subject(self) -> object:
        return Sound()


class TestReminds(InterceptorContract):
    inserts = True
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return Reminds()


class TestRedacts(InterceptorContract):
    redacts = True
    examples = 10

    @pytest.fixture
    def subject(self) -> object:
        return Redacts()
