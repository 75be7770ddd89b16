"""The steps of one answer of the Interactions API, put together from their events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.codecs.gemini_interactions_reading import read_steps
from trimtab_plugins.providers.interactions_kinds import OpenCall, OpenOutput, OpenStep, OpenThought
from trimtab_plugins.providers.stream_json import JsonObject, bad_response, text_at
from trimtab_sdk import InvalidRequestError, ProviderEvent, clean_word

_KINDS: Mapping[str, type[OpenStep]] = {
    "model_output": OpenOutput,
    "thought": OpenThought,
    "function_call": OpenCall,
}
# An answer that goes on after a pause may go on in the middle of a step.
_IMPLIED = {"text": "model_output", "thought_summary": "thought", "thought_signature": "thought"}
# What the host said itself; a server that repeats it adds nothing.
_OURS = frozenset({"user_input", "function_result"})
_NOTHING: JsonObject = {"type": "model_output", "content": []}


class OpenSteps:
    """The steps of one answer as far as they have come."""

    def __init__(self) -> None:
        self._steps: dict[int, OpenStep] = {}
        self._ours: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def calls(self) -> bool:
        """Whether a function is called."""
        return any(isinstance(step, OpenCall) and step.item() is not None for step in self._steps.values())

    @property
    def error(self) -> object:
        """What a step tells of an error, None when none does."""
        errors = (step.error for step in self._steps.values())
        return next((error for error in errors if error is not None), None)

    def start(self, index: int, raw: JsonObject) -> Iterator[ProviderEvent]:
        """Begin a step; `raw` is as much of it as the server tells at once."""
        kind = text_at(raw, "type")
        if not kind or index in self._steps or index in self._ours:
            raise bad_response()
        if kind in _OURS:
            self._ours.add(index)
            return
        self._steps[index] = _KINDS.get(kind, OpenStep)(raw)
        yield from self._steps[index].begin()

    def take(self, index: int, delta: JsonObject) -> Iterator[ProviderEvent]:
        """Let a step go on."""
        if index in self._ours:
            return
        if index not in self._steps:
            yield from self.start(index, {"type": _IMPLIED.get(text_at(delta, "type"), "")})
        yield from self._steps[index].take(delta)

    def stop(self, index: int) -> Iterator[ProviderEvent]:
        """End a step."""
        if index in self._steps:
            yield from self._steps[index].close()

    def take_whole(self, raw: Sequence[object]) -> Iterator[ProviderEvent]:
        """Take steps that came at once, without events of their own."""
        for index, step in enumerate(raw):
            if not isinstance(step, dict):
                raise bad_response()
            yield from self.start(index, step)
            yield from self.stop(index)

    def finish(self, *, cut: bool) -> Iterator[ProviderEvent]:
        """End all steps. `cut` says that the answer did not end by itself: a call may then be half a one."""
        for step in self._steps.values():
            yield from step.close()
            if step.is_broken and not cut:
                raise bad_response()
        _refuse_unreadable(self._items())

    def items(self) -> tuple[object, ...]:
        """Give the steps in their order. Those that hold nothing are left out, unless there is no other."""
        return tuple(self._items() or [_NOTHING])

    def remarks(self) -> tuple[str, ...]:
        """Tell what of the answer could not be kept."""
        kinds = {kind for step in self._steps.values() for kind in step.left_out}
        if not kinds:
            return ()
        named = ", ".join(sorted({clean_word(kind) or "unnamed" for kind in kinds}))
        return (f"left out parts of the answer that this version does not know ({named})",)

    def _items(self) -> list[object]:
        items = (self._steps[index].item() for index in sorted(self._steps))
        return [item for item in items if item is not None]


def _refuse_unreadable(items: Sequence[object]) -> None:
    try:
        read_steps(items)
    except InvalidRequestError as error:
        raise bad_response() from error
