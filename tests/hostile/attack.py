"""What an attack of the hostile suite is: a plugin or a file that tries to break a rule, and what must stop it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Defence: TypeAlias = Literal["guard", "worker", "metadata", "config", "counter", "report", "conduct"]
Kind: TypeAlias = Literal["strategy", "interceptor", "tokenizer", "codec", "none"]
Play: TypeAlias = Literal["fit", "scopes", "again", "turns", "tool loop", "redacted", "command"]
Mode: TypeAlias = Literal["confined", "trusted"]
Verdict: TypeAlias = Literal["held", "lost", ""]

GOT_IT = "GOT-IT"
"""What an attack says of itself where it got what it must not have."""
NAME = "attack"
DISTRIBUTION = "trimtab-attack"
MODULE = "attack_code"
HOOKS: Mapping[str, str] = {"strategy": "trimtab_shift", "interceptor": "trimtab_intercept"}
GROUPS: Mapping[str, str] = {
    "strategy": "trimtab.strategies",
    "interceptor": "trimtab.interceptors",
    "tokenizer": "trimtab.tokenizers",
    "codec": "trimtab.codecs",
}

# What every attacking module begins with; `FACTS` are the places of its arena.
PRELUDE = '''
import ctypes, gc, os, sys, threading, time
from trimtab_sdk import *

FACTS = {facts!r}
SAID = []

def attempt(what, deed):
    """Try something forbidden, and remember how that went."""
    try:
        got = deed()
    except BaseException as error:
        SAID.append(f"tried {{what}}: {{type(error).__name__}} {{error}}"[:300])
    else:
        SAID.append(f"GOT-IT {{what}}: {{got!r}}"[:300])

def said():
    return Edit(notes=SAID[:50])

def system(number, *arguments):
    longs = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *longs)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
'''
# The pipe to the host, and the ticket of the frame in hand, found in the memory of a worker.
REACH = """
import json, struct

def pipe():
    return next(one for one in gc.get_objects() if type(one).__name__ == "Pipe")

def ticket():
    frame = sys._getframe()
    while frame.f_code.co_name != "_serve":
        frame = frame.f_back
    return frame.f_locals["frame"]["ticket"]

def send_body(body):
    os.write(pipe()._outgoing, struct.pack(">I", len(body)) + body)

def send(**frame):
    send_body(json.dumps({"ticket": ticket(), **frame}).encode())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack.

    - `name`, `family`, `does`: how the table tells it.
    - `defence`: what must hold it. `trusted` is what becomes of it where its author is trusted: `held`, `lost`, or
      nothing where that makes no sense.
    - `kind` is what it is published as. `body` is its hook, `head` stands before that; `source` is a whole module.
    - `told` is a pattern, found in what the host says of the plugin: it shows that the attack was made.
      `trusted_told` is the same where it is trusted.
    - `play` is what the host app does, `seconds`, `memory_mb` and `limits` what it allows, `config` what its
      configuration says besides, `options` what it asks of the fit.
    - `within` is how long the host app may take, in seconds.
    - `files` are put beside the module, `work` into the working directory, `env` into the environment.
    - `entry`, `entry_points`, `metadata`, `record`, `listed`, `more_entries`: its published metadata.
    - `arguments` are those of the command line; it `ends` with an error there.
    - `anew` starts a Python of its own for the host app, not a copy of a running one.
    - `installed` puts it into the host's own environment, also where it is not trusted.
    """

    name: str
    family: str
    does: str
    defence: Defence
    kind: Kind = "strategy"
    trusted: Verdict = "held"
    body: str = ""
    head: str = ""
    source: str = ""
    told: str = "note tried"
    trusted_told: str = ""
    play: Play = "fit"
    seconds: float = 2.0
    memory_mb: int = 512
    limits: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    within: float = 20.0
    files: Mapping[str, str] = field(default_factory=dict)
    work: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    entry: str = NAME
    entry_points: str = ""
    metadata: str = ""
    record: str | None = None
    listed: tuple[str, ...] = ()
    more_entries: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    ends: bool = False
    installed: bool = False
    anew: bool = False

    def pattern(self, mode: Mode) -> str:
        """What the host must say of it."""
        return (self.trusted_told if mode == "trusted" else "") or self.told

    def code(self, facts: Mapping[str, object]) -> str:
        """Give the attacking module, told the places of its arena."""
        begin = PRELUDE.format(facts=dict(facts)) + textwrap.dedent(self.head)
        if self.source:
            return begin + textwrap.dedent(self.source)
        hook = HOOKS.get(self.kind, HOOKS["strategy"])
        body = textwrap.indent(textwrap.dedent(self.body) or "return None\n", "    ")
        return f"{begin}\n@hookimpl\ndef {hook}(request, services):\n{body}\n"
