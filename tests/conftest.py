from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from store.postgres import Cluster


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A real server, started when the first test asks for it."""
    from store.postgres import run_cluster

    with run_cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: Cluster) -> Iterator[str]:
    """An empty database of its own on a real server."""
    with postgres_cluster.database() as url:
        yield url
