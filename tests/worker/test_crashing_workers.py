"""However a plugin ends, the error names it and tells the author's traceback, and the next call works."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.loading.worker.calling import load_confined
from trimtab.loading.worker.pool import WorkerPool
from trimtab_sdk import PluginCrashedError, PluginLoadError, PluginRejectedError
from worker.confined_plugins import (
    BAD,
    GOOD,
    WORKS_WHEN_GOOD,
    bounds,
    call,
    module,
    next_pid,
    notes_of,
    plugin,
    processes_of,
    settle,
)

NAMED = r"(?m)^plugin odd \(trimtab-odd 1.0\) in trimtab_shift: "
ENDS = {
    "os._exit": ("os._exit(3)", "ended its process with exit code 3"),
    "os._exit with nothing to complain of": ("os._exit(0)", "ended its process with exit code 0"),
    "SIGKILL": ("os.kill(os.getpid(), 9)", "ended by the signal SIGKILL|raised PermissionError"),
    "a segmentation fault": ("import ctypes; ctypes.string_at(0)", "ended by the signal SIGSEGV"),
    "abort": ("os.abort()", "ended by the signal SIG(ABRT|SEGV)"),
    "SystemExit": ("sys.exit(7)", "raised SystemExit: 7"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "raised KeyboardInterrupt$"),
    "GeneratorExit": ("raise GeneratorExit", "raised GeneratorExit$"),
    "EOFError": ("raise EOFError('no more')", "raised EOFError: no more"),
    "BrokenPipeError": ("raise BrokenPipeError('gone')", "raised BrokenPipeError: gone"),
    "an endless recursion": ("def go(): go()\ngo()", "raised RecursionError: maximum recursion depth"),
    "a recursion without its limit": (
        "sys.setrecursionlimit(10**9)\nx = []\nfor _ in range(200_000): x = [x]\nrepr(x)",
        "ended by the signal SIGSEGV|raised RecursionError|raised MemoryError",
    ),
    "too much memory": ("bytes(3 * 10**9)", "raised MemoryError$"),
    "memory bit by bit": ("x = []\nwhile True: x.append(bytearray(10**6))", "raised MemoryError$|ended by"),
    "an exception that cannot say what it is": (
        "class Mute(Exception):\n    def __str__(self): raise SystemExit\nraise Mute",
        "raised Mute: .no text.",
    ),
    "an exception with hostile words": (
        r"raise ValueError('\x1b[2J\u202e' + 'x' * 10**6)",
        "raised ValueError: .2J x",
    ),
    "its own atexit code": (
        "import atexit; atexit.register(lambda: os.write(1, b'atexit ran')); sys.exit()",
        "raised SystemExit$",
    ),
}


@pytest.mark.parametrize(("body", "words"), ENDS.values(), ids=ENDS)
def test_a_plugin_that_ends_its_call_is_named_and_the_next_call_works(
    pool: WorkerPool, tmp_path: Path, body: str, words: str
) -> None:
    spec = plugin(tmp_path, body, first=WORKS_WHEN_GOOD, head="import os, sys")
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]
    session = next_pid(pool)

    with pytest.raises(PluginCrashedError, match=NAMED + f"({words})") as caught:
        call(pool, spec, request=BAD)

    settle(pool)
    assert caught.value.code == "PLUGIN_CRASHED"
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700
    assert processes_of(session) == []
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]


def test_a_crash_carries_the_authors_traceback_and_none_of_the_hosts_frames(
    pool: WorkerPool, tmp_path: Path
) -> None:
    head = """
        def inner(shelf):
            return {}[shelf]
        """
    spec = plugin(tmp_path, "inner('B7')", head=head)

    with pytest.raises(PluginCrashedError) as caught:
        call(pool, spec)

    (note,) = caught.value.__notes__
    file = tmp_path / "plugin_code.py"
    lines = note.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith(f'  File "{file}", line')
    assert "    return {}[shelf]" in lines
    assert lines[-1] == "KeyError: 'B7'"
    assert "trimtab_worker" not in note


def test_a_traceback_is_bounded_and_cannot_write_to_the_terminal(pool: WorkerPool, tmp_path: Path) -> None:
    body = (
        r"raise ValueError('\n'.join('\x1b]0;line %d\x07' % at for at in range(5000)) + '\x9b31m' + 'y' * 10**6)"
    )
    spec = plugin(tmp_path, body)

    with pytest.raises(PluginCrashedError) as caught:
        call(pool, spec)

    (note,) = caught.value.__notes__
    assert len(note) < 20_000
    assert all(line.isprintable() for line in note.splitlines())


def test_the_cause_of_an_exception_is_told_too(pool: WorkerPool, tmp_path: Path) -> None:
    body = "try: int('x')\nexcept ValueError as error: raise RuntimeError('second') from error"
    spec = plugin(tmp_path, body)

    with pytest.raises(PluginCrashedError, match="raised RuntimeError: second") as caught:
        call(pool, spec)

    assert "ValueError: invalid literal" in caught.value.__notes__[0]


LOADS = {
    "no such module": ("", "gone", "", "ModuleNotFoundError: No module named 'gone'"),
    "no such attribute": ("", "plugin_code", "strategy.inner", "AttributeError"),
    "an error while it is imported": (
        "raise ZeroDivisionError('early')",
        "plugin_code",
        "",
        "ZeroDivisionError: early",
    ),
    "an exit while it is imported": ("raise SystemExit", "plugin_code", "", "SystemExit"),
    "the end of its process": ("import os; os._exit(4)", "plugin_code", "", "ended its process with exit code 4"),
    "a syntax error": ("def", "plugin_code", "", "SyntaxError: invalid syntax"),
    "a class": ("class Made: pass", "plugin_code", "Made", "is the class Made, not an instance"),
    "no hook": ("", "plugin_code", "", "has no trimtab_shift marked"),
    "an unknown hook": ("@hookimpl\ndef trimtab_shft(): pass", "plugin_code", "", "is not a plugin: unknown hook"),
    "a wrapper": (
        "@hookimpl(wrapper=True)\ndef trimtab_shift():\n    return (yield)",
        "plugin_code",
        "",
        "trimtab_shift is a wrapper; wrappers are refused",
    ),
    "traits that raise": (
        "@hookimpl\ndef trimtab_shift(): pass\n@hookimpl\ndef trimtab_traits(): raise KeyboardInterrupt",
        "plugin_code",
        "",
        "KeyboardInterrupt",
    ),
    "traits that are none": (
        "@hookimpl\ndef trimtab_shift(): pass\n@hookimpl\ndef trimtab_traits(): return {}",
        "plugin_code",
        "",
        "answered a dict; answer trimtab_sdk.Traits",
    ),
    "traits that no frame can carry": (
        "@hookimpl\ndef trimtab_shift(): pass\n@hookimpl\ndef trimtab_traits(): return Traits({'x': object()})",
        "plugin_code",
        "",
        "not JSON serializable",
    ),
}


@pytest.mark.parametrize(("source", "name", "attribute", "words"), LOADS.values(), ids=LOADS)
def test_a_plugin_that_cannot_be_loaded_is_told_in_the_authors_terms(
    pool: WorkerPool, tmp_path: Path, source: str, name: str, attribute: str, words: str
) -> None:
    written = module(tmp_path, source)
    spec = type(written)(written.origin, name, attribute, written.hook, written.paths)

    with pytest.raises(PluginLoadError, match=r"odd \(trimtab-odd 1.0\): could not be loaded.*") as caught:
        load_confined(pool, spec, bounds())

    assert words in str(caught.value)
    assert caught.value.code == "PLUGIN_LOAD_FAILED"


def test_what_a_plugin_printed_before_it_ended_while_it_was_imported_is_a_note(
    pool: WorkerPool, tmp_path: Path
) -> None:
    spec = module(tmp_path, r"import os; print('needs \x1b[31m numpy', flush=True); os._exit(1)")

    with pytest.raises(PluginLoadError) as caught:
        load_confined(pool, spec, bounds())

    assert caught.value.__notes__ == ["needs [31m numpy"]


def test_the_worker_reads_the_modules_of_the_plugins_folder_and_none_of_the_hosts(
    pool: WorkerPool, tmp_path: Path
) -> None:
    (tmp_path / "shelf.py").write_text("word = 'found'\n")
    head = "import shelf, sys\nown = [one for one in ('trimtab', 'pydantic') if one in sys.modules]"
    body = """
        for name in ('trimtab', 'pydantic', 'trimtab_strategies', 'pip'):
            try: __import__(name)
            except ImportError: continue
            own.append(name)
        return Edit(notes=[shelf.word, *own])
        """
    spec = plugin(tmp_path, body, head=head)

    assert notes_of(call(pool, spec)) == ["found"]


def test_a_plugin_folder_cannot_replace_the_standard_library_the_sdk_or_pluggy(
    pool: WorkerPool, tmp_path: Path
) -> None:
    for name in ("json", "trimtab_sdk", "pluggy", "trimtab_worker", "textwrap"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('replaced')\n")
    spec = plugin(
        tmp_path, "import textwrap; return Edit(notes=['works'])", head="import json, trimtab_sdk, pluggy"
    )

    assert notes_of(call(pool, spec)) == ["works"]


def test_all_of_the_sdk_can_be_imported_in_a_worker(pool: WorkerPool, tmp_path: Path) -> None:
    import trimtab_sdk

    folder = Path(str(trimtab_sdk.__file__)).parent
    names = sorted(f"trimtab_sdk.{file.stem}" for file in folder.glob("*.py") if file.stem != "__init__")
    body = f"import importlib; return Edit(notes=[importlib.import_module(name).__name__ for name in {names}])"
    spec = plugin(tmp_path, body)

    assert notes_of(call(pool, spec)) == names


def test_nothing_of_the_host_stands_in_the_arguments_or_the_environment(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "return Edit(notes=[repr(sys.argv), *sorted(os.environ)])", head="import os, sys")

    arguments, *names = notes_of(call(pool, spec))

    assert arguments == "['-c']"
    assert all(name.endswith("_NUM_THREADS") or name == "LC_CTYPE" for name in names)


def test_an_honest_plugin_may_answer_nothing(pool: WorkerPool, tmp_path: Path) -> None:
    assert call(pool, plugin(tmp_path, "return None")).edit is None


def test_an_answer_that_is_no_edit_is_rejected_in_the_authors_terms(pool: WorkerPool, tmp_path: Path) -> None:
    with pytest.raises(PluginRejectedError, match=r"answered a list; answer a trimtab_sdk.Edit or None"):
        call(pool, plugin(tmp_path, "return []"))
