"""How a paused turn goes on: with the results its caller has brought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trimtab.audit import parse_audit
from trimtab.store.protocol import StoredTurn
from trimtab.turns.answering import results_to_keep
from trimtab.turns.context import open_context
from trimtab.turns.continuing import LoopCursor, Standing
from trimtab.turns.holder import let_go, take_hold
from trimtab.turns.inputs import ResultInput, read_results
from trimtab.turns.messages import result_message
from trimtab.turns.settings import ChatSettings
from trimtab.turns.starting import open_recipe
from trimtab.turns.telling import read_notices
from trimtab.turns.work import TurnWork
from trimtab_sdk.errors import InvalidRequestError, StoreUnavailableError, TrimtabError, TurnStateError
from trimtab_sdk.messages import ToolResult
from trimtab_sdk.provider import ToolSpec

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


@dataclass(frozen=True, slots=True)
class LoopState:
    """What a paused turn keeps of its tool loop, in its own row. `pending` is call id → tool name."""

    step: int
    pending: Mapping[str, str]
    audit: dict[str, object] = field(repr=False)
    next_event: int = 1
    message_ids: tuple[str, ...] = ()
    loop: LoopCursor | None = None
    notices: tuple[str, ...] = ()


def read_loop_state(turn: StoredTurn) -> LoopState:
    """Read the loop state of a paused turn. Raises TurnStateError when it has none, or none that can be read."""
    state = turn.loop_state
    if turn.state != "paused" and state is None:
        raise TurnStateError(f"this turn is {turn.state}; only a paused one is resumed", turn_id=turn.id)
    try:
        return _loop_state_of(state)
    except (KeyError, TypeError, ValueError) as error:
        raise TurnStateError(
            "what was kept of this turn cannot be read; cancel it and start again", turn_id=turn.id
        ) from error


async def resume_turn(
    machinery: Machinery, turn_id: str, results: Mapping[str, ResultInput], *, owner: str
) -> TurnWork:
    """Take a paused turn up again with the results of all the calls it waits for.

    Raises NotFoundError, TurnStateError, and InvalidRequestError when a result is missing or wrong; then the turn
    waits on.
    """
    waiting = await machinery.store.get_turn(turn_id, owner=owner)
    _refuse_unless_paused(waiting)
    given = read_results(results, tuple(read_loop_state(waiting).pending))
    now = machinery.clock()
    try:
        turn = await machinery.store.resume_turn(
            turn_id,
            owner=owner,
            lease_holder=take_hold(turn_id),
            lease_until=now + machinery.lease_seconds,
            now=now,
        )
        return await _with_results(machinery, turn, given.values())
    except BaseException:
        let_go(turn_id)
        raise


async def _with_results(machinery: Machinery, turn: StoredTurn, results: Iterable[ToolResult]) -> TurnWork:
    work = await _taken_up(machinery, turn, read_loop_state(turn))
    if work.failure is None:
        work.arrived = await machinery.in_pool(results_to_keep, work, tuple(results))
    else:
        work.arrived = tuple(result_message(result) for result in results)
    return work


async def _taken_up(machinery: Machinery, turn: StoredTurn, loop: LoopState) -> TurnWork:
    chat = await machinery.store.get_chat(turn.chat_id, owner=turn.owner)
    held = await machinery.chats.hold(chat)
    settings = ChatSettings(**chat.settings)
    client = tools_of(turn)
    usage = parse_audit(loop.audit).usage
    work = TurnWork(
        chat=chat,
        turn=turn,
        settings=settings,
        held=held,
        context=None,
        revision=chat.revision,
        audit=loop.audit,
        client_tools=client,
        earlier_ids=loop.message_ids,
        usages=[usage] if usage is not None else [],
        standing=Standing(loop=loop.loop),
        notices=read_notices(held.messages, loop.notices),
        step=loop.step,
        first_event=loop.next_event,
    )
    work.told |= {notice.event.reason for notice in work.notices.values()}
    try:
        recipe = await open_recipe(machinery, chat.id, settings, client)
        work.context = await machinery.in_pool(open_context, recipe, chat, held.messages, running=turn.id)
    except StoreUnavailableError:
        raise
    except TrimtabError as error:
        work.failure = error
    return work


def tools_of(turn: StoredTurn) -> tuple[ToolSpec, ...]:
    """Give the tools that the caller of a turn runs itself."""
    told = turn.options.get("clientTools")
    if not isinstance(told, list):
        return ()
    return tuple(
        ToolSpec(str(one["name"]), str(one.get("description", "")), dict(one["parameters"]), one.get("strict"))
        for one in told
    )


def check_tools(tools: Sequence[ToolSpec], own: Sequence[str]) -> tuple[ToolSpec, ...]:
    """Give tools of a caller, or raise InvalidRequestError when a name is taken."""
    names = [tool.name for tool in tools]
    taken = next((name for at, name in enumerate(names) if name in own or name in names[:at]), None)
    if taken is not None:
        raise InvalidRequestError(f"there are two tools named {taken!r}; give each its own name", path="tools")
    return tuple(tools)


def _refuse_unless_paused(turn: StoredTurn) -> None:
    if turn.state != "paused":
        raise TurnStateError(
            f"this turn is {turn.state}; only a paused one is resumed", chat_id=turn.chat_id, turn_id=turn.id
        )


def _loop_state_of(state: object) -> LoopState:
    if not isinstance(state, Mapping):
        raise TypeError("a loop state is an object")
    pending = {str(call["callId"]): str(call["name"]) for call in state["pending"]}
    return LoopState(
        step=int(state["step"]),
        pending=pending,
        audit=dict(state["audit"]),
        next_event=int(state["nextEvent"]),
        message_ids=tuple(map(str, state["messageIds"])),
        loop=_loop_of(state.get("loop")),
        notices=tuple(map(str, state.get("notices", ()))),
    )


def _loop_of(value: object) -> LoopCursor | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError("a loop cursor is an object")
    return LoopCursor(str(value["cursor"]), str(value["historyHash"]))
