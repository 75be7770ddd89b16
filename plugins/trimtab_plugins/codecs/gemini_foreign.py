"""Parts of messages from other formats that the Gemini wires have no place for.

Reasoning and compactions leave, for only their provider can read them. A picture or file that is held by another
provider's id becomes a text that says so. Arguments that are no JSON object become one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.gemini_ledger import Ledger
from trimtab_plugins.codecs.gemini_media import has_place
from trimtab_plugins.codecs.gemini_originals import Remembered, is_plain
from trimtab_plugins.codecs.gemini_values import SKIP_SIGNATURE, parse_object
from trimtab_plugins.codecs.message_kinds import has_result
from trimtab_plugins.codecs.misplaced import COMPACTION, kind_of, stand_in
from trimtab_plugins.codecs.reading import json_text
from trimtab_sdk import (
    Compaction,
    ContentPart,
    Message,
    Part,
    Place,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    pair_calls,
)

_REASONING = "left out the reasoning, which only the provider it came from can take back"
_HOSTED = "left out calls and results of another provider's own tools"
_NAME = "left out the name, for which the wire has no place"
_NO_TEXT = "left out what is no text in a system message"
_ORDER = "put what an answer says before its calls"
_ARGUMENTS = "wrapped arguments that are no JSON object in one, under the key arguments"


def clear_foreign(messages: Sequence[Message], read: Remembered, ledger: Ledger) -> tuple[Message, ...]:
    """Take what has no place out of the messages that `read` does not know; without any they stay the same."""
    foreign = [at for at, message in enumerate(messages) if not is_plain(message) and not read.knows(message)]
    if not foreign:
        return tuple(messages)
    out = list(messages)
    hosted = _hosted_places(messages, foreign)
    for at in foreign:
        out[at] = _cleared(at, messages[at], hosted, ledger)
    return tuple(out)


def _hosted_places(messages: Sequence[Message], foreign: Sequence[int]) -> frozenset[Place]:
    """The results in foreign assistant messages, and the calls they answer."""
    hosts = {at for at in foreign if messages[at].role == "assistant" and has_result(messages[at])}
    if not hosts:
        return frozenset()
    places = {
        (at, index)
        for at in hosts
        for index, part in enumerate(messages[at].parts)
        if isinstance(part, ToolResult)
    }
    foreign_calls = set(foreign)
    calls = {
        call
        for result, call in pair_calls(messages).call_of.items()
        if result in places and call[0] in foreign_calls
    }
    return frozenset(places | calls)


def _cleared(at: int, message: Message, hosted: Collection[Place], ledger: Ledger) -> Message:
    sentences: dict[str, None] = {}
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        if (at, index) in hosted:
            sentences.setdefault(_HOSTED)
            continue
        parts += _cleared_part(part, message.role, sentences)
    if message.name is not None:
        sentences.setdefault(_NAME)
    ordered = sorted(parts, key=_belongs_to_calls)
    if message.role == "assistant" and ordered != parts:
        sentences.setdefault(_ORDER)
        parts = ordered
    for sentence in sentences:
        ledger.note(sentence, message.id)
    return replace(message, parts=tuple(parts), name=None) if sentences else message


def _belongs_to_calls(part: Part) -> bool:
    return isinstance(part, ToolCall | Reasoning)


def _cleared_part(part: Part, role: str, sentences: dict[str, None]) -> Sequence[Part]:
    if isinstance(part, Reasoning) and part.opaque != SKIP_SIGNATURE:
        sentences.setdefault(_REASONING)
        return ()
    if isinstance(part, Compaction):
        sentences.setdefault(COMPACTION)
        return ()
    if role in ("system", "developer") and isinstance(part, ContentPart) and not isinstance(part, Text):
        sentences.setdefault(_NO_TEXT)
        return ()
    if isinstance(part, ToolCall):
        return (_cleared_call(part, sentences),)
    if isinstance(part, ToolResult):
        return (_cleared_result(part, sentences),)
    return (_in_place(part, sentences),) if isinstance(part, ContentPart) else (part,)


def _cleared_call(call: ToolCall, sentences: dict[str, None]) -> ToolCall:
    if parse_object(call.arguments) is not None:
        return call
    sentences.setdefault(_ARGUMENTS)
    wrapped = {"arguments": call.arguments} if call.arguments.strip() else {}
    return replace(call, arguments=json_text(wrapped))


def _cleared_result(result: ToolResult, sentences: dict[str, None]) -> ToolResult:
    if isinstance(result.content, str):
        return result
    content = tuple(_in_place(part, sentences) for part in result.content)
    return result if content == result.content else replace(result, content=content)


def _in_place(part: ContentPart, sentences: dict[str, None]) -> ContentPart:
    if has_place(part):
        return part
    sentences.setdefault(f"put a text in place of {kind_of(part)} that the wire cannot carry")
    return stand_in(part)
