"""When the database is gone, full, locked or read-only: coded answers, nothing half stored, no hands needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from http_helpers import DRY, Running, make_app, problem_of, running
from store.postgres import run_cluster
from trimtab.store import engines
from trimtab.store.sql_store import SqlStore

BIG = "x" * 200_000


def test_a_postgresql_that_goes_and_comes_back_needs_nobodys_hands() -> None:
    with (
        run_cluster() as cluster,
        cluster.database() as url,
        running(make_app(url)) as server,
        server.client() as client,
    ):
        chat = client.post("/api/v2/chats", json={**DRY, "system": "Be brief."}).json()
        path = f"/api/v2/chats/{chat['id']}"
        assert "turn_completed" in client.post(f"{path}/turns", json={"input": "Hello."}).text
        before = client.get(f"{path}/messages").json()

        cluster.stop()
        assert client.get("/api/v2/health").status_code == 200
        for _ in range(2):
            refused = client.get("/api/v2/readiness")
            problem_of(refused, 503, "STORE_UNAVAILABLE")
            assert refused.headers["retry-after"] == "1"
            for answer in _everything(client, path):
                problem = problem_of(answer, 503, "STORE_UNAVAILABLE")
                assert problem["retryable"] is True
                assert str(cluster.folder) not in answer.text
        preview = client.post(
            "/api/v2/context-preview", json={**DRY, "messages": [{"role": "user", "content": "a"}]}
        )
        assert preview.status_code == 200

        cluster.start()
        assert client.get("/api/v2/readiness").status_code == 200
        assert client.get(f"{path}/messages").json() == before
        assert "turn_completed" in client.post(f"{path}/turns", json={"input": "And now?"}).text
        assert len(client.get(f"{path}/messages").json()["messages"]) == len(before["messages"]) + 2
        assert len(client.get("/api/v2/chats").json()["chats"]) == 1


def _everything(client: httpx.Client, path: str) -> Iterator[httpx.Response]:
    calls: list[tuple[str, str, Any]] = [
        ("GET", "/api/v2/chats", None),
        ("POST", "/api/v2/chats", DRY),
        ("GET", path, None),
        ("PATCH", path, {"title": "no"}),
        ("GET", f"{path}/messages", None),
        ("GET", f"{path}/context-audit", None),
        ("POST", f"{path}/turns", {"input": "Hello?"}),
        ("POST", f"{path}/retry", {}),
        ("POST", "/api/v2/context-preview", {"chatId": path.rpartition("/")[2]}),
        ("GET", "/api/v2/turns/t", None),
        ("DELETE", path, None),
    ]
    for method, where, body in calls:
        yield client.request(method, where, json=body)


@contextmanager
def broken(server: Running, place: str, how: str) -> Iterator[None]:
    """Let the SQLite file of a server refuse every write."""
    if how == "locked":
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    off, on = {
        "full": ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"),
        "read-only": ("PRAGMA query_only = ON", "PRAGMA query_only = OFF"),
    }[how]
    _pragma(server, off)
    yield
    _pragma(server, on)


def _pragma(server: Running, statement: str) -> None:
    store = server.host.store
    assert isinstance(store, SqlStore)
    assert store._opened is not None
    with closing(store._opened.engines.writer.raw_connection()) as connection:
        connection.cursor().execute(statement)


@pytest.mark.parametrize("how", ["full", "locked", "read-only"])
def test_a_file_that_takes_no_write_can_be_read_on(place: str, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    with running(make_app(place)) as server, server.client() as client:
        chat = client.post("/api/v2/chats", json={**DRY, "system": "Be brief."}).json()
        path = f"/api/v2/chats/{chat['id']}"
        message = client.get(f"{path}/messages").json()["messages"][0]
        with broken(server, place, how):
            for answer in (
                client.post("/api/v2/chats", json={**DRY, "system": BIG}),
                client.patch(f"{path}/messages/{message['id']}", json={"text": BIG, "pinned": True}),
                client.post(f"{path}/turns", json={"input": BIG}),
            ):
                problem_of(answer, 503, "STORE_UNAVAILABLE")
                assert str(Path(place).parent) not in answer.text
            assert client.get("/api/v2/readiness").status_code == 200
            assert client.get(path).json() == chat
            assert client.get(f"{path}/messages").json()["messages"] == [message]
            assert client.get("/api/v2/chats").json()["chats"] == [chat]
        assert client.patch(f"{path}/messages/{message['id']}", json={"text": BIG}).json()["text"] == BIG
        assert "turn_completed" in client.post(f"{path}/turns", json={"input": "Hello."}).text
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_that_is_taken_away_is_told_and_found_again(place: str) -> None:
    with running(make_app(place)) as server, server.client() as client:
        chat = client.post("/api/v2/chats", json=DRY).json()
        away = Path(place).with_name("away.db")
        Path(place).rename(away)
        problem_of(client.post("/api/v2/chats", json=DRY), 503, "STORE_UNAVAILABLE")
        away.rename(place)
        assert client.post("/api/v2/chats", json=DRY).status_code == 201
        assert chat in client.get("/api/v2/chats").json()["chats"]
