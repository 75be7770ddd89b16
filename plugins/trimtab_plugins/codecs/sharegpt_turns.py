"""The turns of a ShareGPT conversation.

A turn of calls holds them as JSON, an object with `name` and `arguments` or a list of such. Where as many turns of
results follow, calls and results become pairs; everything else stays the text it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trimtab_plugins.codecs.reading import MISSING, JsonObject, json_text, read_object, text_in, wrong
from trimtab_sdk import Message, Part, Role, Source, Text, ToolCall, ToolResult

_CALLS = "function_call"
_RESULTS = frozenset({"tool", "observation", "function_response"})
_SPEAKERS: Mapping[str, Role] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
}
_EXPECTED = "one of system, human, user, gpt, assistant, tool, function_call, observation"
_RESULT_LABEL = "[tool result]\n"


class Turns(NamedTuple):
    """The messages, and a sentence where results became texts."""

    messages: list[Message]
    notes: tuple[str, ...]


def read_turns(turns: Sequence[object], path: str) -> Turns:
    """Read all turns. Raises InvalidRequestError with the path of what is wrong.

    A result without a call it can be told to answer becomes a labelled text of the assistant: no wire takes it as
    a result, and nobody typed it.
    """
    spoken = [_read_turn(turn, f"{path}[{at}]") for at, turn in enumerate(turns)]
    messages: list[Message] = []
    loose, at = 0, 0
    while at < len(spoken):
        speaker, text = spoken[at]
        results = _results_behind(spoken, at) if speaker == _CALLS else 0
        calls = _read_calls(text, at) if results else []
        if calls and len(calls) == results:
            messages.append(_message(at, "assistant", calls))
            for number, call in enumerate(calls, start=at + 1):
                messages.append(_message(number, "tool", [ToolResult(call.call_id, spoken[number][1])]))
            at += results + 1
            continue
        loose += speaker in _RESULTS
        messages.append(_text_message(at, speaker, text))
        at += 1
    return Turns(
        messages, (f"{loose} results of tools became texts, since no call is told apart",) if loose else ()
    )


def _read_turn(value: object, path: str) -> tuple[str, str]:
    turn = read_object(value, path)
    speaker = turn.get("from", MISSING)
    if not isinstance(speaker, str) or (
        speaker not in _SPEAKERS and speaker not in _RESULTS and speaker != _CALLS
    ):
        raise wrong(f"{path}.from", _EXPECTED, speaker)
    return speaker, text_in(turn, "value", path)


def _results_behind(spoken: Sequence[tuple[str, str]], at: int) -> int:
    end = at + 1
    while end < len(spoken) and spoken[end][0] in _RESULTS:
        end += 1
    return end - at - 1


def _read_calls(text: str, at: int) -> list[ToolCall]:
    """Read the calls of a turn; none when it holds anything else."""
    try:
        value = json.loads(text)
        listed = value if isinstance(value, list) else [value]
        calls = [_read_call(call, f"call-{at}-{number}") for number, call in enumerate(listed)]
    except (ValueError, RecursionError):
        return []
    return [call for call in calls if call is not None] if all(calls) else []


def _read_call(value: object, call_id: str) -> ToolCall | None:
    """Read one call. Raises ValueError for half an emoji, which JSON in a text can name."""
    call: JsonObject = value if isinstance(value, dict) else {}
    name, arguments = call.get("name"), call.get("arguments", {})
    if not isinstance(name, str) or not name:
        return None
    words = arguments if isinstance(arguments, str) else json_text(arguments)
    (name + words).encode()
    return ToolCall(call_id, name, words)


def _text_message(at: int, speaker: str, text: str) -> Message:
    if speaker in _RESULTS:
        return _message(at, "assistant", [Text(_RESULT_LABEL + text)])
    return _message(at, _SPEAKERS.get(speaker, "assistant"), [Text(text)])


def _message(at: int, role: Role, parts: Sequence[Part]) -> Message:
    source: Source = "system" if role == "system" else "history"
    return Message(f"m{at}", role, tuple(parts), source=source)
