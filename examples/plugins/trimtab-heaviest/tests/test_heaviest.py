import pytest
import trimtab_heaviest

from trimtab.conformance import StrategyContract


class TestHeaviest(StrategyContract):
    @pytest.fixture
    def subject(self) -> object:
        return trimtab_heaviest
