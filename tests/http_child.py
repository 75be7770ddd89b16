"""Whole servers in processes of their own: to be killed, stopped, and asked beside others on the same store.

A nursery has imported everything once and forks a server whenever it is told, so that one starts in moments.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx


@dataclass(frozen=True)
class Child:
    """A server that runs elsewhere."""

    nursery: Nursery
    pid: int
    url: str

    def async_client(self, **options: Any) -> httpx.AsyncClient:
        options.setdefault("timeout", 30)
        return httpx.AsyncClient(base_url=self.url, **options)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def stop(self) -> None:
        """Tell it to stop, as a supervisor does."""
        os.kill(self.pid, signal.SIGTERM)

    def ended(self) -> int:
        """Wait until it has ended, and give its exit code."""
        return int(self.nursery.ask({"wait": self.pid}))

    def rss(self) -> int:
        """Its resident memory in bytes."""
        fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Nursery:
    """A process that forks servers."""

    process: subprocess.Popen[str]

    def ask(self, what: dict[str, Any]) -> str:
        self.tell(what)
        return self.answer()

    def tell(self, what: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    @contextmanager
    def children(self, place: str, base_url: str, *, count: int = 1, **job: Any) -> Iterator[list[Child]]:
        """Run servers on free ports until the block is left. `job`: their `server` and `lease_seconds`."""
        for _ in range(count):
            self.tell({"place": place, "base_url": base_url, **job})
        started = [self.answer().split() for _ in range(count)]
        made = [Child(self, int(pid), f"http://127.0.0.1:{port}") for pid, port in started]
        try:
            assert all(port.isdecimal() for _, port in started), "a server did not start; it says why above"
            yield made
        finally:
            for one in made:
                with suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
                one.ended()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Give a nursery; it and all its servers end with the block or with this process."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Nursery(process)
        finally:
            process.kill()


def run_server(job: dict[str, Any]) -> None:
    """Serve until a signal; tell pid and port once requests are answered."""
    from trimtab import Config
    from trimtab.config import Server
    from trimtab.host import Host
    from trimtab.http.serving import listen, serve

    server = Server(port=0, **job.get("server", {}))
    endpoint = {"driver": "openai-compatible", "base_url": job["base_url"], "retries": 0}
    config = Config(providers={"local": endpoint}, server=server)
    host = Host(job["place"], config, environ={}, lease_seconds=job.get("lease_seconds", 30))
    listening = listen(server)
    port = listening.getsockname()[1]

    def ready() -> None:
        os.write(1, f"{os.getpid()} {port}\n".encode())

    serve(host, server, listening, ready=ready)


def _served(job: dict[str, Any]) -> int:
    """Serve, and give the exit code; one that cannot start says so in place of its port."""
    os.close(0)
    try:
        run_server(job)
    except BaseException:
        traceback.print_exc()
        os.write(1, f"{os.getpid()} failed\n".encode())
        return 1
    return 0


def main() -> None:
    """Fork servers, and wait for their ends, as a line says."""
    import psycopg  # noqa: F401 - imported once for all servers

    import trimtab_plugins.providers.openai_compatible  # noqa: F401

    codes: dict[int, int] = {}
    for line in sys.stdin:
        job = json.loads(line)
        if "wait" in job:
            pid = int(job["wait"])
            if pid not in codes:
                codes[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(codes[pid], flush=True)
        elif not os.fork():
            os._exit(_served(job))


if __name__ == "__main__":
    main()
