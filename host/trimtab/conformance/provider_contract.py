"""The contract of a provider: a driver that asks a kind of server, and reads what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import get_args

from trimtab.config import Config
from trimtab.conformance.driver_base import Door, outcome_of, shown
from trimtab.conformance.provider_answering import AnsweringRules
from trimtab.conformance.provider_asking import AskingRules
from trimtab.conformance.provider_cursors import LOOP, CursorRules
from trimtab.conformance.provider_inputs import MODEL, TOOLS, recordings_of
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk.provider import (
    BindsReasoning,
    ContinuationMode,
    CountsTokens,
    Provider,
    ProviderCall,
    mode_of,
    retention_of,
)

_MODES: tuple[str, ...] = get_args(ContinuationMode)
_CONSTANTS = (
    *("name", "codec", "mode", "base_url", "key_variable", "credential", "retention"),
    *("offline", "settings_schema", "options_schema"),
)


class ProviderContract(AskingRules, CursorRules, AnsweringRules):
    """What a host relies on in a provider.

        class TestMyProvider(ProviderContract):
            streams = [{"events": ['{"choices": …}', "[DONE]"], "text": "Half past six."}]

            @pytest.fixture
            def subject(self):
                return MyProvider()

    What you may give, as class attributes:

    - `streams`: answers of your server as it sent them, each an object. `events` are the data of its events, or
      objects with `data` and `event`; `text` is the whole text of the answer; `calls` are its calls, pairs of
      name and arguments; `finish`, if given, is what the Answer must say. Record one for each thing your server
      does: text, reasoning, several calls, a refusal, usage.
    - `settings`, `options`: those of an endpoint and of a chat that all calls are made with.
    - `no_output_limit`: a claim, no by default: the server refuses a request that says how long an answer may be.
    - `own_codecs`: names of codecs of your own, and `own_codec` the codec itself, where yours is not installed.
    """

    def test_carries_on_in_a_known_way(self, provider: Provider) -> None:
        """Set `mode` to "responses", "interactions", "threads" or "stateless-loop".

        The mode decides what is stored between turns: a cursor of the provider's, or nothing at all. Where in
        doubt it is "stateless-loop", which sends the whole history each time. `retention` says for how many
        seconds the server keeps what a cursor stands for; without cursors it is None. Where settings decide, a
        driver says both in `mode_for` and `retention_for` too.
        """
        for settings in ({}, self.settings):
            mode, retention = mode_of(provider, settings), retention_of(provider, settings)
            if mode not in _MODES:
                self.judge([f"mode is {mode!r}; there are {', '.join(_MODES)}"])
            if mode == LOOP and retention is not None:
                self.judge([f"retention is {retention!r}, and the mode {LOOP!r} keeps nothing"])

    def test_speaks_a_codec_that_exists(self, provider: Provider) -> None:
        """Set `codec` to the name of an installed codec, as `trimtab plugins` lists them, or of your own.

        Requests are written by that codec; without it no request can be made. A codec of your own is an entry of
        the group `trimtab.codecs`: name it in `own_codecs` of the contract.
        """
        known = sorted({*DEFAULT_REGISTRY.codec_names(Config()), *self.own_codecs})
        if provider.codec not in known:
            self.judge([f"there is no codec {provider.codec!r}; known are {', '.join(known)}"])

    def test_says_the_same_each_time(self, provider: Provider, subject: object) -> None:
        """Make all attributes of the driver constants of the class.

        Its name, codec and mode are stored with a conversation and compared in the next turn: one that changes
        looks like another provider, and the conversation starts anew.
        """
        again = outcome_of(type(provider)) if isinstance(subject, type) else outcome_of(lambda: provider)
        self.judge(_differences(provider, again.value, again.error))

    def test_uses_no_network(self, provider: Provider, door: Door) -> None:
        """Open no socket: the host makes the calls, with its own time limits, credentials and retries.

        That holds for making the driver too: nothing is asked of a server before there is a request.
        """
        for name in self.parts:
            getattr(provider, name)
        for work in self.works(provider):
            outcome_of(work)
        self.judge(door.knocks)

    def works(self, provider: Provider) -> Iterator[Callable[[], object]]:
        """Give everything that the driver can be asked to do."""
        call = self.call()
        yield partial(provider.write_tools, TOOLS, self.settings)
        yield partial(provider.recall, [], model=MODEL, running=True, settings=self.settings)
        yield partial(provider.request, call)
        yield partial(provider.classify, 500, None)
        if isinstance(provider, CountsTokens):
            yield partial(provider.count_request, call)
            yield partial(provider.read_count, None)
        if isinstance(provider, BindsReasoning):
            yield partial(provider.bound_head, call)
            yield from (partial(provider.bound_blocks, one, self.settings) for one in call.prompt.messages)
        yield partial(_heard, provider.respond, call)
        for recording in recordings_of(self.streams):
            yield partial(self.read, provider, recording.events)


def _heard(respond: Callable[[ProviderCall], Iterable[object]], call: ProviderCall) -> list[object]:
    return list(respond(call))


def _differences(first: Provider, second: object, error: BaseException | None) -> Iterator[str]:
    if error is not None:
        yield f"it could be made once, but not again: {shown(error)}"
        return
    for name in _CONSTANTS:
        one, two = getattr(first, name), getattr(second, name)
        if one != two:
            yield f"{name} is {one!r:.80} first and {two!r:.80} then"
