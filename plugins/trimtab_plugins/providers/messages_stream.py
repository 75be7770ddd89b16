"""Reading of a Messages stream: events until one says that the message is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.providers.messages_blocks import OpenBlocks
from trimtab_plugins.providers.messages_faults import fault_within
from trimtab_plugins.providers.messages_usage import Figures
from trimtab_plugins.providers.stream_json import JsonObject, bad_response, object_at, read_event, text_at
from trimtab_sdk import (
    Answer,
    Finish,
    InvalidRequestError,
    ProviderEvent,
    ProviderFaultError,
    ServerEvent,
    clean_word,
)

_ERROR = "error"
_READERS: Mapping[str, Callable[[OpenBlocks, JsonObject], Iterable[ProviderEvent]]] = {
    "content_block_start": OpenBlocks.start,
    "content_block_delta": OpenBlocks.go_on,
    "content_block_stop": OpenBlocks.stop,
}
_FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
}
_UNLIKE_CALLS = frozenset({"length", "pause", "refusal"})
_CODEC = AnthropicMessages()
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_LONGEST_FACT = 200


class MessagesStreamReader:
    """Reads one answer. One that is `kept` in a thread is its cursor, as far as the thread can be gone on with.

    `thinks` tells that the model was made to think, so that a loop of tools has to begin with thinking.
    """

    def __init__(self, *, kept: bool = False, thinks: bool = False) -> None:
        self._kept = kept
        self._thinks = thinks
        self._blocks = OpenBlocks()
        self._figures = Figures()
        self._facts: dict[str, str] = {}
        self._transformations: object = None
        self._answered = False

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event means; kinds that are not known here mean nothing.

        Raises ProviderFaultError for an error, which comes with status 200 here, and for what cannot be read.
        """
        data = event.data.strip()
        if self._answered or not data:
            return []
        told = read_event(data)
        kind = _kind_of(event, told)
        if kind == _ERROR:
            raise ProviderFaultError(fault_within(told.get("error")))
        return list(self._read(kind, told))

    def end(self) -> Answer | None:
        """Give None: a message is whole when an event has said so, never before."""
        return None

    def _read(self, kind: str, told: JsonObject) -> Iterator[ProviderEvent]:
        reader = _READERS.get(kind)
        if reader is not None:
            yield from reader(self._blocks, told)
        elif kind == "message_start":
            self._begin(object_at(told, "message"))
        elif kind == "message_delta":
            self._go_on(told)
        elif kind == "message_stop":
            yield from self._finish()

    def _begin(self, message: JsonObject) -> None:
        usage = object_at(message, "usage")
        self._note(messageId=message.get("id"), model=message.get("model"), serviceTier=usage.get("service_tier"))
        self._figures.take(usage)
        self._transformations = message.get("input_transformations") or self._transformations

    def _go_on(self, told: JsonObject) -> None:
        delta = object_at(told, "delta")
        details = object_at(delta, "stop_details")
        self._note(
            stopReason=delta.get("stop_reason"),
            stopSequence=delta.get("stop_sequence"),
            refusalCategory=details.get("category"),
        )
        self._figures.take(object_at(told, "usage"))
        self._transformations = told.get("input_transformations") or self._transformations

    def _note(self, **facts: object) -> None:
        self._facts |= {name: text for name, fact in facts.items() if (text := _shown(fact))}

    def _finish(self) -> Iterator[ProviderEvent]:
        reason = _FINISHES.get(self._facts.get("stopReason", ""), "other")
        yield from self._blocks.close(cut=reason == "length")
        content = self._blocks.content(refused=reason == "refusal")
        items = (_checked({"role": "assistant", "content": content}),) if content else ()
        self._answered = True
        usage = self._figures.usage()
        if usage is not None:
            yield usage
        yield Answer(
            items=items,
            finish=self._why(reason),
            usage=usage,
            cursor=self._facts.get("messageId") if self._can_go_on(content, reason) else None,
            state=self._facts,
            remarks=tuple(_remarks(self._transformations)),
        )

    def _can_go_on(self, content: Sequence[object], reason: Finish) -> bool:
        """Tell whether a request may stand behind this answer as it is."""
        if not self._kept or not content or reason == "refusal" or _is_thought(content[-1]):
            return False
        return not (self._thinks and self._blocks.has_calls and not _is_thought(content[0]))

    def _why(self, reason: Finish) -> Finish:
        if reason in _UNLIKE_CALLS:
            return reason
        if not self._blocks.calls_complete:
            return "other"
        return "tool-calls" if self._blocks.has_calls else reason


def _kind_of(event: ServerEvent, told: JsonObject) -> str:
    kind = text_at(told, "type")
    if event.event == _ERROR or (not kind and told.get("error") is not None):
        return _ERROR
    if not kind and not event.event:
        raise bad_response()
    return kind or event.event


def _checked(item: JsonObject) -> JsonObject:
    """Give an item when it can be read once it is sent again; one that cannot would spoil the conversation."""
    try:
        _CODEC.decode([item])
    except InvalidRequestError as error:
        raise bad_response() from error
    return item


def _is_thought(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _THOUGHTS


def _remarks(changes: object) -> Iterator[str]:
    """Tell what the server did to the request; thinking that it only noticed is not told."""
    listed = changes if isinstance(changes, list) else ()
    dropped = Counter(
        clean_word(change.get("reason")) or "unknown"
        for change in listed
        if isinstance(change, dict) and change.get("type") == "thinking_dropped"
    )
    if dropped:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(dropped.items()))
        yield f"The provider left out thinking of earlier answers ({reasons})."


def _shown(value: object) -> str:
    """Give a fact as it may be stored and shown: printable, and not too long."""
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value[:_LONGEST_FACT] if letter.isprintable())
