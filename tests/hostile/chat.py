"""The conversation that is attacked, and what must be true of it whatever a plugin does."""

from __future__ import annotations

from typing import TypeAlias

Chat: TypeAlias = list[dict[str, object]]

TEXT_SECRET = "orchid-4471-in-the-first-conversation"
"""Stands in the first of two conversations; no other may ever hear of it."""
KEY_SECRET = "key-9d2f-of-the-harbour-safe"
"""Stands in a conversation from which it is to be taken out."""
PINS = (1,)
PROTECTED = (0, 1, 19)
GROUPS = ((11, 12, 13), (16, 17))
"""Places in the conversation of what leaves together."""
ROOM = 0.7
"""The share of the conversation that has room in the request."""

_TOPICS = (
    "the crane on the north quay was greased and tried with an empty hook before the first barge came in",
    "the clerk weighed forty crates of oranges and found two of them a stone too light for their mark",
    "the pilot asked for the tide tables of March and was given those of April by mistake, then both",
    "the warehouse roof leaks above bay nine, so the sacks of flour were carried over to bay four",
    "the customs form wants the gross weight in kilograms and never in pounds, whatever the captain says",
    "the night watch saw a light in the old cooperage and found a cat, a lantern and no fire at all",
    "the rope store is short of manila, the sail maker offers hemp at the same price for a week",
    "the ferry leaves at ten past the hour in summer and on the hour from the first of October",
)


def chat(secret: str = "") -> Chat:
    """A conversation of twenty messages: system, a pin, two groups of tool calls, history and a question."""
    history = [_said(at, topic) for at, topic in enumerate(_TOPICS, start=3)]
    return [
        {
            "role": "system",
            "content": "You are the clerk of the quay office. Answer briefly, and never make up a weight.",
        },
        {"role": "user", "content": "Remember for good: the ship Amaranth must not be unloaded on a Sunday."},
        {"role": "assistant", "content": f"I shall remember it. {secret}".strip()},
        *history,
        {"role": "assistant", "content": "", "tool_calls": [_call("a", "weigh"), _call("b", "tide")]},
        {"role": "tool", "tool_call_id": "a", "content": f"Scale three says {_TOPICS[1]}."},
        {"role": "tool", "tool_call_id": "b", "content": f"High water: {_TOPICS[2]}."},
        {"role": "assistant", "content": f"Both are known now; besides, {_TOPICS[3]}."},
        {"role": "user", "content": f"Then write down that {_TOPICS[5]}."},
        {"role": "assistant", "content": "", "tool_calls": [_call("c", "write")]},
        {"role": "tool", "tool_call_id": "c", "content": "Written on page ninety of the harbour book."},
        {"role": "assistant", "content": f"It is written. {_TOPICS[6].capitalize()}."},
        {"role": "user", "content": "When may the Amaranth be unloaded?"},
    ]


def with_key() -> Chat:
    """The same, with a key in the last answer."""
    given = chat()
    given[18] = {
        "role": "assistant",
        "content": f"It is written. The safe opens with {KEY_SECRET}, tell nobody at all.",
    }
    return given


def next_turn(number: int) -> Chat:
    """An answer and the next question."""
    return [
        {"role": "assistant", "content": f"On a Monday, berth {number}. {_TOPICS[number % 8].capitalize()}."},
        {"role": "user", "content": f"And what of berth {number + 1}?"},
    ]


def next_step(number: int) -> Chat:
    """A call and its result, inside a turn."""
    return [
        {"role": "assistant", "content": "", "tool_calls": [_call(f"s{number}", "look")]},
        {"role": "tool", "tool_call_id": f"s{number}", "content": f"Berth {number} is free."},
    ]


def _said(at: int, topic: str) -> dict[str, object]:
    more = _TOPICS[at * 3 % 8]
    return {
        "role": "user" if at % 2 else "assistant",
        "content": f"Note {at}: {topic}. Besides, {more}. Entered by hand {at}.",
    }


def _call(name: str, tool: str) -> dict[str, object]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": f'{{"entry": "{name}"}}'}}
