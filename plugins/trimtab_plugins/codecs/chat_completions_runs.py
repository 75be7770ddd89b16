"""Answers that another wire split into several messages.

Where every text and every call is an item of its own, one answer becomes a run of assistant messages. Here calls
made at the same time stand in one message, with the text before them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.message_kinds import has_call
from trimtab_sdk import Message


def call_runs(messages: Sequence[Message], known: Collection[str]) -> Iterator[tuple[int, int]]:
    """Give the first and the last position of each run of answers with calls, at least one message long.

    Messages whose ids are `known` were read by this codec and are in no run. A run begins with the text before
    the first call and ends with the last call.
    """
    at = 0
    while at < len(messages):
        begin = at
        while at < len(messages) and messages[at].role == "assistant" and messages[at].id not in known:
            at += 1
        callers = [place for place in range(begin, at) if has_call(messages[place])]
        if callers:
            yield max(begin, callers[0] - 1), callers[-1]
        at = max(at, begin + 1)


def with_runs_joined(messages: Sequence[Message], known: Collection[str]) -> tuple[Message, ...]:
    """Give the messages with each run of answers as one message, which has the id of the first."""
    out: list[Message] = []
    done = 0
    for first, last in call_runs(messages, known):
        out.extend(messages[done:first])
        run = messages[first : last + 1]
        parts = tuple(part for message in run for part in message.parts)
        out.append(run[0] if len(run) == 1 else replace(run[0], parts=parts))
        done = last + 1
    return (*out, *messages[done:])
