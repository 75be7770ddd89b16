"""Rules for a provider whose server keeps conversations, and for one whose server must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from trimtab.conformance.base import NOT_CLAIMED
from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.conformance.provider_inputs import Recording, strings_in
from trimtab.conformance.provider_reading import StreamRules
from trimtab.conformance.provider_rules import request_faults
from trimtab_sdk.provider import CountsTokens, Provider, ProviderCall, ProviderFaultError, mode_of

LOOP, _THREADS = "stateless-loop", "threads"
CURSOR = "kept_4711-cursor"
_NO_COUNTS: tuple[object, ...] = (None, [], {}, 7, "7", {"tokens": None})


class CursorRules(StreamRules):
    """What a host relies on when a conversation is carried on by a cursor."""

    def test_a_cursor_is_carried_on(self, provider: Provider, calls: list[tuple[str, ProviderCall]]) -> None:
        """Put the cursor of a call into its request, beside the whole prompt, and none where there is none.

        With a cursor the prompt holds what the server has not got yet, and the system text. What a server does
        not carry on by itself, as instructions and tools, goes out with every request; a thread has those.
        """
        if mode_of(provider, self.settings) == LOOP:
            pytest.skip(f"{NOT_CLAIMED}: cursors, as its mode is {LOOP}")
        for name, call in calls:
            self.judge(f"{name}: {fault}" for fault in _cursor_faults(provider, call))

    def test_nothing_is_kept_unasked(self, provider: Provider, recordings: list[Recording]) -> None:
        """Give an Answer a cursor only where the call says `keep`, and never in the mode "stateless-loop".

        People switch keeping off by law. A cursor of an answer that was not kept is refused in the next turn.
        """
        for recording in recordings:
            for keep in (False, True):
                answer = self.read(provider, recording.events, keep=keep).answer
                allowed = keep and mode_of(provider, self.settings) != LOOP
                if answer is not None and answer.cursor is not None and not allowed:
                    self.judge([f"{recording.name}: keep is {keep}, and the cursor is {answer.cursor!r:.60}"])

    def test_keeping_is_said_in_the_request(
        self, provider: Provider, calls: list[tuple[str, ProviderCall]]
    ) -> None:
        """Write another request when the server may keep the conversation than when it may not.

        Servers keep by themselves what they are not told to forget.
        """
        if mode_of(provider, self.settings) == LOOP:
            pytest.skip(f"{NOT_CLAIMED}: keeping, as its mode is {LOOP}")
        for name, call in calls:
            kept, unkept = (provider.request(replace(call, keep=keep)) for keep in (True, False))
            if (kept.path, kept.body, kept.headers) == (unkept.path, unkept.body, unkept.headers):
                self.judge([f"{name}: the request is the same whether keep is True or False"])

    def test_counts_as_it_asks(self, provider: Provider, calls: list[tuple[str, ProviderCall]]) -> None:
        """Ask for a count with what is sent, a cursor included; raise ProviderFaultError for no count.

        That is for a provider with `count_request` and `read_count`. In the mode "threads" that is
        without a cursor.
        """
        if not isinstance(provider, CountsTokens):
            pytest.skip(f"{NOT_CLAIMED}: counting at the server (count_request)")
        for name, call in calls:
            self.judge(f"{name}: {fault}" for fault in _count_faults(provider, call))


def _cursor_faults(provider: Provider, call: ProviderCall) -> Iterator[str]:
    carried = replace(call, cursor=CURSOR, keep=True)
    is_thread = mode_of(provider, call.settings) == _THREADS
    yield from _missing(outcome_of(provider.request, carried).value, carried, is_thread=is_thread)
    begun = provider.request(replace(call, keep=True))
    if CURSOR in [begun.path, *strings_in(begun.body)]:
        yield "a request without a cursor holds the one of another"


def _missing(request: object, call: ProviderCall, *, is_thread: bool = False) -> Iterator[str]:
    path, body = getattr(request, "path", ""), getattr(request, "body", None)
    whole = "\n".join([str(path), *strings_in(body)])
    sent: object = call.prompt.messages if call.prompt.request is None else call.prompt.request
    tools: object = call.tools
    carried = (call.cursor,) if call.cursor is not None else ()
    if carried and is_thread:
        sent, tools = sent.get("messages") if isinstance(sent, Mapping) else sent, ()
    for text in (*carried, call.model, *strings_in(sent), *strings_in(tools)):
        if text not in whole:
            yield f"{text!r:.60} is not in the request{' with a cursor' if carried else ''}"


def _count_faults(provider: Provider, call: ProviderCall) -> Iterator[str]:
    assert isinstance(provider, CountsTokens)
    alone = mode_of(provider, call.settings) in (LOOP, _THREADS)
    carried = call if alone else replace(call, cursor=CURSOR, keep=True)
    got = outcome_of(provider.count_request, carried)
    if got.error is not None:
        yield f"count_request raised {shown(got.error)}"
        return
    yield from request_faults(got.value, provider.credential.header)
    yield from _missing(got.value, carried)
    for body in _NO_COUNTS:
        read = outcome_of(provider.read_count, body)
        if not isinstance(read.error, ProviderFaultError):
            yield f"read_count takes {body!r} for a count, or raises another error"
