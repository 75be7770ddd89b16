"""docs/http.md says what is so."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest

from http_helpers import DRY, Running, make_app
from trimtab.config import Server
from trimtab.http.errors import STATUSES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/http.md").read_text()
README = (ROOT / "README.md").read_text()


def rows(head: str) -> list[list[str]]:
    """The rows of the table whose first column has this head."""
    table = re.search(rf"^\| {re.escape(head)} \|.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table is not None
    return [re.split(r"\s*\|\s*", line.strip("| ")) for line in table[1].splitlines()]


def test_every_operation_is_in_the_table(place: str) -> None:
    described = [
        f"`{method.upper()} {path}`"
        for path, item in make_app(place).openapi()["paths"].items()
        for method in item
    ]

    assert sorted(row[0] for row in rows("operation")) == sorted(described)


def test_every_key_of_the_section_is_in_the_table_with_its_default() -> None:
    table = {row[0].strip("`"): row[1].strip("`") for row in rows("key of `[server]`")}
    defaults = Server().model_dump(mode="json", exclude={"gateway"})

    assert list(table) == list(Server.model_fields)
    assert {key: json.loads(said) for key, said in table.items() if said} == defaults


def test_every_code_of_http_is_in_the_table_with_its_status() -> None:
    assert {row[0].strip("`"): int(row[1]) for row in rows("code")} == STATUSES


@pytest.mark.parametrize("page", [PAGE, README], ids=["http", "README"])
def test_the_printed_calls_work_as_printed(server: Running, page: str) -> None:
    chat = httpx.post(f"{server.url}/api/v2/chats", json=DRY).json()["id"]
    blocks = re.findall(r"```sh\n(curl .*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines() if "\\\n" not in block else [block]:
            answer = _ask(line, server.url, chat)
            assert answer.status_code in (200, 201), answer.text
            if "/turns" in line:
                assert "event: turn_completed" in answer.text


def _ask(command: str, url: str, chat: str) -> httpx.Response:
    """Do what a curl line does, at this server and with this chat."""
    words = shlex.split(command.replace("http://127.0.0.1:8420", url).replace("CHAT", chat))
    headers: Any = dict(word.split(": ") for at, word in enumerate(words) if words[at - 1] == "-H")
    address = next(word for word in words if word.startswith("http://"))
    return httpx.post(address, headers=headers, content=words[words.index("-d") + 1], timeout=20)
