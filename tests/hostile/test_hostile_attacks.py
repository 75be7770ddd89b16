"""Every attack, made on a host app in a process of its own and judged from outside.

Confined, each must be held. Where their author is trusted, some are lost: a plugin in the host's own process is
trusted code. Those are expected to fail, so that one that is suddenly held shows as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from hostile.attack import Attack, Mode
from hostile.campaign import Campaign, every_case, expected


class LostError(AssertionError):
    """An attack broke a rule."""


def _case(attack: Attack, mode: Mode) -> object:
    name = f"{mode}-{attack.family}-{attack.name}"
    lost = pytest.mark.xfail(
        strict=True, raises=LostError, reason="a plugin in the host's process is trusted code"
    )
    return pytest.param((attack, mode), id=name, marks=[lost] if expected(attack, mode) == "lost" else [])


@pytest.fixture(scope="module")
def campaign(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """The attacks of the tests that were chosen, under way already."""
    chosen = [item for item in request.session.items if isinstance(item, pytest.Function)]
    cases = [
        cast("tuple[Attack, Mode]", item.callspec.params["case"])
        for item in chosen
        if item.function is test_attack
    ]
    made = Campaign(cases)
    yield made
    made.close()


@pytest.mark.parametrize("case", [_case(attack, mode) for attack, mode in every_case()])
def test_attack(campaign: Campaign, case: tuple[Attack, Mode]) -> None:
    outcome = campaign.outcome(*case)

    if outcome.faults:
        raise LostError("\n".join(outcome.faults))
    assert outcome.made, f"the attack never took place: {outcome.told}"
