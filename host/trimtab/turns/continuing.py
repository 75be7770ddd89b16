"""How the calls of a turn carry on with a provider that keeps the conversation: what it holds, and what is sent.

The chain that is hashed is of the messages as they are stored, wherever the fit sends them as they are: how a
driver wants its own items back may differ from turn to turn, what they say does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from trimtab.continuation import (
    EMPTY_CHAIN,
    THREADS,
    Continuation,
    ContinueWithCursor,
    DegradeToReplay,
    HistoryChain,
    Prompt,
    StartReplay,
    TurnFacts,
    after_cursor_error,
    chain_history,
    decide_continuation,
    is_durable,
    log_lines,
    parse_envelope,
    results_in_flight,
    split_prompt,
    system_prompt_hash,
    toolset_hash,
)
from trimtab.continuation.notices import ABORT_SENTENCES
from trimtab.fitting.held import HeldFit
from trimtab.store.protocol import StoredChat, StoredMessage
from trimtab.turns.context import ChatContext
from trimtab.turns.machinery import LOG
from trimtab.turns.recipe import Recipe
from trimtab_sdk.errors import CursorLostError
from trimtab_sdk.messages import Message, Part, Reasoning, ToolCall
from trimtab_sdk.provider import Answer, CursorFault

_SYSTEM_ROLES = frozenset({"system", "developer"})
_OF_THIS_TURN = frozenset({"current-input", "open-step"})


@dataclass(frozen=True, slots=True)
class LoopCursor:
    """The cursor of a step inside a running turn, and the hash of the history it stands for."""

    cursor: str = field(repr=False)
    history_hash: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of how a turn carries on, before a call.

    - `state`: the chat's `lastProviderState` as stored. `edited`: whether somebody changed the chat since.
    - `age`: seconds since the stored cursor was made.
    - `loop`: the cursor of the step before; None at the first call, and where nothing is kept.
    - `is_fallback`: another model was asked in this turn before.
    - `refused`: what the provider said of a cursor that was used before in this turn; the call is a replay then.
    """

    state: object = field(default=None, repr=False)
    edited: bool = True
    age: float | None = None
    loop: LoopCursor | None = None
    refused: CursorFault | None = None
    is_fallback: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """How a call carries on: the decision, the facts behind it, and the prompt it tells apart."""

    decision: Continuation
    facts: TurnFacts
    prompt: Prompt


def keeps(recipe: Recipe) -> bool:
    """Tell whether the provider may keep the conversation, so that a cursor can stand for it."""
    return is_durable(recipe.target.mode)


def standing_of(chat: StoredChat, stored: Sequence[StoredMessage], *, now: float) -> Standing:
    """Tell how a new turn stands. The cursor that is stored was made with the last answer in `stored`."""
    last = _last_answer(stored)
    if chat.last_provider_state is None or last is None:
        return Standing(chat.last_provider_state)
    return Standing(
        chat.last_provider_state,
        edited=chat.history_revision > last.changed,
        age=max(0.0, now - last.created_at) if last.created_at else None,
    )


def _last_answer(stored: Sequence[StoredMessage]) -> StoredMessage | None:
    """Give the message that ended the last completed turn; one that failed or was cancelled ends otherwise."""
    later: str | None = ""
    for one in reversed(stored):
        ends_turn, later = one.turn_id != later, one.turn_id
        is_cut = one.status == "incomplete" and one.provider_state is None
        calls = any(isinstance(part, ToolCall) for part in one.message.parts)
        if ends_turn and one.message.role == "assistant" and not calls and not is_cut:
            return one
    return None


def plot(context: ChatContext, fit: HeldFit, standing: Standing) -> Course:
    """Decide how a call carries on. Hashes are made only where a cursor could be used or stored."""
    recipe = context.recipe
    if not keeps(recipe) and parse_envelope(standing.state) is None:
        facts = _facts(recipe, fit, Prompt(), EMPTY_CHAIN, standing)
        return Course(_decide(facts, replace(standing, loop=None)), facts, Prompt())
    prompt = split_prompt(fit.messages, system_anywhere=recipe.reader.codec.system_anywhere)
    history = chain_history(_as_stored(context, _with_stripped(context, fit, prompt.history)), known=context.chain)
    context.chain = history
    facts = _facts(recipe, fit, prompt, history, standing)
    return Course(_decide(facts, standing), facts, prompt)


def _decide(facts: TurnFacts, standing: Standing) -> Continuation:
    if standing.refused is not None:
        return DegradeToReplay(standing.refused)
    if standing.loop is None:
        return decide_continuation(standing.state, facts)
    held = facts.history.length_of(standing.loop.history_hash)
    if held is None or facts.ephemeral_inside:
        return DegradeToReplay("context_shifted")
    delta = facts.history.messages[held:]
    # A thread goes on with an answer that paused when nothing is added to it.
    goes_on = bool(delta) or facts.mode == THREADS
    return ContinueWithCursor(standing.loop.cursor, held, delta) if goes_on else StartReplay("nothing_new")


def _facts(recipe: Recipe, fit: HeldFit, prompt: Prompt, history: HistoryChain, standing: Standing) -> TurnFacts:
    target = recipe.target
    # A thread keeps its instructions, so text that is to pass must not be among them.
    inside = (*prompt.inside, *prompt.scoped) if target.mode == THREADS else prompt.inside
    return TurnFacts(
        provider=target.name,
        mode=target.mode,
        model_name=recipe.settings.model,
        system_prompt_hash=system_prompt_hash(prompt.system),
        toolset_hash=toolset_hash(recipe.tools),
        history=history,
        edited=standing.edited,
        is_fallback=standing.is_fallback,
        protected=frozenset(name for name, reason in fit.protected.items() if reason not in _OF_THIS_TURN),
        ephemeral_inside=tuple(message.id for message in inside),
        cursor_age=standing.age,
        retention=target.retention,
    )


def _with_stripped(context: ChatContext, fit: HeldFit, history: Sequence[Message]) -> Sequence[Message]:
    """Put back reasoning that the wire would not take in a replay: a provider that keeps the chat has it too."""
    conversation = context.decoded.messages
    stripped = {one.id for one in conversation if fit.left.get(one.id) == "wire-rule" and _is_reasoning(one)}
    if not stripped:
        return history
    sent = {message.id for message in history}
    waiting: list[Message] = []
    before: dict[str, list[Message]] = {}
    for message in conversation:
        if message.id in stripped:
            waiting.append(message)
        elif message.id in sent:
            before[message.id], waiting = waiting, []
    return [*(one for message in history for one in (*before.get(message.id, ()), message)), *waiting]


def _is_reasoning(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, Reasoning) for part in message.parts)


def _as_stored(context: ChatContext, sent: Sequence[Message]) -> list[Message]:
    """Give the stored form of each message that is sent as it was read; the others as they are sent.

    Reasoning that the wire wants beside a call, or not any more, makes no other message.
    """
    stored = context.stored
    read = {message.id: message.parts for message in context.decoded.messages if message.id in stored}
    return [
        stored[message.id].message if _says_the_same(message.parts, read.get(message.id)) else message
        for message in sent
    ]


def _says_the_same(sent: tuple[Part, ...], read: tuple[Part, ...] | None) -> bool:
    if read is None or sent is read or sent == read:
        return read is not None
    return _without_reasoning(sent) == _without_reasoning(read)


def _without_reasoning(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if not isinstance(part, Reasoning)]


def messages_to_send(course: Course, fit: HeldFit) -> tuple[Message, ...]:
    """Give what a call sends: everything, or with a cursor what the provider does not hold.

    Where the provider may keep the conversation, text that is made anew each turn stands with the system text,
    which is not kept; a thread keeps that too, so there it stands where it stood.
    """
    prompt, decision = course.prompt, course.decision
    scoped = _as_instructions(prompt.scoped)
    if isinstance(decision, ContinueWithCursor):
        wanted = {message.id for message in decision.delta}
        return (*prompt.system, *scoped, *(message for message in prompt.history if message.id in wanted))
    if not scoped or not is_durable(course.facts.mode) or course.facts.mode == THREADS:
        return fit.messages
    passing = {message.id for message in scoped}
    rest = [message for message in fit.messages if message.id not in passing]
    behind = next((at for at, message in enumerate(rest) if message.role not in _SYSTEM_ROLES), len(rest))
    return (*rest[:behind], *scoped, *rest[behind:])


def messages_as_sent(course: Course, fit: HeldFit) -> tuple[Message, ...]:
    """Give all messages of a call as they travel, in order, those that the provider holds included."""
    prompt = course.prompt
    if not isinstance(course.decision, ContinueWithCursor):
        return messages_to_send(course, fit)
    if not prompt.scoped:
        return fit.messages
    return (*prompt.system, *_as_instructions(prompt.scoped), *prompt.history)


def _as_instructions(scoped: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, source="system") for message in scoped)


def loop_cursor(course: Course, answer: Answer, messages: Sequence[Message]) -> LoopCursor | None:
    """Give the cursor for the next call of the turn, when the provider keeps this answer."""
    facts = course.facts
    if answer.cursor is None or not is_durable(facts.mode) or (facts.mode == THREADS and facts.ephemeral_inside):
        return None
    return LoopCursor(answer.cursor, history_after(course, messages).hash)


def history_after(course: Course, messages: Sequence[Message]) -> HistoryChain:
    """Give the chain of what the provider holds once it gave an answer of these stored messages."""
    before = course.facts.history
    return chain_history([*before.messages, *messages], known=before)


def after_refused_cursor(
    course: Course, fault: CursorFault, *, replayed: bool, chat_id: str, turn_id: str
) -> DegradeToReplay:
    """Decide what follows a cursor that the provider refused. Raises CursorLostError when the turn has to end."""
    decision = course.decision
    delta = decision.delta if isinstance(decision, ContinueWithCursor) else ()
    # The server of a thread promises nothing: what a replay holds, calls with their results, is as good there.
    in_flight = results_in_flight(delta) and course.facts.mode != THREADS
    answer = after_cursor_error(fault, in_flight=in_flight, replayed=replayed)
    if isinstance(answer, DegradeToReplay):
        return answer
    for line in log_lines(answer):
        LOG.warning("%s", line)
    raise CursorLostError(ABORT_SENTENCES[answer.code], code=answer.code.upper(), chat_id=chat_id, turn_id=turn_id)
