"""An answer without a chat: messages in, events out, and nothing is stored, here or at the provider.

The same parts as a turn: the context that a turn is fitted in, its call, its transport, its next models. What a
turn writes to the store is held in memory here, and gone when the answer is over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from trimtab.fitting.allocation import gc_paused
from trimtab.fitting.carrying import Carried
from trimtab.fitting.held import HeldConversation
from trimtab.fitting.outside import clean_input
from trimtab.formats import find_codec
from trimtab.opening import count_key, replaced_note
from trimtab.report import Fit
from trimtab.store.protocol import JsonObject, NewMessage, StoredChat, StoredMessage, StoredTurn
from trimtab.turns.answering import call_provider, go_on_paused
from trimtab.turns.context import ChatContext, open_context
from trimtab.turns.continuing import Standing
from trimtab.turns.events import ContextReady, ModelFallback, TurnEvent
from trimtab.turns.generation import Generation, ready_call
from trimtab.turns.held_chats import HeldChat
from trimtab.turns.messages import as_stored, messages_of_answer
from trimtab.turns.reading import ReadChat, Reader
from trimtab.turns.recipe import Recipe
from trimtab.turns.remembered import links_of
from trimtab.turns.settings import ChatSettings
from trimtab.turns.starting import open_recipe
from trimtab.turns.telling import tell_context
from trimtab.turns.work import TurnWork
from trimtab.usage import sum_usage
from trimtab_sdk.codec import Codec
from trimtab_sdk.errors import HostStoppingError, InvalidRequestError, TurnInterruptedError
from trimtab_sdk.messages import Message
from trimtab_sdk.provider import Answer, ProviderEvent, ToolSpec

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

GenerationEvent: TypeAlias = ContextReady | ModelFallback | ProviderEvent
"""What a generation tells: its context, the answer piece by piece, in the end the whole Answer."""

_ROOM = 256
_LISTS = ("messages", "input", "contents")
_SAID = frozenset({*_LISTS, "system", "instructions", "system_instruction", "systemInstruction"})
"""The fields of request bodies that hold the conversation; all others are not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be answered: messages in any format, and how."""

    owner: str
    messages: object = field(repr=False)
    settings: ChatSettings
    format: str | None = None
    tools: tuple[ToolSpec, ...] = ()


class GenerationStream:
    """The events of one answer, once.

        async with host.generate(messages, owner="ann", provider="local", model="gpt-4o") as answering:
            async for event in answering: ...

    It begins with the first event that is asked for, and ends with an Answer. Whoever stops listening before that
    ends it, and its connection is closed at once. Raises what a fit raises, and ProviderError.
    """

    def __init__(self, machinery: Machinery, question: Question) -> None:
        self._machinery = machinery
        self._question = question
        self._events: asyncio.Queue[TurnEvent | None] = asyncio.Queue(_ROOM)
        self._failure: Exception | None = None
        self._work: TurnWork | None = None
        self._answer: Answer | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False

    @property
    def fit(self) -> Fit | None:
        """The report on the context of the call that was made last; None before there is one."""
        return self._work.the_ready.fit.fit if self._work is not None else None

    @property
    def settings(self) -> ChatSettings:
        """What is asked now: another provider and model than at first once a fallback has been taken."""
        return self._question.settings if self._work is None else self._work.settings

    async def aclose(self) -> None:
        """Stop listening, and wait until the connection is closed."""
        self.cancel()
        await self.ended()

    async def ended(self) -> None:
        """Wait until it has ended."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def __aiter__(self) -> AsyncIterator[GenerationEvent]:
        return self._listen()

    async def batches(self) -> AsyncGenerator[list[GenerationEvent], None]:
        """Give the events as they come, those that arrived together at once."""
        self._launch()
        try:
            goes_on = True
            while goes_on:
                taken = [await self._events.get()]
                while not self._events.empty():
                    taken.append(self._events.get_nowait())
                goes_on = taken[-1] is not None
                told: list[GenerationEvent] = [event for event in taken if isinstance(event, GenerationEvent)]
                if not goes_on and self._failure is None and self._answer is not None:
                    told.append(self._answer)
                if told:
                    yield told
            if self._failure is not None:
                raise self._failure
        finally:
            self.cancel()

    async def __aenter__(self) -> GenerationStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _listen(self) -> AsyncGenerator[GenerationEvent, None]:
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    def _launch(self) -> None:
        if self._task is not None:
            raise RuntimeError("an answer is listened to once")
        self._task = asyncio.create_task(self._run(), name="trimtab-generation")
        self._machinery.generations.add(self)
        self._task.add_done_callback(self._ended)

    def cancel(self) -> None:
        """End it. Who listens gets TurnInterruptedError, unless it has ended.

        Asking again does nothing: the connection that the first one made end, ends undisturbed.
        """
        if self._task is not None and not self._is_cancelled:
            self._is_cancelled = True
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._machinery.generations.discard(self)
        if not task.cancelled():
            return
        self._failure = TurnInterruptedError("the host was closed in the middle of the answer; ask again")
        if self._events.full():
            self._events.get_nowait()
        self._events.put_nowait(None)

    async def _run(self) -> None:
        try:
            self._work = work = await begin_generation(self._machinery, self._question)
            self._answer = await self._answered(work)
        except Exception as error:
            self._failure = error
        await self._events.put(None)

    async def _answered(self, work: TurnWork) -> Answer:
        recorder = _InMemory(self._events, work)
        items: list[object] = []
        while True:
            await tell_context(work, recorder, work.the_ready)
            answer = await call_provider(self._machinery, work, recorder)
            items += answer.items
            if answer.finish != "pause" or work.step >= work.settings.max_steps:
                return replace(answer, items=tuple(items), usage=sum_usage(work.usages))
            new = messages_of_answer(answer, work.the_context.recipe.reader)
            await recorder.keep(new)
            work.text, work.standing = "", Standing()
            await go_on_paused(self._machinery, work, recorder, answer, new)


class _InMemory:
    """Takes down what is told and stores nothing."""

    def __init__(self, events: asyncio.Queue[TurnEvent | None], work: TurnWork) -> None:
        self._events = events
        self._work = work

    async def tell(self, event: TurnEvent) -> None:
        await self._events.put(event)

    async def keep(self, new: Sequence[NewMessage], *, audit: JsonObject | None = None) -> None:
        self._work.messages += as_stored(new, turn_id=self._work.turn.id)


async def begin_generation(machinery: Machinery, question: Question, *, looking: bool = False) -> TurnWork:
    """Make the first call ready; with `looking`, leave nothing behind.

    Raises what a fit raises, and what there is to say of provider and settings.
    """
    if machinery.live.is_stopping:
        raise HostStoppingError("this host is about to stop and answers nothing new; ask another one, or later")
    recipe = await open_recipe(machinery, "", question.settings, question.tools)
    return await machinery.in_pool(_opened, machinery, question, recipe, now=machinery.clock(), looking=looking)


def _opened(machinery: Machinery, question: Question, recipe: Recipe, *, now: float, looking: bool) -> TurnWork:
    turn = _turn_of(question, now=now)
    chat = StoredChat(id="", owner=question.owner, settings={})
    with gc_paused():
        said = _clean(machinery, question)
        links = links_of(said.name(question.owner, recipe), said.items)
        context = _read(said, recipe, chat, turn.id, carried=machinery.edits.find(links))
        generation = Generation(generation_id=turn.id, chat_id="", turn_id=turn.id, now=now)
        ready = ready_call(context, Standing(), generation)
    if not ready.call.prompt.messages:
        raise InvalidRequestError(
            "nothing of these messages can be sent: they are empty, or results without a call", path="messages"
        )
    if links and not looking:
        machinery.edits.note(links[-1], context.held.carried)
    return TurnWork(
        chat=chat,
        turn=turn,
        settings=question.settings,
        held=HeldChat(0, ()),
        context=context,
        revision=0,
        ready=ready,
        audit=ready.audit,
        client_tools=question.tools,
    )


def _turn_of(question: Question, *, now: float) -> StoredTurn:
    name = uuid4().hex
    return StoredTurn(
        id=name,
        chat_id="",
        owner=question.owner,
        state="running",
        generation_id=name,
        input_ids=(),
        provider=question.settings.provider,
        model=question.settings.model,
        fence=0,
        lease_holder="",
        lease_until=now,
        started_at=now,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said, cleaned, and the codec that reads it."""

    data: object
    codec: Codec
    replaced: Sequence[str]

    @property
    def items(self) -> list[object]:
        """The messages as they came."""
        if isinstance(self.data, dict):
            return next((value for key in _LISTS if isinstance(value := self.data.get(key), list)), [])
        return self.data if isinstance(self.data, list) else []

    def name(self, owner: str, recipe: Recipe) -> str:
        """Name all that an edit hangs on besides the messages."""
        fields = self.data if isinstance(self.data, dict) else {}
        rest = {key: value for key, value in fields.items() if key not in _LISTS}
        return json.dumps([owner, recipe.key, self.codec.name, rest], sort_keys=True)


def _clean(machinery: Machinery, question: Question) -> _Said:
    cleaned = clean_input(_said(question.messages))
    codec = find_codec(
        cleaned.data,
        format=question.format,
        provider="",
        registry=machinery.registry,
        config=machinery.config,
    )
    return _Said(cleaned.data, codec, cleaned.replaced)


def _read(said: _Said, recipe: Recipe, chat: StoredChat, turn_id: str, *, carried: Carried) -> ChatContext:
    """Read the messages for the provider: as they are where they are in its format, else as somebody else's."""
    codec = said.codec
    recipe = replace(recipe, notes=(*recipe.notes, *replaced_note(said.replaced)))
    if codec.name == recipe.reader.codec.name:
        decoded = codec.decode(_recalled(said.data, recipe.reader))
        stored = _as_stored(decoded.messages)
        _check_asks(stored)
        held = HeldConversation(recipe.setup, decoded, notes=recipe.notes, carried=carried)
        known = {one.message.id: one for one in stored}
        return ChatContext(recipe, ReadChat(decoded, decoded.messages), held, known, count_key(recipe.setup))
    stored = _as_stored(codec.decode(said.data).messages)
    _check_asks(stored)
    return open_context(recipe, chat, stored, running=turn_id, carried=carried)


def _said(given: object) -> object:
    if isinstance(given, str | bytes) or given is None:
        raise InvalidRequestError("messages must be a list or a request body", path="messages")
    if isinstance(given, Mapping):
        return {key: value for key, value in given.items() if key in _SAID}
    return list(given) if isinstance(given, tuple) else given


def _recalled(data: object, reader: Reader) -> object:
    """Give messages of the provider's own format as its driver wants them back."""
    if isinstance(data, list):
        return _recalled_items(data, reader)
    if not isinstance(data, dict):
        return data
    return {
        key: _recalled_items(value, reader) if key in _LISTS and isinstance(value, list) else value
        for key, value in data.items()
    }


def _recalled_items(items: list[object], reader: Reader) -> list[object]:
    def recall(some: list[object], *, running: bool) -> list[object]:
        return reader.driver.recall(some, model=reader.model, running=running, settings=reader.settings)

    start = max((at for at, one in enumerate(items) if _is_of_user(one)), default=-1) + 1
    return [*recall(items[:start], running=False), *recall(items[start:], running=True)]


def _is_of_user(item: object) -> bool:
    return isinstance(item, dict) and item.get("role") == "user"


def _as_stored(messages: Sequence[Message]) -> tuple[StoredMessage, ...]:
    return tuple(StoredMessage(message=message, seq=at) for at, message in enumerate(messages, start=1))


def _check_asks(stored: Sequence[StoredMessage]) -> None:
    if not stored:
        raise InvalidRequestError("there is no message to answer", path="messages")
