"""Every program of the guide to turns runs as printed, in its order."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from fakes.chat_server import ChatServer
from trimtab import Config
from trimtab.cli.chat_commands import COMMANDS
from trimtab.continuation.notices import SENTENCES
from trimtab.continuation.words import AbortCode, LogWord
from trimtab.host import Host
from trimtab.turns.events import TurnEvent
from trimtab_sdk import TextDelta
from trimtab_sdk.provider import FaultCode

PAGE = (Path(__file__).parents[2] / "docs/turns.md").read_text()
BLOCKS: Sequence[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_program_of_ten_lines_prints_what_the_guide_shows(tmp_path: Path) -> None:
    shown = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    ended = subprocess.run(
        [sys.executable, "-c", BLOCKS[0]], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == shown[1].strip()


def test_the_programs_of_the_guide_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ChatServer() as server:
        server.say("No pots.")
        server.say("Seven kettles.")
        server.call(("weigh", {"thing": "kettle"}))
        server.say("It is 1.2 kg.")
        gate = server.gate()
        server.say("Once upon ", gate, "a time.")
        server.say("Once upon a time there was a kettle.")
        server.say("Seven.")
        asyncio.run(run_blocks(server.base_url))
        gate.open()
        assert server.faults == []

    printed = capsys.readouterr().out
    for line in ("No pots.", "turn_completed", "turn_cancelled", "True"):
        assert line in printed


async def run_blocks(base_url: str) -> None:
    async with Host(
        "chats.db", Config(providers={"local": {"driver": "openai-compatible", "base_url": base_url}})
    ) as host:
        chat = await host.create_chat(owner="ann", provider="local", model="gpt-4o")
        names: dict[str, object] = {"host": host, "chat": chat, "Host": Host, "TextDelta": TextDelta}
        for block in BLOCKS[1:]:
            code = compile(block, "turns.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            running = eval(code, names)
            if inspect.isawaitable(running):
                await running


def test_the_guide_names_every_event_every_command_and_every_fault() -> None:
    kinds = [event.kind for event in get_args(TurnEvent)]
    words = [f"`{kind}`" for kind in kinds] + [f"`{code}`" for code in get_args(FaultCode)]
    words += [f"`/{name}" for name in COMMANDS]

    assert [word for word in words if word not in PAGE] == []


def test_the_guide_has_a_row_for_every_reason_why_a_cursor_is_not_used() -> None:
    assert [reason for reason in SENTENCES if f"| `{reason}` |" not in PAGE] == []
    assert [
        word for word in get_args(LogWord) if f"[continuation][{word}]" not in PAGE and f"`{word}`" not in PAGE
    ] == []
    assert all(f"`{code.upper()}`" in PAGE for code in get_args(AbortCode))
