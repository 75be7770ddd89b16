"""A process that runs one turn of a case and is killed while a tool of it runs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from case_files import Json

_READY = "the tool runs"


def run_until_killed(job: Json) -> None:
    """Run a turn elsewhere, and kill that process as soon as the tool runs. Raises AssertionError else."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        said = process.stdout.readline().strip()
        process.kill()
    assert said == _READY, f"the turn ended before it was killed: {said!r}"


async def _run(job: Json) -> None:
    from case_turns_story import OWNER
    from case_turns_tools import Bench
    from trimtab import Config
    from trimtab.host import Host

    bench = Bench(at=lambda moment: None, die=lambda: print(_READY, flush=True))
    bench.script(job["runs"])
    tools = bench.tools(job["tools"])
    async with Host(
        job["place"], Config(**job["config"]), tools, environ={}, clock=lambda: float(job["now"])
    ) as host:
        async for event in host.turn(job["chat"], job["user"], owner=OWNER):
            if event.kind.startswith("turn_") and event.kind != "turn_started":
                print(event.to_dict(), flush=True)


if __name__ == "__main__":
    asyncio.run(_run(json.loads(sys.stdin.readline())))
