"""A host: chats that are stored, fitted and carried on with a provider, turn after turn.

async with Host("chats.db", config, tools=[stock]) as host:
    chat = await host.create_chat(owner="ann", provider="local", model="gpt-4o", system="Be brief.")
    async for event in host.turn(chat.id, "How many kettles are left?", owner="ann"):
        if isinstance(event, TextDelta):
            print(event.text, end="")
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import uuid4

from trimtab.config import Config
from trimtab.loading.registry import DEFAULT_REGISTRY, ContextStrategyRegistry
from trimtab.store.opening import open_store
from trimtab.store.protocol import (
    Branch,
    Change,
    EditParts,
    NewChat,
    NewMessage,
    Remove,
    SetExcluded,
    SetPinned,
    Store,
    StoredChat,
    StoredEvent,
    StoredMessage,
    StoredTurn,
)
from trimtab.turns.detached import start_detached
from trimtab.turns.draining import drain
from trimtab.turns.following import Following
from trimtab.turns.granting import Credentials
from trimtab.turns.held_chats import HeldChats
from trimtab.turns.holder import is_dead
from trimtab.turns.inputs import ResultInput, UserInput, new_id, read_input, read_messages
from trimtab.turns.live import LiveTurns
from trimtab.turns.looking import Preview, count_chat, find_audit, preview_chat, preview_question, resolve_audit
from trimtab.turns.machinery import Machinery
from trimtab.turns.pruning import prune_events
from trimtab.turns.resuming import check_tools, resume_turn
from trimtab.turns.running import TurnRunner
from trimtab.turns.settings import ChatSettings
from trimtab.turns.so_far import TurnSoFar, turn_so_far
from trimtab.turns.starting import begin_turn
from trimtab.turns.stateless import GenerationStream, Question
from trimtab.turns.stopping import cancel_turn
from trimtab.turns.stream import TurnStream
from trimtab.turns.targets import Target, resolve_target
from trimtab.turns.tool_schema import AsyncFunction
from trimtab.turns.tool_shapes import read_tools
from trimtab.turns.tools import Tool, ToolBox, ToolLimits
from trimtab.turns.transport import Transport
from trimtab.turns.work import Ask, TurnWork
from trimtab.usage import UsageRatios
from trimtab_sdk.errors import ChatChangedError, InvalidRequestError, NotFoundError, TurnStateError
from trimtab_sdk.messages import Message, Part, Text
from trimtab_sdk.provider import ToolSpec

if TYPE_CHECKING:
    from trimtab.audit import PromptContextAudit, Resolved


class Host:
    """Runs turns, and looks after the chats they belong to.

    - `store`: a path to a SQLite file, the URL of a database, or a store of your own.
    - `tools`: async functions, or `Tool`s, that the model may call; the host runs them.
    - `config`, `registry`: the host app's decisions and its own plugins.
    - `credentials`: name of an endpoint → an async function that hands out its key, call by call; it is asked
      again, with True, when the key was refused.
    - `environ`: where all other keys are looked up; `clock` gives seconds since 1970.
    - `lease_seconds`: for how long a turn is taken for alive without a sign of life.

    Everything is asked for an `owner`, and what belongs to another one does not exist. Use it in one event loop,
    and open it before use, best as an async context manager. Several hosts, also in other processes, may share a
    store.
    """

    def __init__(
        self,
        store: Store | str | Path,
        config: Config | None = None,
        tools: Iterable[Tool | AsyncFunction] = (),
        *,
        registry: ContextStrategyRegistry | None = None,
        environ: Mapping[str, str] | None = None,
        credentials: Mapping[str, Credentials] | None = None,
        tool_limits: ToolLimits | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        lease_seconds: float = 30.0,
    ) -> None:
        self._store = open_store(store) if isinstance(store, str | Path) else store
        self._transport = Transport()
        self._pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1), thread_name_prefix="trimtab-turn")
        self._machinery = Machinery(
            store=self._store,
            chats=HeldChats(self._store),
            transport=self._transport,
            config=config if config is not None else Config(),
            registry=registry if registry is not None else DEFAULT_REGISTRY,
            tools=ToolBox(tools),
            pool=self._pool,
            clock=clock,
            sleep=sleep,
            environ=os.environ if environ is None else environ,
            credentials=dict(credentials or {}),
            ratios=UsageRatios(),
            live=LiveTurns(),
            tool_limits=tool_limits if tool_limits is not None else ToolLimits(),
            lease_seconds=lease_seconds,
        )

    async def open(self) -> None:
        """Open the store, and end the turns that another process left behind when it died.

        Raises StoreUnavailableError.
        """
        await self._store.open()
        await self.recover()

    async def close(self) -> None:
        """Cancel the turns that run, wait for them, and let everything go."""
        machinery = self._machinery
        machinery.live.stop()
        for runner in list(machinery.running.values()):
            runner.channel.desert()
            runner.cancel()
        if machinery.tasks:
            await asyncio.wait(set(machinery.tasks))
        for generation in list(machinery.generations):
            generation.cancel()
            await generation.ended()
        await machinery.live.close()
        await self._transport.aclose()
        await self._store.close()
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Host:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def store(self) -> Store:
        """The store."""
        return self._store

    @property
    def config(self) -> Config:
        """The configuration."""
        return self._machinery.config

    @property
    def registry(self) -> ContextStrategyRegistry:
        """The host app's own plugins."""
        return self._machinery.registry

    @property
    def is_stopping(self) -> bool:
        """Whether no new turn begins any more."""
        return self._machinery.live.is_stopping

    @property
    def running_turns(self) -> int:
        """How many turns run in this process."""
        return len(self._machinery.running)

    @property
    def usage_ratios(self) -> UsageRatios:
        """How what providers report compares with what was counted here, by provider and model."""
        return self._machinery.ratios

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the host's tools, sorted."""
        return self._machinery.tools.names

    def target(self, provider: str) -> Target:
        """Tell where a turn with this provider would go: its driver, address and limits.

        Raises UnknownProviderError, ConfigError, ProviderError when its key is missing, an error of loading.
        """
        machinery = self._machinery
        return resolve_target(
            provider,
            config=machinery.config,
            registry=machinery.registry,
            environ=machinery.environ,
            granted=machinery.credentials.keys(),
        )

    def hands_out_key(self, provider: str) -> bool:
        """Whether the key of a provider comes from the host app's own `credentials`."""
        return provider in self._machinery.credentials

    def forget(self, chat_id: str) -> None:
        """Let go of what this process holds of a chat; the next turn reads it from the store again."""
        self._machinery.chats.forget(chat_id)

    async def recover(self) -> list[str]:
        """End the turns whose process is dead or silent, drop events that are too old, and give the turns' ids.

        Their inputs and finished steps stay; `retry` goes on from there.
        """
        machinery = self._machinery
        await prune_events(machinery)
        return await self._store.recover(now=machinery.clock(), is_dead=is_dead)

    async def create_chat(
        self,
        *,
        owner: str,
        provider: str,
        model: str,
        system: str | None = None,
        messages: object = (),
        format: str | None = None,
        title: str = "",
        **settings: object,
    ) -> StoredChat:
        """Store a new chat and give it.

        - `system`: the system text, the first message of the chat.
        - `messages`: what was said before, in any format that Trimtab reads (`format` names it where that is not
          clear), for a chat that goes on here.
        - `settings`: the other fields of `ChatSettings`, as `context_strategy="summarize"`.

        Raises InvalidRequestError, UnknownFormatError, StoreUnavailableError.
        """
        checked = ChatSettings(provider=provider, model=model, **settings)
        told: list[Message] = []
        if system is not None:
            told.append(Message(new_id(), "system", (Text(system),), source="system"))
        if messages:
            told += await self._machinery.in_pool(self._read, messages, format)
        chat = NewChat(
            id=uuid4().hex,
            owner=_checked_owner(owner),
            settings=checked.to_dict(),
            title=title,
            messages=tuple(NewMessage(message=message) for message in told),
        )
        return await self._store.create_chat(chat, now=self._machinery.clock())

    async def chat(self, chat_id: str, *, owner: str) -> StoredChat:
        """Give a chat. Raises NotFoundError."""
        return await self._store.get_chat(chat_id, owner=owner)

    async def chats(
        self, *, owner: str, limit: int = 50, before: tuple[float, str] | None = None
    ) -> list[StoredChat]:
        """Give chats, last changed first; `before` is (`updated_at`, `id`) of the last one of the page before."""
        return await self._store.list_chats(owner=owner, limit=limit, before=before)

    async def settings(self, chat_id: str, *, owner: str) -> ChatSettings:
        """Give the settings of a chat."""
        chat = await self._store.get_chat(chat_id, owner=owner)
        return ChatSettings(**chat.settings)

    async def update_chat(
        self,
        chat_id: str,
        *,
        owner: str,
        title: str | None = None,
        revision: int | None = None,
        **settings: object,
    ) -> StoredChat:
        """Change the title or settings of a chat, as `model="gpt-4o"`; the next call goes by them.

        With `revision` the chat must be at it. Raises NotFoundError, InvalidRequestError, ChatChangedError.
        """
        if not settings:
            return await self._store.update_chat(
                chat_id, owner=owner, now=self._machinery.clock(), title=title, revision=revision
            )
        for last in (False, False, False, True):
            chat = await self._store.get_chat(chat_id, owner=owner)
            changed = ChatSettings(**chat.settings).changed(**settings).to_dict()
            try:
                # At the revision that was read: what somebody else sets meanwhile must not be set back.
                return await self._store.update_chat(
                    chat_id,
                    owner=owner,
                    now=self._machinery.clock(),
                    settings=changed,
                    title=title,
                    revision=chat.revision if revision is None else revision,
                )
            except ChatChangedError:
                if last or revision is not None:
                    raise
        raise AssertionError("the last try returns or raises")

    async def delete_chat(self, chat_id: str, *, owner: str) -> None:
        """Delete a chat with everything of it. A turn that runs is cancelled."""
        chat = await self._store.get_chat(chat_id, owner=owner)
        if chat.turn_id is not None:
            await self.cancel(chat.turn_id, owner=owner)
        self._machinery.chats.forget(chat_id)
        await self._store.delete_chat(chat_id, owner=owner)

    async def messages(
        self, chat_id: str, *, owner: str, after: int = 0, limit: int | None = None
    ) -> list[StoredMessage]:
        """Give the messages of the active branch behind the number `after`, in order."""
        return await self._store.messages(chat_id, owner=owner, after=after, limit=limit)

    async def full_text(self, chat_id: str, message_id: str, *, owner: str) -> str | None:
        """Give the whole text of a tool result that was shortened, None where none was."""
        return await self._store.full_text(chat_id, message_id, owner=owner)

    async def edit(self, chat_id: str, message_id: str, text: str | Sequence[Part], *, owner: str) -> StoredChat:
        """Give a message another text, or other parts, in its place."""
        parts = (Text(text),) if isinstance(text, str) else tuple(text)
        return await self._change(chat_id, EditParts(message_id, parts), owner=owner)

    async def set_system(self, chat_id: str, text: str, *, owner: str) -> StoredChat:
        """Give the chat's first system message another text. Raises NotFoundError when it has none."""
        for stored in await self._store.messages(chat_id, owner=owner):
            if stored.message.role == "system" and stored.message.source == "system":
                return await self.edit(chat_id, stored.message.id, text, owner=owner)
        raise NotFoundError("message", "system")

    async def pin(self, chat_id: str, *message_ids: str, owner: str, pinned: bool = True) -> StoredChat:
        """Pin messages, so that they are in every request, or unpin them."""
        return await self._change(chat_id, *(SetPinned(name, pinned) for name in message_ids), owner=owner)

    async def exclude(self, chat_id: str, *message_ids: str, owner: str, excluded: bool = True) -> StoredChat:
        """Leave messages out by hand, or no longer."""
        return await self._change(chat_id, *(SetExcluded(name, excluded) for name in message_ids), owner=owner)

    async def remove(self, chat_id: str, *message_ids: str, owner: str) -> StoredChat:
        """Take messages out of the chat for good."""
        return await self._change(chat_id, *(Remove(name) for name in message_ids), owner=owner)

    async def branch(self, chat_id: str, leaf: str | None, *, owner: str) -> StoredChat:
        """Make a message the last one, so that the next turn goes on from there.

        What stood behind it stays on its own branch, which can be chosen again by its last message.
        """
        return await self._change(chat_id, Branch(leaf), owner=owner)

    async def change(self, chat_id: str, *changes: Change, owner: str, revision: int | None = None) -> StoredChat:
        """Make several changes to messages, all or none of them; with `revision` the chat must be at it.

        Raises NotFoundError, InvalidRequestError, TurnInProgressError, ChatChangedError.
        """
        return await self._change(chat_id, *changes, owner=owner, revision=revision)

    def turn(self, chat_id: str, input: UserInput, *, owner: str, tools: Sequence[ToolSpec] = ()) -> TurnStream:
        """Say something in a chat, and give the events until the answer is stored.

        `tools` are tools that the caller runs itself: when the model calls one, the turn is paused, and `resume`
        goes on with the results.

        Raises InvalidRequestError at once; NotFoundError, TurnInProgressError and StoreUnavailableError with the
        first event. All else is told as `turn_failed`; the input is stored then, and `retry` tries again.
        """
        machinery = self._machinery
        told = read_input(input, registry=machinery.registry, config=machinery.config)
        client = check_tools(tools, machinery.tools.names)
        ask = Ask(chat_id=chat_id, owner=owner, input=told, client_tools=client)
        return self._stream(lambda: begin_turn(machinery, ask))

    def retry(self, chat_id: str, *, owner: str, tools: Sequence[ToolSpec] = ()) -> TurnStream:
        """Try the last turn again, when it failed or was cancelled: with its input and what its tools have done.

        Nothing is stored twice. Raises what `turn` raises, and TurnStateError when there is nothing to try again.
        """
        client = check_tools(tools, self._machinery.tools.names)
        return self._stream(lambda: self._begin_again(chat_id, owner, client))

    def resume(self, turn_id: str, tool_results: Mapping[str, ResultInput], *, owner: str) -> TurnStream:
        """Go on with a paused turn: call id → what the tool answered, for every call it waits for.

        Raises NotFoundError, TurnStateError and InvalidRequestError with the first event; the turn waits on then.
        """
        return self._stream(lambda: resume_turn(self._machinery, turn_id, tool_results, owner=owner))

    async def start_turn(
        self, chat_id: str, input: UserInput, *, owner: str, tools: Sequence[ToolSpec] = (), key: str = ""
    ) -> str:
        """Begin a turn as `turn` does, with nobody listening, and give its id; `follow` reads along.

        With a `key`, asking again with the same one and the same input gives the turn that was begun then, in
        whatever process, however it ended.

        Raises what `turn` raises, and InvalidRequestError when the key was used for another input.
        """
        machinery = self._machinery
        told = read_input(input, registry=machinery.registry, config=machinery.config)
        client = check_tools(tools, machinery.tools.names)
        ask = Ask(chat_id=chat_id, owner=owner, input=told, client_tools=client, key=key)
        return await start_detached(machinery, ask)

    async def start_retry(self, chat_id: str, *, owner: str, tools: Sequence[ToolSpec] = ()) -> str:
        """Try the last turn again as `retry` does, with nobody listening, and give the id of the new turn.

        Raises what `retry` raises.
        """
        client = check_tools(tools, self._machinery.tools.names)
        return await TurnRunner(self._machinery, lambda: self._begin_again(chat_id, owner, client)).begin()

    async def start_resume(self, turn_id: str, tool_results: Mapping[str, ResultInput], *, owner: str) -> str:
        """Go on with a paused turn as `resume` does, with nobody listening, and give its id.

        Raises what `resume` raises.
        """
        return await TurnRunner(
            self._machinery, lambda: resume_turn(self._machinery, turn_id, tool_results, owner=owner)
        ).begin()

    def follow(self, turn_id: str, *, owner: str, after: int = 0) -> Following:
        """Read along a turn, in whatever process it runs, from the event behind the number `after` on.

        Events can be read again for ten minutes after the end of a turn; later there is only its last one.
        Raises InvalidRequestError at once, NotFoundError with the first event.
        """
        return Following(self._machinery, turn_id, owner=owner, after=after)

    def readers(self, turn_id: str) -> int:
        """Tell how many read along a turn in this process."""
        return self._machinery.live.readers[turn_id]

    async def drain(self, seconds: float) -> None:
        """Take no new turns, and wait until those that run have ended; cancel them after so many seconds.

        What is asked meanwhile raises HostStoppingError. Turns of other processes are not read along any more.
        `close` comes next.
        """
        await drain(self._machinery, seconds)

    async def turn_so_far(self, turn_id: str, *, owner: str) -> TurnSoFar:
        """Give a turn with what it has said and stored so far, wherever it runs. Raises NotFoundError."""
        return await turn_so_far(self._machinery, turn_id, owner=owner)

    async def cancel(self, turn_id: str, *, owner: str) -> StoredTurn:
        """End a turn, in whatever process it runs, and give it as it is then.

        A turn of this process has ended when this returns; one of another process ends soon after.
        Raises NotFoundError.
        """
        return await cancel_turn(self._machinery, turn_id, owner=owner)

    async def last_turn(self, chat_id: str, *, owner: str) -> StoredTurn | None:
        """Give the turn that was started last in a chat."""
        return await self._store.last_turn(chat_id, owner=owner)

    async def get_turn(self, turn_id: str, *, owner: str) -> StoredTurn:
        """Give a turn. Raises NotFoundError."""
        return await self._store.get_turn(turn_id, owner=owner)

    async def events(self, turn_id: str, *, owner: str, after: int = 0) -> list[StoredEvent]:
        """Give the stored events of a turn behind the number `after`; kept for ten minutes after its end."""
        return await self._store.events(turn_id, owner=owner, after=after)

    async def preview(
        self, chat_id: str, input: UserInput | None = None, *, owner: str, tools: Sequence[ToolSpec] = ()
    ) -> Preview:
        """Tell what the next turn would send, by the same code, and change nothing.

        Raises what a fit raises, and what `turn` would tell as `turn_failed`.
        """
        machinery = self._machinery
        told = () if input is None else read_input(input, registry=machinery.registry, config=machinery.config)
        client = check_tools(tools, machinery.tools.names)
        return await preview_chat(machinery, Ask(chat_id=chat_id, owner=owner, input=told, client_tools=client))

    def generate(
        self,
        messages: object,
        *,
        owner: str,
        provider: str,
        model: str,
        format: str | None = None,
        tools: Sequence[ToolSpec | Mapping[str, object]] = (),
        **settings: object,
    ) -> GenerationStream:
        """Answer messages that belong to no chat, and give the events; nothing is stored, here or at the provider.

        They are fitted like those of a turn and sent like them, with the next models of `fallbacks`. Tools that
        the model calls are the caller's: the answer ends with the calls.

        - `messages`: a list or a request body in any format that Trimtab reads; of a body, its messages and its
          system text. In the provider's own format they go out as they came.
        - `tools`: specifications, or functions in the shape of a wire.
        - `settings`: the other fields of `ChatSettings`, as `context_strategy`, `max_output_tokens`, `options`,
          `response_format`. `tools` and cursors of stored chats have no part in it.

        Raises InvalidRequestError at once; with the first event what a fit raises, and ProviderError.
        """
        question = _question(messages, owner, format, tools, provider=provider, model=model, **settings)
        return GenerationStream(self._machinery, question)

    async def preview_messages(
        self,
        messages: object,
        *,
        owner: str,
        provider: str,
        model: str,
        format: str | None = None,
        tools: Sequence[ToolSpec | Mapping[str, object]] = (),
        **settings: object,
    ) -> Preview:
        """Tell what `generate` would send, by the same code, and send nothing. Raises what it would raise before.

        Takes what `generate` takes.
        """
        question = _question(messages, owner, format, tools, provider=provider, model=model, **settings)
        return await preview_question(self._machinery, question)

    async def count_tokens(
        self, chat_id: str, input: UserInput | None = None, *, owner: str, tools: Sequence[ToolSpec] = ()
    ) -> int:
        """Let the provider count what the next turn would send, with what it keeps of the conversation.

        Changes nothing, and asks the provider once. Raises what `preview` raises, ProviderError when the question
        fails, and InvalidRequestError for a provider that counts nothing.
        """
        machinery = self._machinery
        told = () if input is None else read_input(input, registry=machinery.registry, config=machinery.config)
        client = check_tools(tools, machinery.tools.names)
        return await count_chat(machinery, Ask(chat_id=chat_id, owner=owner, input=told, client_tools=client))

    async def audit(self, chat_id: str, *, owner: str) -> PromptContextAudit | None:
        """Give the record of the context of the chat's last generation, None when it has none."""
        return await find_audit(self._machinery, chat_id, owner=owner)

    async def resolve_audit(self, chat_id: str, *, owner: str) -> Resolved | None:
        """Give the messages of the last generation as they were sent, made again from what is stored."""
        return await resolve_audit(self._machinery, chat_id, owner=owner)

    def _stream(self, start: Callable[[], Awaitable[TurnWork]]) -> TurnStream:
        return TurnStream(TurnRunner(self._machinery, start))

    async def _begin_again(self, chat_id: str, owner: str, client: tuple[ToolSpec, ...]) -> TurnWork:
        last = await self._store.last_turn(chat_id, owner=owner)
        if last is None or last.state not in ("failed", "cancelled", "running"):
            state = "is none" if last is None else f"is one that is {last.state}"
            raise TurnStateError(
                f"only a turn that failed or was cancelled can be tried again; the last one {state}",
                chat_id=chat_id,
            )
        return await begin_turn(
            self._machinery, Ask(chat_id=chat_id, owner=owner, again=last, client_tools=client)
        )

    async def _change(self, chat_id: str, *changes: Change, owner: str, revision: int | None = None) -> StoredChat:
        if not changes:
            raise InvalidRequestError("name at least one message", path="message_ids")
        return await self._store.change_messages(
            chat_id, changes, owner=owner, now=self._machinery.clock(), revision=revision
        )

    def _read(self, messages: object, format: str | None) -> tuple[Message, ...]:
        machinery = self._machinery
        told = read_messages(messages, registry=machinery.registry, config=machinery.config, format=format)
        return tuple(replace(one, source="history") if one.source == "input" else one for one in told)


def _question(
    messages: object,
    owner: str,
    format: str | None,
    tools: Sequence[ToolSpec | Mapping[str, object]],
    **settings: object,
) -> Question:
    return Question(
        owner=_checked_owner(owner),
        messages=messages,
        settings=ChatSettings(**settings).changed(tools=()),
        format=format,
        tools=read_tools(tools),
    )


def _checked_owner(owner: object) -> str:
    if not isinstance(owner, str) or not owner or len(owner) > 256 or not owner.isprintable():
        raise InvalidRequestError("owner must be a printable text of 1 to 256 characters", path="owner")
    return owner
