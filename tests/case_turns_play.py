"""Playing the turns of a case: a real host, a store in a file, and a server on loopback."""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import tempfile
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from case_files import Case, Json, Key
from case_formats import MODELS, PROVIDERS
from case_turns_clock import Clock
from case_turns_fakes import FAKES, Fake
from case_turns_killing import run_until_killed
from case_turns_plan import Plan, plan_of
from case_turns_story import OWNER, Story, Told
from case_turns_tools import Bench, names_of_calls
from trimtab import Config
from trimtab.host import Host
from trimtab.store.opening import open_store
from trimtab.store.protocol import StoredMessage
from trimtab.turns.events import TurnEvent
from trimtab.turns.machinery import LOG
from trimtab.turns.tools import ToolLimits
from trimtab_sdk import Compaction, Reasoning, ToolCall, TrimtabError

_SETTINGS_READ = frozenset(
    {
        *("budget", "model", "strategy", "mode", "target", "tool_result_share", "max_steps", "no_tools"),
        *("tools", "retention_hours", "provider_compaction_enabled"),
    }
)
_MODES = frozenset({"replay", "turn_local_loop"})


def play(case: Case, folder: Path, *, label: str = "", expect: Mapping[str, Json] | None = None) -> Story:
    """Play a case on a new store in the folder. `expect` replaces the fields of the case."""
    clock = Clock()
    provider = PROVIDERS[case.provider]
    with FAKES[provider.server](clock) as fake:
        player = _Player(case, plan_of(case), fake, clock, new_place(folder))
        story = asyncio.run(player.play())
    fields = case.expect if expect is None else expect
    name = f"{case.file} [{label}]" if label else case.file
    return replace(story, label=name, expect={key: value for key, value in fields.items() if key != "facts"})


def settings_of(case: Case) -> dict[str, Json]:
    """Read the settings of the chat of a case. Raises KeyError for settings that are not understood."""
    settings = case.settings
    unread = settings.keys() - _SETTINGS_READ
    if unread or settings.get("mode", "replay") not in _MODES:
        raise KeyError(f"{case.file}: settings that turns do not read: {sorted(unread)}")
    budget = settings["budget"]
    reserve = budget.get("reserve", 0)
    limit = budget["context_limit"] if "context_limit" in budget else budget["max_input"] + reserve
    named = ("target", "tool_result_share", "provider_compaction_enabled")
    more = {key: settings[key] for key in named if key in settings}
    said = {
        "model": MODELS.get(settings["model"], settings["model"]),
        "context_strategy": settings["strategy"],
        "context_settings": {"context_limit": limit, "reserve": reserve, **more},
    }
    return said | ({"max_steps": settings["max_steps"]} if "max_steps" in settings else {})


class _Player:
    def __init__(self, case: Case, plan: Plan, fake: Fake, clock: Clock, place: Path) -> None:
        self._case = case
        self._plan = plan
        self._fake = fake
        self._clock = clock
        self._place = place
        self._config = _config_of(case, fake)
        self._bench = Bench(at=clock.set, die=_never, forget=fake.forget)
        self._tools = _tools_of(case, plan)
        self._told: list[Told] = []
        self._ids: dict[Key, str] = {}
        self._known: dict[str, StoredMessage] = {}
        self._inputs: dict[str, str] = {}
        self._turns = 0
        self._chat_id = ""
        self._host: Host
        self._does: Mapping[str, Callable[..., Awaitable[None]]] = {
            "turn": self._turn,
            "retry_last_turn": self._retry,
            "parallel": self._parallel,
            "edit": self._edit,
            "exclude": self._exclude,
            "pin": self._pin,
            "remove": self._remove,
            "forget": self._forget,
            "rotate_keys": self._rotate_keys,
            "branch": self._branch,
            "set_system": self._set_system,
            "set": self._set,
            "restart_server": self._restart,
            "advance_clock": self._advance,
        }

    async def play(self) -> Story:
        self._host = self._new_host()
        await self._host.open()
        try:
            await self._create()
            for step in self._plan.steps:
                arguments = {key: value for key, value in step.items() if key != "do"}
                await self._does[step["do"]](**arguments)
        finally:
            await self._host.close()
        return Story(
            label=self._case.file,
            case=self._case,
            expect={},
            told=tuple(self._told),
            ids=self._ids,
            known=self._known,
            inputs=self._inputs,
            faults=tuple(self._fake.faults),
            answers=dict(self._fake.answers),
            left=self._fake.left,
            chat_id=self._chat_id,
            place=self._place,
            config=self._config,
        )

    def _new_host(self) -> Host:
        return Host(
            self._place,
            self._config,
            self._bench.tools(self._tools),
            environ={},
            clock=self._clock,
            tool_limits=ToolLimits(grace_seconds=0.05),
        )

    async def _create(self) -> None:
        chat = await self._host.create_chat(
            owner=OWNER,
            provider=self._case.provider,
            system=self._plan.system,
            messages=list(self._plan.told),
            format="neutral",
            **settings_of(self._case),
        )
        self._chat_id = chat.id
        await self._learn(0, self._plan.names)

    async def _turn(
        self,
        *,
        user: str,
        provider_replies: Sequence[Json] = (),
        tool_runs: Sequence[Json] = (),
        called: Sequence[Key] = (),
        ts: str = "",
        expect: Mapping[str, Json] | None = None,
    ) -> None:
        self._turns += 1
        number = self._turns
        self._script(provider_replies, tool_runs)
        if ts:
            self._clock.set(ts)
        kills = any(run.get("kill") for run in tool_runs)
        talk = self._killed(user, tool_runs) if kills else self._listen(self._say(user))
        await self._record(str(number), talk, number=number, called=called, expect=expect, was_killed=kills)

    async def _retry(
        self,
        *,
        provider_replies: Sequence[Json] = (),
        tool_runs: Sequence[Json] = (),
        expect: Mapping[str, Json] | None = None,
    ) -> None:
        self._script(provider_replies, tool_runs)
        number = 1 + sum(one.name.startswith("retry") for one in self._told)
        name = "retry" if number == 1 else f"retry {number}"
        again = self._listen(self._host.retry(self._chat_id, owner=OWNER))
        await self._record(name, again, expect=expect)

    async def _parallel(self, *, turns: Sequence[Json]) -> None:
        """Run a turn, and the others while the model answers it."""
        first, *others = ({key: value for key, value in turn.items() if key != "do"} for turn in turns)
        gate = self._fake.gate()
        running = asyncio.create_task(self._turn(**first))
        await gate.reached.wait_async()
        for other in others:
            await self._turn(**other)
        gate.open()
        await running

    async def _edit(self, *, turn: int, text: str) -> None:
        await self._host.edit(self._chat_id, self._inputs[str(turn)], text, owner=OWNER)
        await self._learn()

    async def _exclude(self, *, turn: int) -> None:
        await self._host.exclude(self._chat_id, *await self._ids_of(turn), owner=OWNER)

    async def _pin(self, *, turn: int) -> None:
        await self._host.pin(self._chat_id, *await self._ids_of(turn), owner=OWNER)

    async def _remove(self, *, turn: int) -> None:
        await self._host.remove(self._chat_id, *await self._ids_of(turn), owner=OWNER)

    async def _forget(self) -> None:
        self._fake.forget()

    async def _rotate_keys(self) -> None:
        self._fake.rotate_keys()

    async def _branch(self, *, to: Key) -> None:
        await self._host.branch(self._chat_id, self._ids[to], owner=OWNER)

    async def _set_system(self, *, text: str) -> None:
        await self._host.set_system(self._chat_id, text, owner=OWNER)
        await self._learn()

    async def _set(self, **settings: Json) -> None:
        await self._host.update_chat(self._chat_id, owner=OWNER, **settings)

    async def _restart(self) -> None:
        await self._host.close()
        self._host = self._new_host()
        await self._host.open()

    async def _advance(self, *, hours: float) -> None:
        self._clock.now += hours * 3600

    def _script(self, replies: Sequence[Json], runs: Sequence[Json]) -> None:
        self._fake.script(replies)
        self._bench.script(runs)

    def _say(self, user: str) -> AsyncIterable[TurnEvent]:
        return self._host.turn(self._chat_id, user, owner=OWNER)

    async def _killed(self, user: str, runs: Sequence[Json]) -> tuple[tuple[TurnEvent, ...], None]:
        """Run a turn in a process of its own, which is killed while a tool runs."""
        job = {
            "place": str(self._place),
            "config": self._config.model_dump(mode="json", exclude_defaults=True),
            "chat": self._chat_id,
            "user": user,
            "runs": list(runs),
            "tools": self._tools,
            "now": self._clock.now,
        }
        await asyncio.to_thread(run_until_killed, job)
        return (), None

    async def _listen(self, stream: AsyncIterable[TurnEvent]) -> tuple[tuple[TurnEvent, ...], TrimtabError | None]:
        events: list[TurnEvent] = []
        try:
            async for event in stream:
                events.append(event)  # noqa: PERF401 - those before an error count too
        except TrimtabError as error:
            return tuple(events), error
        return tuple(events), None

    async def _record(
        self,
        name: str,
        talk: Awaitable[tuple[tuple[TurnEvent, ...], TrimtabError | None]],
        *,
        number: int = 0,
        called: Sequence[Key] = (),
        expect: Mapping[str, Json] | None = None,
        was_killed: bool = False,
    ) -> None:
        asked, ran = len(self._fake.sent), len(self._bench.runs)
        with _listening() as lines:
            events, error = await talk
        host, chat_id = self._host, self._chat_id
        turn = await host.last_turn(chat_id, owner=OWNER)
        if error is None:
            await self._learn(number or self._turns, called)
            if turn is not None and turn.input_ids:
                self._inputs.setdefault(name, turn.input_ids[0])
        resolved = await host.resolve_audit(chat_id, owner=OWNER)
        told = Told(
            name=name,
            expect=expect or {},
            events=events,
            error=error,
            was_killed=was_killed,
            sent=tuple(self._fake.sent[asked:]) if error is None else (),
            tool_runs=tuple(self._bench.runs[ran:]),
            chat=await host.chat(chat_id, owner=OWNER),
            stored=tuple(await self._messages()),
            turn=turn,
            audit=await host.audit(chat_id, owner=OWNER),
            matches=resolved.matches if resolved is not None else None,
            log=tuple(lines),
        )
        self._told.append(told)

    async def _learn(self, number: int = 0, called: Sequence[Key] = ()) -> None:
        """Take notice of the messages that are stored, and give new ones the names of the case, or made ones."""
        given = iter(called)
        for stored in await self._messages():
            if stored.message.id not in self._known:
                name = next(given, None)
                self._ids[self._made_name(stored, number) if name is None else name] = stored.message.id
            self._known[stored.message.id] = stored

    def _made_name(self, stored: StoredMessage, number: int) -> str:
        """Give a name such as `u2`: a letter for what it is, and the number of the turn."""
        message = stored.message
        letter = {"user": "u", "tool": "r", "system": "n"}.get(message.role, _letter_of_answer(stored))
        first = f"{letter}{number}"
        names = itertools.chain([first], (f"{first}.{more}" for more in itertools.count(2)))
        return next(name for name in names if name not in self._ids)

    async def _messages(self) -> list[StoredMessage]:
        return await self._host.messages(self._chat_id, owner=OWNER)

    async def _ids_of(self, turn: int) -> list[str]:
        """Give the ids of the messages of a turn, those of its retries too."""
        stored = await self._messages()
        start = next(at for at, one in enumerate(stored) if one.message.id == self._inputs[str(turn)])
        rest = itertools.takewhile(lambda one: one.message.role in ("assistant", "tool"), stored[start + 1 :])
        return [stored[start].message.id, *(one.message.id for one in rest)]


def _letter_of_answer(stored: StoredMessage) -> str:
    kinds = {type(part) for part in stored.message.parts}
    if ToolCall in kinds:
        return "c"
    return "k" if Compaction in kinds else "t" if kinds == {Reasoning} else "a"


def _tools_of(case: Case, plan: Plan) -> list[str]:
    named = {*names_of_calls(plan.steps), *case.settings.get("tools", ())}
    return sorted(named - {*case.settings.get("no_tools", ())})


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Give the lines that turns write to the log meanwhile."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    before = LOG.level
    LOG.setLevel(logging.INFO)
    LOG.addHandler(handler)
    try:
        yield lines
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)


def _config_of(case: Case, fake: Fake) -> Config:
    provider = PROVIDERS[case.provider]
    endpoint = {
        "driver": provider.driver,
        "base_url": fake.base_url,
        "retries": 0,
        "settings": dict(provider.settings),
    }
    if "retention_hours" in case.settings:
        endpoint["retention"] = case.settings["retention_hours"] * 3600
    return Config(providers={case.provider: endpoint})


def _never() -> None:
    raise AssertionError("a turn with a tool that is killed runs in a process of its own")


@functools.cache
def _empty_store() -> bytes:
    """A SQLite file with the tables and nothing in them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats.db"
        asyncio.run(_make(path))
        return path.read_bytes()


async def _make(path: Path) -> None:
    async with open_store(path):
        pass


def new_place(folder: Path) -> Path:
    """Give a store with nothing in it, in a folder of its own in the folder."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "chats.db"
    path.write_bytes(_empty_store())
    return path
