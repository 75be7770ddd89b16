"""Print what a turn costs beside a bare request, and how much of its requests a provider's prefix cache knows.

    python tests/benchmarks/turns.py

The server runs in a process of its own. A bare request is httpx sending the very body that a turn sends, and
reading the answer. Best run where nothing else does.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx

from benchmarks.prefix import cached_share, turn
from benchmarks.prefix import run as fitted_share
from fakes.chat_process import chat_server_process
from fakes.chat_server import ChatServer
from trimtab import Config
from trimtab.fitting.counting import TextCounter
from trimtab.host import Host
from trimtab.turns.events import TurnCompleted

MODEL = "gpt-4.1"
LINE = "The clerk wrote down crate {n}, its mark, its owner and the hour it was weighed at the gate of quay {m}. "


@dataclass(frozen=True)
class Load:
    """How many turns are timed, in how long chats; and how long the chat of the prefix table is."""

    turns: int = 30
    sizes: tuple[int, ...] = (100, 5000)
    counted: int = 10_000
    prefix_turns: int = 300


@dataclass(frozen=True)
class Row:
    """Milliseconds at the median: of a turn, of a bare request, and the most that may lie between them."""

    what: str
    turn: float
    bare: float
    most: float

    @property
    def overhead(self) -> float:
        """What the turn costs more."""
        return self.turn - self.bare


def long_history(size: int) -> list[dict[str, str]]:
    """Messages of over 500 bytes, no two alike."""
    roles = ("user", "assistant")
    texts = ("".join(LINE.format(n=at * 7 + line, m=line) for line in range(5)) for at in range(size))
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def config_for(base_url: str) -> Config:
    """Give the configuration with one endpoint, named `local`."""
    return Config(providers={"local": {"driver": "openai-compatible", "base_url": base_url}})


async def take_turn(host: Host, chat_id: str, text: str) -> float:
    """Take a turn and give its milliseconds."""
    start = time.perf_counter()
    last = None
    async for event in host.turn(chat_id, text, owner="bench"):
        last = event
    assert isinstance(last, TurnCompleted), last
    return (time.perf_counter() - start) * 1000


async def send_bare(client: httpx.AsyncClient, url: str, body: bytes) -> float:
    """Send a body, read the answer, and give the milliseconds."""
    start = time.perf_counter()
    headers = {"content-type": "application/json"}
    async with client.stream("POST", f"{url}/chat/completions", content=body, headers=headers) as reply:
        async for _ in reply.aiter_bytes():
            pass
    return (time.perf_counter() - start) * 1000


async def measure_overhead(load: Load, url: str, folder: Path) -> list[Row]:
    """Time turns in chats that the process holds, and in one that it reads anew each time."""
    rows: list[Row] = []
    for size in load.sizes:
        held = await _timed(load, url, folder / f"{size}.db", size, held=True)
        rows.append(Row(f"{size:,} stored messages, held", *held, most=15 if size <= 100 else 30))
    largest = max(load.sizes)
    anew = await _timed(load, url, folder / "anew.db", largest, held=False)
    rows.append(Row(f"{largest:,} stored messages, read anew", *anew, most=90))
    return rows


async def _timed(load: Load, url: str, path: Path, size: int, *, held: bool) -> tuple[float, float]:
    turns: list[float] = []
    bare: list[float] = []
    async with Host(path, config_for(url)) as host, httpx.AsyncClient(timeout=60) as client:
        chat = await host.create_chat(
            owner="bench", provider="local", model=MODEL, system="Be brief.", messages=long_history(size)
        )
        for at in range(load.turns + 2):
            body = (await host.preview(chat.id, "And then?", owner="bench")).body
            if not held:
                host.forget(chat.id)
            turns.append(await take_turn(host, chat.id, f"And then, for the {at}th time?"))
            bare.append(await send_bare(client, url, body))
    return statistics.median(turns[2:]), statistics.median(bare[2:])


async def counted_texts(load: Load, url: str, folder: Path) -> tuple[int, int]:
    """Give how many texts two turns tokenize in a long chat: the first one, and one after it in a new process."""
    counts: list[str] = []
    plain = TextCounter._checked

    def watched(self: TextCounter, text: str) -> int:
        counts.append(text)
        return plain(self, text)

    TextCounter._checked = watched  # type: ignore[method-assign]
    try:
        seen: list[int] = []
        path = folder / "counted.db"
        _forget_texts()
        async with Host(path, config_for(url)) as host:
            chat = await host.create_chat(
                owner="bench", provider="local", model=MODEL, messages=long_history(load.counted)
            )
            await take_turn(host, chat.id, "A first question, never asked before?")
            seen.append(len(counts))
        _forget_texts()
        counts.clear()
        async with Host(path, config_for(url)) as host:
            await take_turn(host, chat.id, "Another question, not asked before either?")
            seen.append(len(counts))
    finally:
        TextCounter._checked = plain  # type: ignore[method-assign]
    return seen[0], seen[1]


def _forget_texts() -> None:
    """Forget what this process has counted, as a new process has counted nothing."""
    from trimtab.loading import registry

    registry._loaded.clear()


def prefix_share(strategy: str, *, length: int) -> float:
    """Give the share of input tokens that stand in the request before, over a chat of turns through a host."""
    return asyncio.run(_prefix_share(strategy, length))


async def _prefix_share(strategy: str, length: int) -> float:
    rng = random.Random(7)
    pairs = [turn(rng) for _ in range(length)]
    answers = iter([answer["content"] for answer, _ in pairs])
    with ChatServer(judge=False, caching=False) as server, tempfile.TemporaryDirectory() as folder:
        async with Host(Path(folder) / "chats.db", config_for(server.base_url)) as host:
            whole = await _whole(host, pairs)
            chat = await host.create_chat(
                owner="bench",
                provider="local",
                model=MODEL,
                system="Be brief.",
                context_strategy=strategy,
                context_settings={"context_limit": int(whole * 0.25), "reserve": 0},
            )
            for text in ["Hello.", *(question["content"] for _, question in pairs[:-1])]:
                server.say(next(answers))
                await take_turn(host, chat.id, text)
        return cached_share([request.messages for request in server.requests])


async def _whole(host: Host, pairs: Iterable[list[dict[str, str]]]) -> int:
    """Count the whole chat, in a window without a limit worth speaking of."""
    chat = await host.create_chat(
        owner="bench",
        provider="local",
        model=MODEL,
        messages=[message for pair in pairs for message in pair],
        context_settings={"context_limit": 100_000_000},
    )
    return (await host.preview(chat.id, owner="bench")).fit.tokens_after


def overhead_table(rows: Iterable[Row]) -> str:
    """Give the table of times."""
    lines = [f"{'milliseconds at the median':36} {'turn':>8} {'bare':>8} {'overhead':>9} {'at most':>8}"]
    lines += [f"{row.what:36} {row.turn:8.1f} {row.bare:8.1f} {row.overhead:9.1f} {row.most:8.0f}" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    load = Load()
    with chat_server_process("--echo") as url, tempfile.TemporaryDirectory() as folder:
        print(overhead_table(asyncio.run(measure_overhead(load, url, Path(folder)))))
        first, later = asyncio.run(counted_texts(load, url, Path(folder)))
    print(
        f"\ntexts tokenized at {load.counted:,} messages: {first:,} in the first turn, {later:,} in the next one"
    )
    print("\nshare of input tokens in the request before    turns of a host    a plain fit each turn")
    for strategy in ("truncate", "summarize"):
        turns = prefix_share(strategy, length=load.prefix_turns)
        print(f"{strategy:46} {turns:12.2f} {fitted_share(strategy, carried=False):22.2f}")


if __name__ == "__main__":
    main()
