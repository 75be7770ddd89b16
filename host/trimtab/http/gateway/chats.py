"""Chat Completions in a stored chat: `x-trimtab-chat` names it, and the body adds to it.

The chat is what the store has. Of `messages` only what is new counts: everything behind the last message of the
assistant, either what the user says or the results of the calls that the chat waits for. What stands before must
not contradict the chat, and settings of the chat are changed elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trimtab.http.gateway.account import Account
from trimtab.http.gateway.asking import FORMAT, check_stream, checked_format, output_limit, said
from trimtab.http.gateway.dialect import TurnToldError
from trimtab.http.gateway.options import SERVING, options_for
from trimtab.http.gateway.refusing import refuse_uncarried
from trimtab.http.gateway.targets import driver_of
from trimtab.http.models.gateway import ChatCompletionBody
from trimtab.turns.events import (
    ContextReady,
    ModelFallback,
    TurnCancelled,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from trimtab.turns.inputs import read_messages
from trimtab.turns.resuming import read_loop_state, tools_of
from trimtab.turns.settings import ChatSettings
from trimtab.turns.tool_shapes import read_tools
from trimtab.usage import sum_usage
from trimtab_sdk.errors import ChatChangedError, InvalidRequestError, TurnStateError
from trimtab_sdk.messages import Message, ToolCall, ToolResult, plain_text
from trimtab_sdk.provider import Answer, ToolCallCompleted, ToolCallDelta, ToolCallStarted, Usage

if TYPE_CHECKING:
    from trimtab.audit import PromptContextAudit
    from trimtab.config_server import Gateway
    from trimtab.host import Host
    from trimtab.store.protocol import StoredChat, StoredMessage, StoredTurn
    from trimtab.turns.stream import TurnStream
    from trimtab_sdk.provider import ToolSpec

_SYSTEM = ("system", "developer")
_ENDED_BADLY = ("failed", "cancelled")


@dataclass(frozen=True, slots=True)
class _Told:
    """The messages of a body: those before the new ones, and the `new` ones, read and as they came (`items`)."""

    before: tuple[Message, ...]
    new: tuple[Message, ...]
    items: tuple[Mapping[str, Any], ...]


class Continued:
    """A turn of a chat, as a source of the gateway. Only calls of tools that the client gave are told."""

    def __init__(
        self,
        host: Host,
        stream: TurnStream,
        settings: ChatSettings,
        *,
        chat_id: str,
        owner: str,
        tools: Sequence[ToolSpec],
        left_out: tuple[str, ...],
    ) -> None:
        self._host = host
        self._stream = stream
        self._settings = settings
        self._chat_id = chat_id
        self._owner = owner
        self._tools = frozenset(tool.name for tool in tools)
        self._left_out = left_out
        self._model = settings.model
        self._usages: list[Usage] = []
        self._calls: set[str] = set()
        self._account: Account | None = None
        self._has_news = False

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._model

    @property
    def headers(self) -> Mapping[str, str]:
        """The chat and its turn."""
        turn = {"x-trimtab-turn": self._stream.turn_id} if self._stream.turn_id else {}
        return {"x-trimtab-chat": self._chat_id, **turn}

    async def account(self) -> Account | None:
        """Give the account of the context of the last call."""
        if self._has_news:
            self._has_news = False
            audit = await self._host.audit(self._chat_id, owner=self._owner)
            self._account = None if audit is None else _account_of(audit, self._left_out)
        return self._account

    async def batches(self) -> AsyncGenerator[Sequence[object], None]:
        """Give the events; whoever stops listening ends the turn."""
        async with self._stream as events:
            async for event in events:
                told = self._passed_on(event)
                if told is not None:
                    yield (told,)

    def _passed_on(self, event: TurnEvent) -> object | None:
        """Give an event of the turn as one of an answer; None where a client is told nothing.

        Raises TurnToldError.
        """
        match event:
            case TurnStarted():
                self._model = event.model
            case ContextReady():
                self._has_news = True
            case ModelFallback():
                self._model = event.next_model
            case Usage():
                self._usages.append(event)
            case ToolCallStarted() | ToolCallCompleted() if event.name not in self._tools:
                return None
            case ToolCallDelta() if event.call_id not in self._calls:
                return None
            case TurnPaused():
                return Answer(items=(), finish="tool-calls", usage=sum_usage(self._usages))
            case TurnCompleted():
                return Answer(items=(), finish=event.finish, usage=sum_usage(self._usages))
            case TurnFailed():
                raise TurnToldError(event.code, event.message, details=event.details, retryable=event.retryable)
            case TurnCancelled():
                text = "somebody has cancelled this turn; ask again to try it once more"
                raise TurnToldError("TURN_INTERRUPTED", text, details={"turnId": event.turn_id}, retryable=False)
        if isinstance(event, ToolCallStarted):
            self._calls.add(event.call_id)
        return event


async def continued(
    host: Host, gateway: Gateway, body: ChatCompletionBody, *, chat_id: str, owner: str
) -> Continued:
    """Give the turn that a body asks for in a chat, not begun.

    A request that repeats what a turn that failed was told, as clients do by themselves, tries that turn again.
    Raises NotFoundError, InvalidRequestError, and ChatChangedError or TurnStateError where the chat is another one
    than the body believes.
    """
    check_stream(body)
    chat = await host.chat(chat_id, owner=owner)
    settings = ChatSettings(**chat.settings)
    _check_model(gateway, settings, body.model)
    left_out = _check_settings(host, settings, body)
    told = _read(host, body)
    stored = await host.messages(chat_id, owner=owner)
    _check_system(told, stored)
    last = await host.last_turn(chat_id, owner=owner)
    waits = last if last is not None and last.state == "paused" else None
    repeats = _repeated(told, stored, last)
    if not repeats:
        _check_history(told, stored, chat)
    tools = read_tools(body.tools or ())
    if _brings_results(told):
        if waits is None and not repeats:
            text = "the chat waits for no results of tools; send what the user says"
            raise TurnStateError(text, chat_id=chat_id)
        if waits is not None:
            tools = _tools_of_turn(waits, tools)
    stream = _stream(host, told, waits, chat_id=chat_id, owner=owner, tools=tools, repeats=repeats)
    return Continued(host, stream, settings, chat_id=chat_id, owner=owner, tools=tools, left_out=left_out)


def _stream(
    host: Host,
    told: _Told,
    waits: StoredTurn | None,
    *,
    chat_id: str,
    owner: str,
    tools: Sequence[ToolSpec],
    repeats: bool,
) -> TurnStream:
    if repeats:
        return host.retry(chat_id, owner=owner, tools=tools)
    if waits is not None and _brings_results(told):
        return host.resume(waits.id, _results_for(told, waits), owner=owner)
    return host.turn(chat_id, list(told.items), owner=owner, tools=tools)


def _check_model(gateway: Gateway, settings: ChatSettings, name: str) -> None:
    alias = gateway.models.get(name)
    named = (alias.provider, alias.model or name) if alias is not None else (settings.provider, name)
    if named != (settings.provider, settings.model):
        raise InvalidRequestError(
            f"the chat is carried on with the model {settings.model!r}; name that one, or change it with "
            "PATCH /api/v2/chats/{chatId}",
            path="model",
        )


def _check_settings(host: Host, settings: ChatSettings, body: ChatCompletionBody) -> tuple[str, ...]:
    """Raise InvalidRequestError where the body says otherwise than the chat; give the fields that are left out."""
    steering = refuse_uncarried(body.steering)
    serving = tuple(name for name in steering if name in SERVING)
    options, left_out = options_for(
        driver_of(host, settings.provider),
        {name: value for name, value in steering.items() if name not in SERVING},
        has_tools=bool(body.tools or settings.tools != ()),
    )
    asked: dict[str, object] = {**options}
    known: dict[str, object] = {"tool_choice": "auto", "parallel_tool_calls": True, **settings.options}
    if (limit := output_limit(body)) is not None:
        asked["max_tokens"], known["max_tokens"] = limit, settings.max_output_tokens
    if (form := checked_format(body.response_format)) is not None:
        asked["response_format"], known["response_format"] = form, settings.response_format
    wrong = next((name for name, value in asked.items() if known.get(name) != value), None)
    if wrong is not None:
        raise InvalidRequestError(
            f"{wrong} is a setting of the chat, which has another one; leave it out, or change it with "
            "PATCH /api/v2/chats/{chatId}",
            path=wrong,
        )
    return (*left_out, *serving)


def _read(host: Host, body: ChatCompletionBody) -> _Told:
    items = said(body.messages)
    messages = read_messages(items, registry=host.registry, config=host.config, format=FORMAT)
    start = max((at for at, one in enumerate(messages) if one.role == "assistant"), default=-1) + 1
    new = [at for at in range(start, len(messages)) if messages[at].role not in _SYSTEM]
    before = [one for at, one in enumerate(messages) if at not in new]
    roles = {messages[at].role for at in new}
    if not new:
        raise InvalidRequestError("there is nothing new behind the last message of the assistant", path="messages")
    if len(roles) > 1:
        raise InvalidRequestError(
            "results of tools come first, and what the user says in a request behind their answer", path="messages"
        )
    return _Told(tuple(before), tuple(messages[at] for at in new), tuple(items[at] for at in new))


def _brings_results(told: _Told) -> bool:
    return told.new[0].role == "tool"


def _check_system(told: _Told, stored: Sequence[StoredMessage]) -> None:
    given = [plain_text(one) for one in told.before if one.role in _SYSTEM]
    known = [plain_text(one.message) for one in stored if one.message.role in _SYSTEM and one.message.parts]
    if given and given != [text for text in known if text]:
        raise InvalidRequestError(
            "the chat has another system text; leave it out, or change that of the chat with "
            "PATCH /api/v2/chats/{chatId}",
            path="messages",
        )


def _check_history(told: _Told, stored: Sequence[StoredMessage], chat: StoredChat) -> None:
    """Raise ChatChangedError when the last answer that the client knows is not the chat's last one."""
    given = next((one for one in reversed(told.before) if one.role == "assistant"), None)
    if given is None:
        return
    last = _last_answer(stored)
    calls = {part.call_id for part in given.parts if isinstance(part, ToolCall)}
    there = {part.call_id for one in last for part in one.message.parts if isinstance(part, ToolCall)}
    texts = [plain_text(one.message).strip() for one in last]
    text = plain_text(given).strip()
    if not calls <= there or not last or not (text == "".join(texts).strip() or text.endswith(texts[-1])):
        raise ChatChangedError(chat.id, revision=chat.revision)


def _last_answer(stored: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Give the messages of the assistant behind the last thing that somebody else said or brought."""
    answer: list[StoredMessage] = []
    for one in reversed(stored):
        if one.message.role == "assistant":
            answer.insert(0, one)
        elif answer and one.message.role in ("user", "tool"):
            break
    return answer


def _repeated(told: _Told, stored: Sequence[StoredMessage], last: StoredTurn | None) -> bool:
    """Tell whether the body says again what a turn that did not end well was told."""
    if last is None or last.state not in _ENDED_BADLY:
        return False
    if _brings_results(told):
        done = {part.call_id for one in stored if one.turn_id == last.id for part in _results_in(one.message)}
        return {part.call_id for one in told.new for part in _results_in(one)} <= done
    known = [one.message.parts for one in stored if one.message.id in last.input_ids]
    return known == [one.parts for one in told.new]


def _results_in(message: Message) -> tuple[ToolResult, ...]:
    return tuple(part for part in message.parts if isinstance(part, ToolResult))


def _results_for(told: _Told, waits: StoredTurn) -> dict[str, ToolResult]:
    results = {part.call_id: part for one in told.new for part in _results_in(one)}
    pending = read_loop_state(waits).pending
    if results.keys() != pending.keys():
        raise InvalidRequestError(
            f"the chat waits for the results of {', '.join(map(repr, pending))}; give these, all at once",
            path="messages",
        )
    return results


def _tools_of_turn(waits: StoredTurn, given: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Give the tools of a turn that waits. Raises InvalidRequestError when the client names others now."""
    tools = tools_of(waits)
    if given and {tool.name for tool in given} != {tool.name for tool in tools}:
        raise InvalidRequestError(
            "the turn goes on with the tools it began with; give those, or leave tools out", path="tools"
        )
    return tools


def _account_of(audit: PromptContextAudit, left_out: tuple[str, ...]) -> Account:
    changed = [(block.change.kind, block.to_dict()) for block in audit.blocks if block.change is not None]
    told = [(kind, {key: value for key, value in one.items() if key != "parts"}) for kind, one in changed]
    return Account(
        provider=audit.provider,
        model=audit.model,
        strategy=audit.strategy,
        tokens_before=audit.tokens_before,
        tokens_after=audit.recount,
        limit=audit.budget.context_limit or audit.budget.available,
        budget=audit.budget.available,
        excluded=tuple(one.to_dict() for one in audit.left_out),
        truncated=tuple(one for kind, one in told if kind == "shortened"),
        inserted=tuple(one for kind, one in told if kind == "inserted"),
        notes=tuple(one.to_dict() for one in audit.diagnostics),
        left_out=left_out,
    )
