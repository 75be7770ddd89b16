"""The contract of a provider: a driver that says which codec a provider speaks and how a talk is carried on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast, get_args

import pytest

from trimtab.config import Config
from trimtab.conformance.driver_base import Door, DriverContract, outcome_of, shown
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk.drivers import ContinuationMode, Provider

_MODES: tuple[str, ...] = get_args(ContinuationMode)


class ProviderContract(DriverContract):
    """What a host relies on in a provider.

        class TestMyProvider(ProviderContract):
            @pytest.fixture
            def subject(self):
                return MyProvider()

    Your own codec, when the provider speaks none that is installed, goes by its name into `own_codecs`.
    """

    parts: ClassVar[dict[str, str]] = {"name": "name", "codec": "name", "mode": "text"}

    own_codecs: tuple[str, ...] = ()

    @pytest.fixture
    def provider(self, made: object) -> Provider:
        """The subject, once it has all its parts."""
        self.whole(made)
        return cast("Provider", made)

    def test_carries_on_in_a_known_way(self, provider: Provider) -> None:
        """Set `mode` to "responses", "interactions" or "stateless-loop".

        The mode decides what is stored between turns: a cursor of the provider's, or nothing at all. Where in
        doubt it is "stateless-loop", which sends the whole history each time.
        """
        if provider.mode not in _MODES:
            self.judge([f"mode is {provider.mode!r}; there are {', '.join(_MODES)}"])

    def test_speaks_a_codec_that_exists(self, provider: Provider) -> None:
        """Set `codec` to the name of an installed codec, as `trimtab plugins` lists them, or of your own.

        Requests are written by that codec; without it no request can be made. A codec of your own is an entry of
        the group `trimtab.codecs`: name it in `own_codecs` of the contract.
        """
        known = sorted({*DEFAULT_REGISTRY.codec_names(Config()), *self.own_codecs})
        if provider.codec not in known:
            self.judge([f"there is no codec {provider.codec!r}; known are {', '.join(known)}"])

    def test_says_the_same_each_time(self, provider: Provider, subject: object) -> None:
        """Make `name`, `codec` and `mode` constants of the class.

        They are stored with a conversation and compared in the next turn. One that changes looks like another
        provider, and the conversation starts anew.
        """
        again = outcome_of(type(provider)) if isinstance(subject, type) else outcome_of(lambda: provider)
        self.judge(_differences(provider, again.value, again.error))

    def test_uses_no_network(self, provider: Provider, door: Door) -> None:
        """Open no socket: the host makes the calls, with its own time limits, credentials and retries.

        That holds for making the driver too: nothing is asked of a server before there is a request.
        """
        for name in self.parts:
            getattr(provider, name)
        self.judge(door.knocks)


def _differences(first: Provider, second: object, error: BaseException | None) -> Iterator[str]:
    if error is not None:
        yield f"it could be made once, but not again: {shown(error)}"
        return
    for name in ("name", "codec", "mode"):
        one, two = getattr(first, name), getattr(second, name)
        if one != two:
            yield f"{name} is {one!r} first and {two!r} then"
