"""The contract: every rule that a host relies on, a test each."""

import pytest
import trimtab_my_strategy

from trimtab.conformance import StrategyContract


class TestMyStrategy(StrategyContract):
    """What a host relies on, and what is claimed besides."""

    @pytest.fixture
    def subject(self) -> object:
        """Give what the entry point names."""
        return trimtab_my_strategy
