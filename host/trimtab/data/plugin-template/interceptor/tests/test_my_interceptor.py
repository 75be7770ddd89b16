"""The contract: every rule that a host relies on, a test each."""

import pytest
import trimtab_my_interceptor

from trimtab.conformance import InterceptorContract


class TestMyInterceptor(InterceptorContract):
    """What a host relies on, and what is claimed besides."""

    shortens = True

    @pytest.fixture
    def subject(self) -> object:
        """Give what the entry point names."""
        return trimtab_my_interceptor
