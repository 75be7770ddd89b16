"""What all rules for providers stand on: the driver, its codec, calls to ask it, and streams it must read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

import pytest

from trimtab.conformance.base import NOT_CLAIMED
from trimtab.conformance.codec_inputs import installed_codec
from trimtab.conformance.driver_base import DriverContract, outcome_of, shown
from trimtab.conformance.provider_inputs import OUTPUT_LIMIT, TOOLS, Recording, prompts_of, recordings_of
from trimtab_sdk.codec import Codec
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.provider import Provider, ProviderCall


class ProviderRules(DriverContract):
    """The base of the rules for providers."""

    abilities = ("no_output_limit",)
    parts: ClassVar[dict[str, str]] = {
        "name": "name",
        "codec": "name",
        "mode": "text",
        "base_url": "line",
        "key_variable": "line",
        "credential": "credential",
        "retention": "time",
        "offline": "flag",
        "settings_schema": "schema",
        "options_schema": "schema",
        "write_tools": "method",
        "recall": "method",
        "request": "method",
        "reader": "method",
        "classify": "method",
        "respond": "method",
    }

    no_output_limit: bool = False
    own_codecs: Sequence[str] = ()
    own_codec: object = None
    streams: Sequence[Mapping[str, object]] = ()
    settings: Mapping[str, object] = {}
    options: Mapping[str, object] = {}

    @pytest.fixture
    def provider(self, made: object) -> Provider:
        """The subject, once it has all its parts."""
        self.whole(made)
        return cast("Provider", made)

    @pytest.fixture
    def speech(self, provider: Provider) -> Codec:
        """The codec the provider speaks."""
        own = self.own_codec
        if own is not None:
            return cast("Codec", own() if isinstance(own, type) else own)
        got = outcome_of(installed_codec, provider.codec)
        if got.error is not None:
            self.not_judged(f"its codec cannot be had ({shown(got.error)}); give it as `own_codec`")
        return cast("Codec", got.value)

    @pytest.fixture
    def calls(self, provider: Provider, speech: Codec) -> list[tuple[str, ProviderCall]]:
        """Calls with conversations of every kind, without and with tools, each with its name."""
        got = outcome_of(provider.write_tools, TOOLS, self.settings)
        if not isinstance(got.value, list):
            self.not_judged("no tools can be written; mend test_writes_tools_in_order first")
        asked = [
            (name, replace(call, settings=dict(self.settings), options=dict(self.options)))
            for name, call in prompts_of(speech)
        ]
        return [one for name, call in asked for one in ((name, call), (f"{name}, tools", _more(call, got.value)))]

    @pytest.fixture
    def recordings(self, provider: Provider) -> list[Recording]:
        """The streams of the author."""
        if not self.streams and provider.offline:
            pytest.skip(f"{NOT_CLAIMED}: reading streams, as it needs no server")
        if not self.streams:
            self.not_judged("there is no stream to read; record some, and give them as `streams`")
        try:
            return recordings_of(self.streams)
        except InvalidRequestError as error:
            pytest.fail(error.message, pytrace=False)


def _more(call: ProviderCall, tools: Sequence[object]) -> ProviderCall:
    return replace(call, tools=tuple(tools), max_output_tokens=OUTPUT_LIMIT)
