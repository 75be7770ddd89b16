"""Streams of servers that keep conversations, for the contract of providers."""

from __future__ import annotations

from collections.abc import Mapping

from providers import interactions_events as interactions
from providers.responses_streams import (
    begun,
    call,
    completed,
    delta,
    done,
    event,
    message,
    reasoning,
    response,
    server_events,
    whole,
)

_CUT = message("Half past", status="incomplete")
_COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
_REFUSED = message(content=[{"type": "refusal", "refusal": "I will not."}])

RESPONSES_STREAMS: tuple[Mapping[str, object], ...] = (
    {
        "events": server_events(
            [
                *(delta("reasoning_summary_text", "When was it?"), done(reasoning("When was it?"))),
                *(delta("output_text", "Half ", 1), delta("output_text", "past six.", 1)),
                *(done(message("Half past six."), 1), completed(message("Half past six."))),
            ]
        ),
        "text": "Half past six.",
        "finish": "stop",
    },
    {
        "events": server_events(
            [
                *(done(reasoning()), done(message("I look."), 1)),
                *(begun(call("look", ""), 2), begun(call("find", "", at=2), 3)),
                delta("function_call_arguments", '{"at"', 2),
                *(done(call("look", '{"at": 6}'), 2), done(call("find", "{}", at=2), 3), completed()),
            ]
        ),
        "text": "I look.",
        "calls": [("look", '{"at": 6}'), ("find", "{}")],
    },
    {
        "events": server_events(
            [
                *(delta("output_text", "Half past"), done(_CUT)),
                event("incomplete", response=response(incomplete_details={"reason": "max_output_tokens"})),
            ]
        ),
        "text": "Half past",
        "finish": "length",
    },
    {"events": server_events(whole(_COMPACTION, _REFUSED)), "text": "I will not.", "finish": "refusal"},
)

INTERACTIONS_STREAMS: tuple[Mapping[str, object], ...] = (
    {
        "events": interactions.server_events(
            [
                interactions.created(),
                *interactions.thought("c2VhbGVk", "When was it?"),
                *interactions.said("Half ", "past six.", index=1),
                *(interactions.completed(), interactions.DONE),
            ]
        ),
        "text": "Half past six.",
        "finish": "stop",
    },
    {
        "events": interactions.server_events(
            [
                interactions.created(),
                *interactions.called(0, "call_a", "look", '{"at"', ": 6}"),
                *interactions.called(1, "call_b", "find", "{}"),
                *(interactions.completed("requires_action"), interactions.DONE),
            ]
        ),
        "calls": [("look", '{"at": 6}'), ("find", "{}")],
    },
)
