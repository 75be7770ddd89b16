"""How a turn begins: what it is asked, and everything up to the transaction that stores its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from trimtab.fitting.allocation import gc_paused
from trimtab.store.protocol import Audit, KeyTakenError, NewMessage, NewTurn, StoredChat, StoredMessage, StoredTurn
from trimtab.turns.context import ChatContext
from trimtab.turns.continuing import Standing, standing_of
from trimtab.turns.generation import Generation, Ready, ready_call
from trimtab.turns.held_chats import HeldChat
from trimtab.turns.holder import is_dead, let_go, take_hold
from trimtab.turns.messages import as_stored, closing_results
from trimtab.turns.recipe import Recipe, make_recipe, with_stale, without_keeping
from trimtab.turns.settings import ChatSettings
from trimtab.turns.telling import Notices, note_degradation
from trimtab.turns.work import Ask, TurnWork
from trimtab_sdk.errors import (
    ChatChangedError,
    StoreUnavailableError,
    TrimtabError,
    TurnInProgressError,
    TurnStateError,
)
from trimtab_sdk.provider import ToolSpec

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

_TRIES = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """A turn that could be begun on a chat as it was read: `new` is what it would store, `ready` its first call.

    `failure` is why there is no call. `dropped` are cut answers that a new one comes in the place of.
    """

    chat: StoredChat
    settings: ChatSettings
    held: HeldChat
    new: tuple[NewMessage, ...]
    context: ChatContext | None = None
    ready: Ready | None = None
    failure: TrimtabError | None = None
    dropped: tuple[str, ...] = ()
    standing: Standing = field(default_factory=Standing)
    notices: Notices = field(default_factory=dict)


async def begin_turn(machinery: Machinery, ask: Ask) -> TurnWork:
    """Fit the chat with the new input and store both, in one transaction.

    What is wrong with the settings, the provider or the budget becomes the turn's `failure`: the input is stored
    all the same. Raises NotFoundError, TurnInProgressError, TurnStateError, StoreUnavailableError, and
    ChatChangedError when the chat is changed by others all the time; then nothing is stored. Raises KeyTakenError
    when the chat has a turn of the same key.
    """
    turn_id, generation_id = uuid4().hex, uuid4().hex
    tries = 0
    while True:
        await _check_key(machinery, ask)
        try:
            draft = await draft_turn(machinery, ask, turn_id=turn_id, generation_id=generation_id)
        except TurnInProgressError:
            # It may be this very turn, begun between the two questions.
            await _check_key(machinery, ask)
            raise
        try:
            return await _store(machinery, ask, draft, turn_id=turn_id, generation_id=generation_id)
        except BaseException as error:
            let_go(turn_id)
            if not isinstance(error, ChatChangedError):
                raise
            tries += 1
            if tries == _TRIES:
                raise


async def _check_key(machinery: Machinery, ask: Ask) -> None:
    """Raise KeyTakenError when the chat has the turn that is asked for."""
    if not ask.key:
        return
    known = await machinery.store.turn_of_key(ask.chat_id, ask.key, owner=ask.owner)
    if known is not None:
        raise KeyTakenError(known.id)


def _fingerprint(ask: Ask) -> dict[str, object]:
    return {"fingerprint": ask.fingerprint} if ask.key else {}


async def open_recipe(
    machinery: Machinery, chat_id: str, settings: ChatSettings, client: Sequence[ToolSpec]
) -> Recipe:
    """Resolve the settings of a chat, with the host's tools and the caller's. Without an id there is no
    chat, and the provider is asked to keep nothing.
    """
    own = machinery.tools.specs if settings.tools is None else machinery.tools.chosen(settings.tools)
    tools = sorted((*own, *client), key=lambda tool: tool.name)
    recipe = await machinery.in_pool(
        make_recipe,
        settings,
        tools=tools,
        scope=chat_id or None,
        config=machinery.config,
        registry=machinery.registry,
        environ=machinery.environ,
        granted=machinery.credentials.keys(),
    )
    if not chat_id:
        return without_keeping(recipe)
    if machinery.unkept.get(chat_id) == recipe.target.name:
        recipe = without_keeping(recipe)
    return with_stale(recipe, machinery.stale_until(chat_id, recipe.target.name))


async def draft_turn(
    machinery: Machinery, ask: Ask, *, turn_id: str, generation_id: str, looking: bool = False
) -> Draft:
    """Fit a chat with the new input, and store nothing. `looking` also asks of a chat that is busy or at rest.

    Raises NotFoundError, TurnInProgressError, TurnStateError and StoreUnavailableError.
    """
    chat = await machinery.store.get_chat(ask.chat_id, owner=ask.owner)
    if not looking:
        await _refuse_if_busy(machinery, chat)
    settings = ChatSettings(**chat.settings)
    held = await machinery.chats.hold(chat)
    dropped = _cut_answers(held.messages, ask)
    stored = tuple(one for one in held.messages if one.message.id not in dropped)
    new = (*closing_results(stored), *(NewMessage(message=message) for message in ask.input))
    if not looking:
        _check_goes_on(ask, stored, new)
    left = HeldChat(held.revision, stored) if dropped else held
    generation = Generation(generation_id=generation_id, chat_id=chat.id, turn_id=turn_id, now=machinery.clock())
    standing = standing_of(chat, stored, now=generation.now)
    try:
        recipe = await open_recipe(machinery, chat.id, settings, ask.client_tools)
        context, ready = await machinery.in_pool(
            _first_call, left, recipe, chat, new, generation, standing, looking
        )
    except StoreUnavailableError:
        raise
    except TrimtabError as error:
        return Draft(chat, settings, held, new, failure=error, dropped=dropped)
    notice, notices = note_degradation(ready.course.decision, settings)
    return Draft(
        chat,
        settings,
        held,
        (*notice, *new),
        context,
        ready,
        dropped=dropped,
        standing=standing,
        notices=notices,
    )


def _first_call(
    held: HeldChat,
    recipe: Recipe,
    chat: StoredChat,
    new: Sequence[NewMessage],
    generation: Generation,
    standing: Standing,
    looking: bool,
) -> tuple[ChatContext, Ready]:
    with gc_paused():
        context = held.context_for(recipe, chat)
        context = context.without_traces() if looking else context
        if context.turns and not looking:
            context.last()
        context.extend(as_stored(new, turn_id=generation.turn_id), running=generation.turn_id)
        return context, ready_call(context, standing, generation)


async def _store(machinery: Machinery, ask: Ask, draft: Draft, *, turn_id: str, generation_id: str) -> TurnWork:
    now = machinery.clock()
    inputs = tuple(message.id for message in ask.input) or (ask.again.input_ids if ask.again is not None else ())
    begun = await machinery.store.begin_turn(
        NewTurn(
            id=turn_id,
            chat_id=draft.chat.id,
            owner=ask.owner,
            revision=draft.chat.revision,
            generation_id=generation_id,
            provider=draft.settings.provider,
            model=draft.settings.model,
            messages=draft.new,
            input_ids=inputs,
            audit=Audit(generation_id=generation_id, body=draft.ready.audit) if draft.ready is not None else None,
            lease_holder=take_hold(turn_id),
            lease_until=now + machinery.lease_seconds,
            now=now,
            options={"clientTools": [spec_to_dict(tool) for tool in ask.client_tools]} | _fingerprint(ask),
            deactivate=draft.dropped,
            key=ask.key,
        ),
        is_dead=is_dead,
    )
    stored = as_stored(draft.new, seqs=begun.seqs, turn_id=turn_id, revision=begun.chat.revision, now=now)
    return TurnWork(
        chat=begun.chat,
        turn=begun.turn,
        settings=draft.settings,
        held=draft.held,
        context=draft.context,
        revision=begun.chat.revision,
        ready=draft.ready,
        failure=draft.failure,
        audit=draft.ready.audit if draft.ready is not None else None,
        standing=draft.standing,
        notices=draft.notices,
        client_tools=ask.client_tools,
        messages=list(stored),
    )


async def _refuse_if_busy(machinery: Machinery, chat: StoredChat) -> None:
    """Raise TurnInProgressError before a fit is made for nothing; the store decides again."""
    if chat.turn_id is None:
        return
    turn = await machinery.store.get_turn(chat.turn_id, owner=chat.owner)
    if turn.state == "running" and (turn.lease_until <= machinery.clock() or is_dead(turn.lease_holder)):
        return
    if turn.state in ("running", "paused"):
        raise in_progress(turn)


def in_progress(turn: StoredTurn) -> TurnInProgressError:
    """Give the error for a chat that is busy with this turn."""
    what = "waits for tool results: resume it, or cancel it" if turn.state == "paused" else "still runs"
    return TurnInProgressError(f"this chat has a turn that {what}", chat_id=turn.chat_id, turn_id=turn.id)


def _cut_answers(stored: Sequence[StoredMessage], ask: Ask) -> tuple[str, ...]:
    """Give the cut answers of the turn that is tried again; the new answer comes in their place."""
    if ask.again is None:
        return ()
    return tuple(
        one.message.id
        for one in stored
        if one.turn_id == ask.again.id and one.status == "incomplete" and one.message.role == "assistant"
    )


def _check_goes_on(ask: Ask, stored: Sequence[StoredMessage], new: Sequence[NewMessage]) -> None:
    """Raise TurnStateError where the model has nothing to answer."""
    last = new[-1].message if new else stored[-1].message if stored else None
    if last is None or last.role == "assistant":
        raise TurnStateError("there is nothing to answer in this chat; give an input", chat_id=ask.chat_id)


def spec_to_dict(tool: ToolSpec) -> dict[str, object]:
    """Give a tool as JSON values, to be stored with its turn."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)} | (
        {} if tool.strict is None else {"strict": tool.strict}
    )
