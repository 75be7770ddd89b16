"""Runs probes in children that confine themselves."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import NamedTuple

from worker.open_house import House, Identity

_START = "import sys; sys.path.insert(0, sys.argv[1]); from confinement_probe import main; main(sys.argv[2])"


class Told(NamedTuple):
    """What a step reported."""

    done: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a child answered; `code` is its exit code, and without an answer `result` is None."""

    result: object
    told: dict[str, Told]
    code: int
    errors: str


def command(house: House, probe: str, steps: list[str], *arguments: object, **order: object) -> list[str]:
    """The command line of a child that does `steps` and tries `probe`."""
    text = json.dumps({"steps": steps, "probe": probe, "arguments": arguments, **order})
    return [house.python, "-I", "-S", "-B", "-X", "utf8", "-c", _START, str(house.packages), text]


def probe(
    house: House, identity: Identity, name: str, steps: list[str], *arguments: object, **order: object
) -> Outcome:
    """Let a child of `identity` do `steps` and try the probe called `name`; give what came of it."""
    return _outcome(identity.popen(command(house, name, steps, *arguments, **order)))


def run(house: House, identity: Identity, name: str, steps: list[str], **settings: object) -> Outcome:
    """The same for a probe without arguments, in a child that is started with `settings`."""
    return _outcome(identity.popen(command(house, name, steps), **settings))


def _outcome(child: subprocess.Popen[str]) -> Outcome:
    output, errors = child.communicate(timeout=60)
    if not output:
        return Outcome(None, {}, child.returncode, errors)
    answer = json.loads(output.splitlines()[-1])
    told = {step: Told(done, detail) for step, done, detail in answer["reports"]}
    return Outcome(answer["result"], told, child.returncode, errors)
