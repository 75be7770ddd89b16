"""The end of the process, and what runs at its beginning and its end."""

from __future__ import annotations

from functools import partial

from hostile.attack import REACH, Attack

_end = partial(Attack, family="ends", defence="worker", trusted="lost", told="^PLUGIN_CRASHED")
_IMPORTED = "\n@hookimpl\ndef trimtab_shift(request, services): return said()\n"
_TOUCH = "lambda: open(f\"{FACTS['canary']}/late\", 'w').close()"

ATTACKS = (
    _end(name="exit without a word", does="ends the process at once", body="os._exit(0)"),
    _end(
        name="kill",
        does="sends SIGKILL to its own process",
        body="os.kill(os.getpid(), 9)",
    ),
    _end(name="a segmentation fault", does="reads address 0", body="ctypes.string_at(0)"),
    _end(name="abort", does="aborts", body="os.abort()"),
    _end(
        name="recursion without end",
        does="raises the limit of recursion, then recurses through C",
        body="""
            sys.setrecursionlimit(10 ** 9)
            nested = []
            for _ in range(10 ** 6): nested = [nested]
            return Edit(notes=[repr(nested)])
            """,
        told="^PLUGIN_(CRASHED|TIMEOUT)",
    ),
    _end(
        name="every descriptor closed",
        does="closes all open files, the host's among them",
        body="os.closerange(0, 1024)\nreturn Edit(notes=['tried'])",
        told="^PLUGIN_CRASHED",
        trusted="held",
        trusted_told="^note tried",
    ),
    _end(
        name="another program",
        does="replaces its process by a shell",
        body="""
            attempt('a shell', lambda: os.execv('/bin/sh', ['sh', '-c', f"echo x > {FACTS['canary']}/shell"]))
            return said()
            """,
        told="^note tried a shell",
    ),
    _end(
        name="a pipe closed",
        does="closes its pipe to the host and goes on",
        trusted="",
        head=REACH,
        body="os.close(pipe()._outgoing)\nwhile True: pass",
    ),
    _end(
        name="exit code",
        does="registers code for the end of the process",
        head="import atexit, weakref",
        body=f"""
            write = {_TOUCH}
            atexit.register(write)
            class Late:
                __del__ = lambda self: write()
            sys.late = Late()
            SAID.append('tried')
            return said()
            """,
        told="^note tried",
    ),
    _end(
        name="import code",
        does="writes a file while it is imported",
        source=f"attempt('to write', {_TOUCH})" + _IMPORTED,
        told="^note tried to write",
    ),
    _end(
        name="traits code",
        does="writes a file when it is asked for its traits",
        source=f"""
@hookimpl
def trimtab_traits():
    attempt('to write', {_TOUCH})
{_IMPORTED}
""",
        told="^note tried to write",
    ),
    _end(
        name="exit at import",
        does="ends the process while it is imported",
        source="os._exit(0)",
        told="^PLUGIN_LOAD_FAILED",
    ),
    _end(
        name="a module of many faces",
        does="answers every name it is asked for with itself, and puts itself in place of others",
        trusted="held",
        source="""
class Faces(type(sys)):
    def __getattr__(self, name): return self
    def __call__(self, *_, **__): return self
sys.modules[__name__] = Faces(__name__)
""",
        told="^PLUGIN_LOAD_FAILED",
    ),
    _end(
        name="a hook around all others",
        does="wraps the hook, in order to forge what others answer",
        defence="guard",
        trusted="held",
        source="""
import pluggy
@pluggy.HookimplMarker('trimtab')(wrapper=True)
def trimtab_shift(request, services):
    yield
    return Edit(drop={'m0': 'context-shift'})
""",
        told="^PLUGIN_LOAD_FAILED .*wrapper",
    ),
    _end(
        name="a class in place of a plugin",
        does="is an entry that runs code when somebody makes an instance of it",
        defence="guard",
        trusted="held",
        source=f"class attack:\n    __init__ = lambda self: ({_TOUCH})()\n    trimtab_shift = None\n",
        entry_points="[trimtab.strategies]\nattack = attack_code:attack\n",
        told="^PLUGIN_LOAD_FAILED",
    ),
)
