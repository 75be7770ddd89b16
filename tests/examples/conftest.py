from __future__ import annotations

from pathlib import Path

import pytest

from examples.projects import EXAMPLES, project_wheel
from install.fresh_environment import FreshEnvironment, fresh_environment
from install.wheels import trimtab_wheel


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for wheels."""
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="session")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """A fresh environment with Trimtab and every example plugin, each from a wheel."""
    made = fresh_environment(tmp_path_factory.mktemp("environment"), trimtab_wheel(wheels))
    made.install(*(project_wheel(wheels, place) for place in sorted(EXAMPLES.iterdir())))
    return made
