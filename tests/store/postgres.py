"""A PostgreSQL server for the tests: private, in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest

_USUAL_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running server."""

    folder: Path

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    @staticmethod
    def database_of(url: str) -> str:
        return url.partition("@/")[2].partition("?")[0]

    @contextmanager
    def database(self, *, template: str = "template0") -> Iterator[str]:
        """A database of its own, as a URL; dropped in the end, whoever is still connected."""
        name = f"t{next(_NUMBERS)}_{os.getpid()}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str, *, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def end_connections(self) -> None:
        """Cut every connection but our own, as a restart of the server does."""
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def stop(self) -> None:
        """Stop the server as a crash does."""
        _run([_tools() / "pg_ctl", "-D", self.folder / "data", "stop", "-m", "immediate", "-w"], _user())

    def start(self) -> None:
        """Start the server."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c shared_buffers=32MB"
        folders: list[str | Path] = ["-D", self.folder / "data", "-l", self.folder / "log"]
        _run([_tools() / "pg_ctl", *folders, "-o", options, "-w", "-t", "60", "start"], _user())


@contextmanager
def run_cluster() -> Iterator[Cluster]:
    """Make a server, run it and take it away again."""
    tools = _tools()
    root = Path(tempfile.mkdtemp(prefix="trimtab-pg-"))
    user = _user()
    if user is not None:
        os.chown(root, user, -1)
    try:
        _make(tools, root, user)
        cluster = Cluster(root)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(root)


def _make(tools: Path, root: Path, user: int | None) -> None:
    data = root / "data"
    _run([tools / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"], user)


def _run(command: list[str | Path], user: int | None) -> None:
    done = subprocess.run(
        command, user=user, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=90
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")


def _tools() -> Path:
    found = shutil.which("initdb")
    if found is not None and Path(found).resolve().with_name("pg_ctl").exists():
        return Path(found).resolve().parent
    for pattern in _USUAL_PLACES:
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True):
            if (folder / "initdb").exists():
                return folder
    pytest.fail("these tests need a PostgreSQL server's programs: apt-get install postgresql")


def _user() -> int | None:
    """Whom to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    names = {one.pw_name: one.pw_uid for one in pwd.getpwall()}
    return names.get("postgres", names["nobody"])
