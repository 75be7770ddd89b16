"""The store that comes with Trimtab: SQLite in a file, or PostgreSQL by URL. `open_store` gives it.

Every method is one transaction in a thread. SQLite has one thread that writes and a few that read beside it;
PostgreSQL has a pool of connections, and whoever changes a chat locks its row first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from sqlalchemy import Connection, Engine

from trimtab.store import auditing, changing, chats, reading, turning, watching
from trimtab.store.addresses import Address, Durability, PostgresAddress
from trimtab.store.engines import Engines, make_engines
from trimtab.store.failures import told
from trimtab.store.migrating import bring_up_to_date
from trimtab.store.protocol import (
    Audit,
    Begun,
    Change,
    JsonObject,
    NewChat,
    NewTurn,
    StoredChat,
    StoredEvent,
    StoredMessage,
    StoredTurn,
    TurnFinish,
    TurnStep,
)
from trimtab.store.threads import in_new_thread, in_thread
from trimtab_sdk.errors import StoreUnavailableError
from trimtab_sdk.messages import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Opened:
    engines: Engines
    writing: ThreadPoolExecutor
    reading: ThreadPoolExecutor

    def close(self) -> None:
        """Wait for every transaction that was handed over, then let the connections go."""
        self.reading.shutdown()
        self.writing.shutdown()
        self.engines.dispose()


class SqlStore:
    """Keeps chats in a SQL database; see `Store` for what each method does and raises.

    Once handed over, a transaction is carried out whole, also when nobody awaits it any more; `close` waits for
    it. A store belongs to no event loop, and can be opened again after it was closed.
    """

    def __init__(self, address: Address, *, durability: Durability, connections: int) -> None:
        self._address = address
        self._durability: Durability = durability
        self._connections = connections
        self._opened: _Opened | None = None
        self._door = threading.Lock()

    def __repr__(self) -> str:
        return f"SqlStore({self._address})"

    async def __aenter__(self) -> SqlStore:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect and bring the schema up to date. Does nothing when it is open."""
        if self._opened is None:
            await in_new_thread(self._open)

    async def close(self) -> None:
        """Wait for the transactions that run, then let everything go. Does nothing when it is not open."""
        if self._opened is not None:
            await in_new_thread(self._close)

    async def create_chat(self, chat: NewChat, *, now: float) -> StoredChat:
        """Store a new chat."""
        return await self._write(lambda on: chats.create_chat(on, chat, now=now))

    async def get_chat(self, chat_id: str, *, owner: str) -> StoredChat:
        """Give a chat."""
        return await self._read(lambda on: chats.get_chat(on, chat_id, owner=owner))

    async def list_chats(
        self, *, owner: str, limit: int = 50, before: tuple[float, str] | None = None
    ) -> list[StoredChat]:
        """Give an owner's chats, last changed first; at most 1,000 at a time."""
        return await self._read(lambda on: chats.list_chats(on, owner=owner, limit=limit, before=before))

    async def update_chat(
        self,
        chat_id: str,
        *,
        owner: str,
        now: float,
        settings: JsonObject | None = None,
        title: str | None = None,
        revision: int | None = None,
    ) -> StoredChat:
        """Change the settings or the title."""
        return await self._write(
            lambda on: chats.update_chat(
                on, chat_id, owner=owner, now=now, settings=settings, title=title, revision=revision
            )
        )

    async def delete_chat(self, chat_id: str, *, owner: str) -> None:
        """Delete a chat with everything of it."""
        await self._write(lambda on: chats.delete_chat(on, chat_id, owner=owner))

    async def messages(
        self, chat_id: str, *, owner: str, after: int = 0, limit: int | None = None
    ) -> list[StoredMessage]:
        """Give the messages of the active branch behind a number, in order."""

        def read(on: Connection) -> list[StoredMessage]:
            chats.require_chat(on, chat_id, owner=owner)
            return reading.read_messages(on, chat_id, after=after, limit=limit)

        return await self._read(read)

    async def full_text(self, chat_id: str, message_id: str, *, owner: str) -> str | None:
        """Give the whole text of a shortened tool result."""

        def read(on: Connection) -> str | None:
            chats.require_chat(on, chat_id, owner=owner)
            return reading.read_full_text(on, chat_id, message_id)

        return await self._read(read)

    async def message_at(self, chat_id: str, message_id: str, revision: int, *, owner: str) -> Message | None:
        """Give a message as it was at a revision of its own."""

        def read(on: Connection) -> Message | None:
            chats.require_chat(on, chat_id, owner=owner)
            return reading.read_revision(on, chat_id, message_id, revision)

        return await self._read(read)

    async def change_messages(
        self, chat_id: str, changes: Sequence[Change], *, owner: str, now: float, revision: int | None = None
    ) -> StoredChat:
        """Change messages, all or none."""
        return await self._write(
            lambda on: changing.change_messages(on, chat_id, changes, owner=owner, now=now, revision=revision)
        )

    async def begin_turn(self, turn: NewTurn, *, is_dead: Callable[[str], bool]) -> Begun:
        """Start a turn. `is_dead` is asked in a thread, inside the transaction."""
        return await self._write(lambda on: turning.begin_turn(on, turn, is_dead=is_dead))

    async def step_turn(self, step: TurnStep) -> tuple[int, ...]:
        """Write what a running turn did."""
        return await self._write(lambda on: turning.step_turn(on, step))

    async def resume_turn(
        self, turn_id: str, *, owner: str, lease_holder: str, lease_until: float, now: float
    ) -> StoredTurn:
        """Make a paused turn run again, with a raised fence."""
        return await self._write(
            lambda on: turning.resume_turn(
                on, turn_id, owner=owner, lease_holder=lease_holder, lease_until=lease_until
            )
        )

    async def renew_lease(self, turn_id: str, fence: int, *, until: float) -> bool:
        """Keep a running turn leased."""
        return await self._write(lambda on: turning.renew_lease(on, turn_id, fence, until=until))

    async def finish_turn(self, finish: TurnFinish) -> tuple[int, ...]:
        """End a running or paused turn."""
        return await self._write(lambda on: turning.finish_turn(on, finish))

    async def request_cancel(self, turn_id: str, *, owner: str) -> StoredTurn:
        """Note that a turn shall end."""
        return await self._write(lambda on: turning.request_cancel(on, turn_id, owner=owner))

    async def get_turn(self, turn_id: str, *, owner: str) -> StoredTurn:
        """Give a turn."""
        return await self._read(lambda on: turning.get_turn(on, turn_id, owner=owner))

    async def turn_of_key(self, chat_id: str, key: str, *, owner: str) -> StoredTurn | None:
        """Give the turn of a chat that was started with a key."""
        return await self._read(lambda on: turning.turn_of_key(on, chat_id, key, owner=owner))

    async def turn_messages(self, turn_id: str, *, owner: str) -> list[StoredMessage]:
        """Give the messages that a turn has stored, in order."""

        def read(on: Connection) -> list[StoredMessage]:
            turn = turning.get_turn(on, turn_id, owner=owner)
            return reading.read_messages(on, turn.chat_id, after=0, limit=None, turn_id=turn_id)

        return await self._read(read)

    async def last_turn(self, chat_id: str, *, owner: str) -> StoredTurn | None:
        """Give the turn of a chat that was started last."""
        return await self._read(lambda on: turning.last_turn(on, chat_id, owner=owner))

    async def audit(self, chat_id: str, *, owner: str) -> Audit | None:
        """Give the audit of a chat's last generation."""

        def read(on: Connection) -> Audit | None:
            chats.require_chat(on, chat_id, owner=owner)
            return auditing.read_audit(on, chat_id)

        return await self._read(read)

    async def add_events(self, turn_id: str, events: Sequence[StoredEvent], *, fence: int | None = None) -> bool:
        """Store events of a turn, and tell whether it shall end."""

        def write(on: Connection) -> bool:
            if fence is not None:
                return auditing.add_running_events(on, turn_id, events, fence=fence)
            auditing.add_events(on, turn_id, events)
            return False

        return await self._write(write)

    async def events(self, turn_id: str, *, owner: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Give the events of a turn behind a number; at most 10,000 at a time."""

        def read(on: Connection) -> list[StoredEvent]:
            turning.get_turn(on, turn_id, owner=owner)
            return auditing.read_events(on, turn_id, after=after, limit=limit)

        return await self._read(read)

    async def watch(self, heard: Callable[[str, int], None], connected: Callable[[bool], None]) -> None:
        """Call `heard` as events are stored, in PostgreSQL; end at once for SQLite."""
        if isinstance(self._address, PostgresAddress):
            await watching.watch(self._address, heard, connected)

    async def prune_events(self, *, ended_before: float) -> int:
        """Delete the events of turns that ended before a time."""
        return await self._write(lambda on: auditing.prune_events(on, ended_before=ended_before))

    async def recover(self, *, now: float, is_dead: Callable[[str], bool]) -> list[str]:
        """End every running turn that is dead. `is_dead` is asked in a thread, inside the transaction."""
        return await self._write(lambda on: turning.recover(on, now=now, is_dead=is_dead))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        opened = self._open_or_refuse()
        return await in_thread(opened.writing, lambda: self._change(opened.engines, work))

    async def _read(self, work: Callable[[Connection], T]) -> T:
        opened = self._open_or_refuse()
        return await in_thread(opened.reading, lambda: self._carry_out(opened.engines.reader, work))

    def _change(self, engines: Engines, work: Callable[[Connection], T]) -> T:
        engines.check()
        return self._carry_out(engines.writer, work)

    def _carry_out(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        with told(self._address), engine.begin() as connection:
            return work(connection)

    def _open_or_refuse(self) -> _Opened:
        if self._opened is None:
            raise StoreUnavailableError(f"the store in {self._address} is not open; await its open() first")
        return self._opened

    def _open(self) -> None:
        with self._door:
            if self._opened is None:
                self._opened = self._connect()

    def _connect(self) -> _Opened:
        engines = make_engines(self._address, durability=self._durability, connections=self._connections)
        try:
            with told(self._address):
                bring_up_to_date(engines.writer, self._address)
        except BaseException:
            engines.dispose()
            raise
        writing = ThreadPoolExecutor(engines.writers, "trimtab-store")
        apart = ThreadPoolExecutor(engines.readers, "trimtab-store-read") if engines.readers else writing
        return _Opened(engines, writing, apart)

    def _close(self) -> None:
        with self._door:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
