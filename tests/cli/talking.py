"""Talking with `trimtab chat`: lines in, what it prints out."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from cli.running import Ended, run_here
from trimtab import Config
from trimtab.host import Host

_T = TypeVar("_T")
DRY = ("--provider", "dry-run", "--model", "gpt-4o")
LOCAL = ("--provider", "local", "--model", "gpt-4o")


class Talker:
    """Talks in chats of a store of its own, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "chats.db"
        self.config = folder / "config.toml"
        self.endpoints: dict[str, dict[str, object]] = {}

    def provide(self, name: str, base_url: str, *more: str, driver: str = "openai-compatible") -> None:
        """Configure a provider."""
        lines = [f"[providers.{name}]", f'driver = "{driver}"', f'base_url = "{base_url}"', *more]
        with self.config.open("a") as file:
            file.write("\n".join(lines) + "\n")
        self.config.chmod(0o600)
        self.endpoints[name] = {"driver": driver, "base_url": base_url}

    def options(self) -> list[str]:
        named = ["--config", str(self.config)] if self.config.exists() else []
        return [*named, "--store", str(self.store)]

    def chat(self, *args: str, lines: str | bytes = "") -> Ended:
        data = lines.encode() if isinstance(lines, str) else lines
        with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")):
            return run_here("chat", *args, *self.options())

    def audit(self, *args: str) -> Ended:
        return run_here("audit", *args, *self.options())

    def chats(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = json.loads(self.chat("--list", "--json").out)
        return rows

    def the_chat(self) -> str:
        """The id of the only chat."""
        (row,) = self.chats()
        return str(row["id"])

    def host(self) -> Host:
        return Host(self.store, Config(providers=self.endpoints))


def wait_for(work: Coroutine[object, object, _T]) -> _T:
    return asyncio.run(work)


def row(table: str, number: int) -> str:
    """The line of a message in a table, blanks made one."""
    found = re.search(rf"^ *{number} .*$", table, re.MULTILINE)
    assert found, table
    return " ".join(found[0].split())
