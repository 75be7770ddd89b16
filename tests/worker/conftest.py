from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.loading.worker.pool import WorkerPool
from worker.open_house import IDENTITIES, House, Identity, open_house


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    with open_house(Path(__file__).parent / "confinement_probe.py") as made:
        yield made


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool()
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def fresh_pool() -> Iterator[WorkerPool]:
    made = WorkerPool()
    yield made
    made.close()


@pytest.fixture(params=IDENTITIES, ids=lambda one: one.name)
def identity(request: pytest.FixtureRequest) -> Identity:
    chosen = request.param
    assert isinstance(chosen, Identity)
    return chosen
