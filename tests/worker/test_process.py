"""One worker process: what the plugin prints, and what happens where no worker comes up or is not confined."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.loading.worker import process
from trimtab.loading.worker.calling import Use, load_confined
from trimtab.loading.worker.pool import WorkerPool, refused_steps
from trimtab_sdk import PluginLoadError, PluginTimeoutError
from trimtab_worker.confinement import STEPS
from worker.confined_plugins import (
    REACH,
    REFUSING,
    bounds,
    call,
    is_gone,
    module,
    notes_of,
    own_folders_with,
    plugin,
    run_host,
    settle,
    told,
)


def test_what_a_plugin_prints_when_imported_and_when_called_is_told_and_never_stands_between_frames(
    pool: WorkerPool, tmp_path: Path
) -> None:
    head = """
        import ctypes, os, sys
        print("imported")
        os.write(2, b"by hand\\n")
        """
    body = """
        print("called")
        os.write(1, b"on one\\n")
        print("complained", file=sys.stderr)
        library = ctypes.CDLL(None)
        library.puts(b"in C")
        library.fflush(None)
        sys.stdout.write("unfinished")
        return Edit(notes=["works"])
        """
    spec = plugin(tmp_path, body, head=head)

    called = call(pool, spec, scope="printing")

    assert notes_of(called) == ["works"]
    assert called.use.output.splitlines() == [
        *["imported", "by hand", "called", "on one", "complained", "in C", "unfinished"]
    ]
    assert call(pool, spec, scope="printing").use.output.splitlines()[0] == "called"


def test_what_a_plugin_prints_is_capped(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "print('é' * 500_000)")

    output = call(pool, spec).use.output

    assert output.startswith("ééé")
    assert output.endswith(f" … and {1_000_001 - process.MOST_OUTPUT_BYTES} bytes more")
    assert len(output) < 10_000


def test_what_is_no_text_is_told_all_the_same(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, r"os.write(1, b'a\xff\xfeb')", head=REACH)

    assert call(pool, spec).use.output == "a\ufffd\ufffdb"


def test_what_a_plugin_printed_before_it_crashed_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "os.write(1, b'last words'); os._exit(1)", head=REACH)
    use = Use()

    with pytest.raises(Exception, match="exit code 1"):
        call(pool, spec, use=use)

    assert use.output == "last words"


def test_what_a_plugin_printed_before_it_was_late_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "os.write(1, b'thinking')\nwhile True: pass", head=REACH)
    use = Use()

    with pytest.raises(PluginTimeoutError):
        call(pool, spec, use=use, seconds=1)

    assert use.output == "thinking"


def test_a_plugin_that_breaks_its_own_streams_still_answers(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
        import sys
        class Broken:
            def flush(self): raise SystemExit
        sys.stdout = Broken()
        sys.stderr = None
        return Edit(notes=["works"])
        """

    assert notes_of(call(pool, plugin(tmp_path, body))) == ["works"]


def test_printing_without_end_holds_nobody_up() -> None:
    worker = process.WorkerProcess()
    with open("/dev/zero", "rb") as endless:
        worker._printed = endless.fileno()
        worker.receive(deadline=time.monotonic() + 20)
        began = time.monotonic()
        with pytest.raises(process.LateError):
            worker.receive(deadline=began + 0.2)
        output = worker.take_output()
    worker.kill()
    worker.bury()

    assert time.monotonic() - began < 2
    assert output.startswith("\0" * 1000)


def test_a_worker_here_is_confined_in_every_step(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "pass")

    loaded = load_confined(pool, spec, bounds())

    assert sorted(step.step for step in loaded.steps) == sorted(STEPS)
    assert call(pool, spec).use.refused == refused_steps(loaded.steps)
    assert pool.probe() == loaded.steps


DYING = "from trimtab_worker.confinement_real import *\nimport os\ndef give_up(*, parent): os._exit(5)"
RAISING = "from trimtab_worker.confinement_real import *\ndef give_up(*, parent): raise RuntimeError('no kernel')"


@pytest.fixture
def worker_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make workers start with another module in place of their confinement."""

    def replace(source: str) -> None:
        folders = own_folders_with(tmp_path / "own", source)
        monkeypatch.setattr(process, "_own_folders", lambda: folders)

    return replace


def test_strict_refuses_a_worker_whose_confinement_is_not_complete_before_anything_is_imported(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None]
) -> None:
    worker_with(REFUSING)
    trail = tmp_path / "imported"
    spec = plugin(tmp_path / "plugin", "pass", head=f"open({str(trail)!r}, 'w').close()")

    with pytest.raises(PluginLoadError, match=r"odd \(trimtab-odd 1.0\).*strict.*seccomp: not on this kernel"):
        load_confined(fresh_pool, spec, bounds(strict=True))
    with pytest.raises(PluginLoadError, match="seccomp: not on this kernel"):
        call(fresh_pool, spec, within=bounds(strict=True))

    assert not trail.exists()
    assert fresh_pool.size == 0


def test_without_strict_the_plugin_runs_and_what_was_refused_is_told(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None]
) -> None:
    worker_with(REFUSING)
    spec = plugin(tmp_path / "plugin", "return Edit(notes=['works'])")

    loaded = load_confined(fresh_pool, spec, bounds())
    called = call(fresh_pool, spec, scope="one")

    assert refused_steps(loaded.steps) == {"seccomp": "not on this kernel"}
    assert called.use.refused == {"seccomp": "not on this kernel"}
    assert notes_of(called) == ["works"]


def test_strict_also_ends_a_worker_that_was_started_without_it(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None]
) -> None:
    worker_with(REFUSING)
    spec = plugin(tmp_path / "plugin", "pass")
    call(fresh_pool, spec, scope="one")

    with pytest.raises(PluginLoadError, match="strict"):
        call(fresh_pool, spec, scope="one", within=bounds(strict=True))

    assert fresh_pool.size == 0


def test_whatever_a_plugin_starts_ends_with_it(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None]
) -> None:
    worker_with(REFUSING)
    body = """
        import os, sys
        if os.fork() == 0:
            while True: pass
        sys.stderr.write(str(os.getpid()))
        sys.stderr.flush()
        os._exit(0)
        """
    use = Use()

    with pytest.raises(Exception, match=r"did not answer|exit code 0|pipes"):
        call(fresh_pool, plugin(tmp_path / "plugin", body), use=use, seconds=2)

    settle(fresh_pool)
    assert is_gone(int(use.output))


def test_whatever_a_plugin_started_ends_also_when_the_plugin_itself_is_gone_already(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None]
) -> None:
    worker_with(REFUSING)
    body = """
        import os
        if os.fork() == 0:
            os.closerange(0, 100)
            while True: pass
        return Edit(notes=[str(os.getpid())])
        """
    spec = plugin(tmp_path / "plugin", body)
    first = int(notes_of(call(fresh_pool, spec, scope="a"))[0])
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)

    second = int(notes_of(call(fresh_pool, spec, scope="a"))[0])
    fresh_pool.close()

    assert first != second
    assert is_gone(first)
    assert is_gone(second)


def test_a_plugin_leaves_no_compiled_code_behind(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_with(REFUSING)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "shelf.py").write_text("")
    spec = plugin(tmp_path / "plugin", "return Edit(notes=['works'])", head="import shelf")

    assert notes_of(call(fresh_pool, spec)) == ["works"]

    assert sorted(file.name for file in (tmp_path / "plugin").iterdir()) == ["plugin_code.py", "shelf.py"]
    assert (tmp_path / "own" / "trimtab_worker" / "__pycache__").is_dir()


@pytest.mark.parametrize(
    ("source", "words"),
    [(DYING, "ended its process with exit code 5"), (RAISING, "ended its process with exit code 1")],
)
def test_a_worker_that_never_comes_up_is_told_apart_from_a_plugin_that_does_not_load(
    fresh_pool: WorkerPool, tmp_path: Path, worker_with: Callable[[str], None], source: str, words: str
) -> None:
    worker_with(source)
    spec = plugin(tmp_path / "plugin", "pass")

    for _ in range(2):
        with pytest.raises(PluginLoadError, match=f"has no worker, since none came up: it {words}"):
            load_confined(fresh_pool, spec, bounds())

    settle(fresh_pool)
    assert fresh_pool.size == 0
    assert fresh_pool._spawner.living == set()


@pytest.mark.parametrize("program", ["", "/nowhere/python", "/bin/true", "/bin/echo"])
def test_a_host_without_a_python_of_its_own_gets_a_clear_error(
    fresh_pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)

    with pytest.raises(PluginLoadError, match=r"odd \(trimtab-odd 1.0\): has no worker, since n"):
        load_confined(fresh_pool, plugin(tmp_path, "pass"), bounds())


def test_a_frozen_program_is_never_started_a_second_time(
    fresh_pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    with pytest.raises(PluginLoadError, match="no Python interpreter of its own"):
        load_confined(fresh_pool, plugin(tmp_path, "pass"), bounds())


def test_a_start_that_failed_in_the_background_does_not_fail_the_next_call(
    fresh_pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> subprocess.Popen[bytes]:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    spec = plugin(tmp_path, "return Edit(notes=['works'])")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuse)
        fresh_pool.prepare()
        settle(fresh_pool)
        with pytest.raises(PluginLoadError, match=r"no process could be started.*temporarily unavailable"):
            call(fresh_pool, spec)
        fresh_pool.prepare()
        settle(fresh_pool)

    assert notes_of(call(fresh_pool, spec)) == ["works"]


@pytest.mark.parametrize("started", [False, True], ids=["no thread", "no process"])
def test_a_user_who_may_start_no_more_processes_gets_a_clear_error(started: bool) -> None:
    done = run_host(
        """
        import json, os, resource, sys, tempfile
        from pathlib import Path
        from trimtab.loading.worker.calling import load_confined
        from trimtab.loading.worker.pool import worker_pool
        from trimtab_sdk import PluginLoadError
        from worker.confined_plugins import bounds, plugin
        spec = plugin(Path(tempfile.mkdtemp()), "pass")
        if sys.argv[1] == "True":
            worker_pool()._spawner._ensure_thread()
        if os.getuid() == 0:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        try:
            load_confined(worker_pool(), spec, bounds())
        except PluginLoadError as error:
            print(json.dumps({"said": str(error)}))
        """,
        started,
    )

    said = told(done)["said"]
    assert isinstance(said, str)
    assert said.startswith("plugin odd (trimtab-odd 1.0): has no worker, since no process could be started: ")


def test_a_host_without_room_for_more_files_gets_a_clear_error_and_goes_on() -> None:
    done = run_host(
        """
        import json, os, resource, tempfile
        from pathlib import Path
        from trimtab.loading.worker.calling import load_confined
        from trimtab.loading.worker.pool import worker_pool
        from trimtab_sdk import PluginLoadError
        from worker.confined_plugins import bounds, call, plugin
        spec = plugin(Path(tempfile.mkdtemp()), "return Edit(notes=['works'])")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 1, hard))
        try:
            load_confined(worker_pool(), spec, bounds())
        except PluginLoadError as error:
            said = str(error)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        print(json.dumps({"said": said, "then": call(worker_pool(), spec).edit.notes}))
        """
    )

    answer = told(done)
    assert "no process could be started: [Errno 24]" in str(answer["said"])
    assert answer["then"] == ["works"]


def test_a_plugin_without_its_folder_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    spec = module(tmp_path / "plugin", "")
    shutil.rmtree(tmp_path / "plugin")

    with pytest.raises(PluginLoadError, match="ModuleNotFoundError: No module named 'plugin_code'"):
        load_confined(pool, spec, bounds())
