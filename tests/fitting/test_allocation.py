import gc
from collections.abc import Iterator

import pytest

import trimtab
from factories import Interceptor
from talks import fit, talk
from trimtab.fitting.allocation import gc_paused
from trimtab_sdk import InvalidRequestError, Request, Services


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_is_paused_and_runs_again_also_after_an_error() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no"), gc_paused():
        raise ValueError("no")
    assert gc.isenabled()


def test_the_code_of_others_runs_with_the_collector_on() -> None:
    seen: list[bool] = []

    def look(request: Request, services: Services) -> None:
        seen.append(gc.isenabled())

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("tap", Interceptor(look))
    fit(talk(), 10_000, registry=registry)
    assert seen == [True]
    assert gc.isenabled()
    gc.disable()
    fit(talk(), 10_000, registry=registry)
    assert seen == [True, False]


def test_a_collector_that_the_app_switched_off_stays_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    fit(talk(), 10_000)
    assert not gc.isenabled()


def test_a_fit_leaves_the_collector_on_whatever_happens() -> None:
    fit(talk(), 10_000)
    assert gc.isenabled()
    with pytest.raises(InvalidRequestError):
        fit([{"id": "a", "role": "wizard"}], 10_000)
    assert gc.isenabled()
