from __future__ import annotations

from pathlib import Path

import pytest

from install.fresh_environment import FreshEnvironment, fresh_environment
from install.wheels import trimtab_wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the wheels of a module."""
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """A fresh environment with Trimtab, for a whole module: what a test installs, it uninstalls."""
    return fresh_environment(tmp_path_factory.mktemp("environment"), trimtab_wheel(wheels))
