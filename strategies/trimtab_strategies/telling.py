"""What a message has to say for a summary: who speaks, and its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab_sdk import Message, Text, ToolCall, ToolResult, pair_calls, without_label
from trimtab_strategies.edges import end_of_beginning
from trimtab_strategies.sentences import LONGEST, split_sentences, visible

QUIET = 0.4
"""The factor of a tool call or result: what it led to is in the answer that follows."""
_CODE = re.compile(r"^[ \t]*```.*?^[ \t]*```[^\n]*$", re.MULTILINE | re.DOTALL)
_ASIDES = ("lorebook", "memory")
_LONGEST_NAME = 40
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence of the message at position `message`.

    Sayings with one `line` (a number within the message) stand on one line of the summary behind `speaker`.
    `earlier` marks what an earlier summary says already.
    """

    message: int
    line: int
    speaker: str
    text: str
    factor: float = 1.0
    earlier: bool = False


def sayings(messages: Sequence[Message]) -> Iterator[Saying]:
    """Give what the messages say, in order. What is made anew each turn and what plugins added says nothing."""
    names = _tool_names(messages)
    for position, message in enumerate(messages):
        if message.source == "summary":
            yield from _earlier(position, message)
        elif not message.ephemeral and message.source != "plugin":
            yield from _said(position, message, names)


def _earlier(position: int, message: Message) -> Iterator[Saying]:
    texts = (without_label(part.text) for part in message.parts if isinstance(part, Text))
    lines = (line for text in texts for line in text.splitlines())
    for number, line in enumerate(lines):
        shown = " ".join(visible(line).split())
        if not any(map(str.isalnum, shown)):
            continue
        for sentence in [shown] if len(shown) <= 2 * LONGEST else split_sentences(shown):
            yield Saying(position, number, "", sentence, earlier=True)


def _said(position: int, message: Message, names: Mapping[tuple[int, int], str]) -> Iterator[Saying]:
    for number, part in enumerate(message.parts):
        if isinstance(part, Text):
            for sentence in split_sentences(_CODE.sub("\n", part.text)):
                yield Saying(position, number, _speaker(message), sentence)
        elif isinstance(part, ToolCall):
            yield Saying(position, number, _speaker(message), f"called {_short_name(part.name)}", QUIET)
        elif isinstance(part, ToolResult):
            line = _first_line(part)
            if line:
                yield Saying(position, number, names.get((position, number), "tool"), line, QUIET)


def _speaker(message: Message) -> str:
    if message.source in _ASIDES:
        return message.source
    name = _short_name(message.name or "")
    return f"{message.role} {name}" if name else message.role


def _tool_names(messages: Sequence[Message]) -> dict[tuple[int, int], str]:
    """Give the place of each result → the name of the tool that was called."""
    names: dict[tuple[int, int], str] = {}
    for result, (position, index) in pair_calls(messages).call_of.items():
        call = messages[position].parts[index]
        if isinstance(call, ToolCall) and _short_name(call.name):
            names[result] = _short_name(call.name)
    return names


def _short_name(name: str) -> str:
    return " ".join(visible(name[: 2 * _LONGEST_NAME]).split())[:_LONGEST_NAME]


def _first_line(result: ToolResult) -> str:
    """Give the first line with words in it, cut to about 160 characters."""
    texts = [result.content] if isinstance(result.content, str) else _texts(result)
    for text in texts:
        for sentence in split_sentences(text[: 4 * LONGEST]):
            return f"failed: {_cut(sentence)}" if result.is_error else _cut(sentence)
    return ""


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    end = end_of_beginning(line, _LONGEST_LINE, least=_LONGEST_LINE // 2)
    return f"{line[:end].rstrip()}…"


def _texts(result: ToolResult) -> list[str]:
    return [part.text for part in result.content if isinstance(part, Text)]
