"""Lets an attack loose on a host app in a process of its own, and looks at everything from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import judge
from hostile.arena import Arena, Snapshot, open_arena
from hostile.attack import DISTRIBUTION, NAME, Attack, Mode
from hostile.chat import KEY_SECRET, PINS, ROOM, TEXT_SECRET, Chat, chat, next_step, next_turn, with_key
from hostile.publishing import filled, publish, publish_honest, write

HERE = Path(__file__).parent
MODEL = "gpt-4.1"
ROUNDS = 14
# Beyond what the host app may take: then it hangs. One that is expected to hang is not waited for as long.
_PATIENCE, _SHORT = 1.0, 5.0


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is to be seen after an attack.

    - `answer` is what the host app wrote, None where it wrote nothing; `words` what it printed.
    - `code` is its exit code, None where it had to be ended; `seconds` its time, `peak` its memory in MiB.
    - `left` are processes it left behind, `heard` listeners that were spoken to.
    - `before` and `after` are the files, `secrets` what must have stayed where it was.
    - `chats` is what it was given, `budget` the room there was.
    """

    answer: Mapping[str, Any] | None
    words: str
    code: int | None
    seconds: float
    peak: int
    left: tuple[str, ...]
    heard: tuple[str, ...]
    before: Snapshot
    after: Snapshot
    secrets: tuple[str, ...]
    chats: tuple[Chat, ...]
    budget: int


class Nursery:
    """Where host apps come from. Safe between threads; one host app runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "nursery.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def raise_host_app(self, order: Mapping[str, object]) -> Mapping[str, Any]:
        """Let a host app live until its end, and say how that went."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(f"{json.dumps(order)}\n")
            self._process.stdin.flush()
            told: Mapping[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def close(self) -> None:
        """End the nursery, which has no children then."""
        self._process.communicate()


def let_loose(attack: Attack, mode: Mode, nursery: Nursery) -> Aftermath:
    """Make an attack, its author trusted or not, and tell what came of it."""
    with open_arena() as arena:
        _set_up(arena, attack, mode)
        before = arena.snapshot()
        done = nursery.raise_host_app(_host_app(arena, attack, mode))
        out = arena.root / "out"
        answer = out / "answer.json"
        return Aftermath(
            answer=_read(answer) if answer.exists() else None,
            words=_printed(out),
            code=done["code"],
            seconds=done["seconds"],
            peak=done["peak"],
            left=tuple(done["left"]),
            heard=tuple(arena.heard()),
            before=before,
            after=arena.snapshot(),
            secrets=(*arena.secrets, *_spoken_secrets(attack)),
            chats=tuple(_chats(attack)),
            budget=budget_of(attack),
        )


@cache
def budget() -> int:
    """The room in the request, in tokens."""
    return int(judge.request_tokens(chat()) * ROOM)


def budget_of(attack: Attack) -> int:
    """The room that an attack finds, in tokens."""
    limit = attack.options.get("context_limit")
    return limit if isinstance(limit, int) else budget()


def _spoken_secrets(attack: Attack) -> tuple[str, ...]:
    return {"scopes": (TEXT_SECRET,), "redacted": (KEY_SECRET,)}.get(attack.play, ())


def _read(answer: Path) -> Mapping[str, Any]:
    value: Mapping[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return value


def _printed(out: Path) -> str:
    return "".join(
        (out / name).read_bytes()[:2_000_000].decode("utf-8", "replace") for name in ("stdout", "stderr")
    )


def _set_up(arena: Arena, attack: Attack, mode: Mode) -> None:
    site, plugins = arena.root / "site" / "packages", arena.root / "plugins"
    here = mode == "trusted" or attack.installed
    publish(attack, site if here else plugins / DISTRIBUTION, arena.facts)
    publish_honest(site if here else plugins / "trimtab-honest")
    write(arena.root / "work", {path: filled(text, arena.facts) for path, text in attack.work.items()})
    write(
        arena.root / "out",
        {"order.json": json.dumps(_order(arena, attack, mode)), "chat.json": json.dumps(chat())},
    )


def _host_app(arena: Arena, attack: Attack, mode: Mode) -> dict[str, object]:
    """Give the order for a host app."""
    hangs = mode == "trusted" and attack.trusted == "lost"
    out, site = arena.root / "out", str(arena.root / "site" / "packages")
    own = {name: filled(value, arena.facts) for name, value in attack.env.items()}
    return {
        "command": _command(arena, attack, out),
        "order": str(out / "order.json"),
        "answer": str(out / "answer.json"),
        "work": str(arena.root / "work"),
        "site": site,
        "environment": {**arena.environment, "PYTHONPATH": site, **own},
        "out": str(out),
        "seconds": min(attack.within, _SHORT if hangs else attack.within) + _PATIENCE,
    }


def _command(arena: Arena, attack: Attack, out: Path) -> list[str]:
    if attack.play == "command":
        own = [filled(one, arena.facts) for one in attack.arguments]
        fit = ["fit", str(out / "chat.json"), "--model", MODEL, "--limit", str(budget()), "--reserve", "0"]
        return [sys.executable, "-B", str(Path(sys.executable).with_name("trimtab")), *fit, *own]
    if attack.anew:
        start = "import sys; from pathlib import Path; sys.path.append(sys.argv[1]); import host_app; "
        serve = start + "host_app.serve(Path(sys.argv[2]), Path(sys.argv[3]))"
        files = [str(HERE), str(out / "order.json"), str(out / "answer.json")]
        return [sys.executable, "-B", "-P", "-c", serve, *files]
    return []


def _order(arena: Arena, attack: Attack, mode: Mode) -> dict[str, object]:
    return {
        "chats": _chats(attack),
        "conversation": attack.play in {"turns", "tool loop"},
        "fits": _fits(attack),
        "options": {**_options(attack), **attack.options},
        "config": {**_config(arena, attack, mode), **attack.config},
    }


def _options(attack: Attack) -> dict[str, object]:
    if attack.kind == "tokenizer":
        return {"model": "attacked", "reserve": 0, "pins": PINS, "format": "chat-completions"}
    return {
        "model": MODEL,
        "context_limit": budget(),
        "reserve": 0,
        "pins": PINS,
        "format": NAME if attack.kind == "codec" else "chat-completions",
        "strategy": NAME if attack.kind == "strategy" else "truncate",
    }


def _config(arena: Arena, attack: Attack, mode: Mode) -> dict[str, object]:
    names = [attack.entry, *attack.more_entries] if attack.kind == "interceptor" else []
    return {
        "trusted": [DISTRIBUTION] if mode == "trusted" else [],
        "plugin_directory": str(arena.root / "plugins"),
        "interceptors": ["honest", *names] if attack.play == "redacted" else names,
        "limits": {
            name: {"seconds": attack.seconds, "memory_mb": attack.memory_mb, **attack.limits}
            for name in (attack.entry, *attack.more_entries)
        },
        "models": {"attacked": {"encoding": NAME, "context_limit": budget()}},
    }


def _chats(attack: Attack) -> list[Chat]:
    if attack.play == "scopes":
        return [chat(TEXT_SECRET), chat()]
    return [with_key() if attack.play == "redacted" else chat()]


def _fits(attack: Attack) -> list[dict[str, object]]:
    if attack.play == "scopes":
        return [
            {"chat": at, "scope": scope} for at, scope in ((0, "first"), (1, "second"), (1, None), (1, "third"))
        ]
    if attack.play == "again":
        return [{"chat": 0, "scope": "same"}] * 6
    if attack.play in {"turns", "tool loop"}:
        more = next_turn if attack.play == "turns" else next_step
        return [{"append": more(at) if at else []} for at in range(ROUNDS)]
    return [{"chat": 0, "scope": None}]
