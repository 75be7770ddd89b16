"""Each step alone refuses what it is there for; without it the same probe succeeds."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.open_house import IS_ROOT, OWN, PLAIN, House, Identity
from worker.probing import Outcome, command, probe, run

NO_GAIN = ["no-new-privs"]
FILTER = [*NO_GAIN, "seccomp"]
LANDLOCK = [*NO_GAIN, "landlock"]
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
IS_X86 = os.uname().machine == "x86_64"

# What the filter refuses, and how that shows. The probe gets a file of its own where it takes a path.
ON_A_FILE = ["write", "append", "truncate", "unlink", "rename", "link", "symlink", "make_folder", "make_pipe_file"]
ON_A_FILE += ["change_mode", "change_times", "lock_file", "own_signals"]
ALONE = ["make_socket", "make_pair", "fork", "execute", "trace_me", "memory_file", "be_dumpable_again"]
ALONE += ["change_limit", "new_session"]


@pytest.fixture
def folder(identity: Identity) -> Iterator[Path]:
    """A folder of the identity's own with a file in it, where every user can get at it."""
    made = Path(tempfile.mkdtemp(prefix="trimtab-probe-", dir="/tmp"))
    (made / "file").write_text("something")
    if identity.uid is not None:
        for path in (made, made / "file"):
            os.chown(path, identity.uid, identity.uid)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def neighbour(house: House, identity: Identity) -> Iterator[subprocess.Popen[str]]:
    """Another process of the same user, which waits."""
    child = identity.popen(command(house, "wait", []))
    assert child.stdout is not None
    child.stdout.readline()
    yield child
    child.communicate()


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def is_root(identity: Identity) -> bool:
    return identity == OWN and IS_ROOT


def may(house: House, identity: Identity, name: str, *arguments: object) -> bool:
    """Whether the surroundings allow what a step is made of, asked without the step."""
    return probe(house, identity, name, [], *arguments).result == "ok"


def landlock_version(house: House) -> int:
    version = probe(house, OWN, "landlock_version", []).result
    return version if isinstance(version, int) else 0


def test_in_namespaces_of_its_own_nothing_listens(house: House, identity: Identity, port: int) -> None:
    assert probe(house, identity, "connect", [], port).result == "ok"
    outcome = probe(house, identity, "connect", ["namespaces"], port)
    allowed = may(house, identity, "new_network")
    assert outcome.told["namespaces"].done == allowed
    assert outcome.result == ("ENETUNREACH" if allowed else "ok")


def test_in_namespaces_of_its_own_the_host_has_no_name(house: House, identity: Identity) -> None:
    assert probe(house, identity, "host_name", []).result == os.uname().nodename
    outcome = probe(house, identity, "host_name", ["namespaces"])
    expected = "worker" if may(house, identity, "new_network") else os.uname().nodename
    assert outcome.result == expected


def test_without_new_privileges_none_can_be_gained(house: House, identity: Identity) -> None:
    assert flags(probe(house, identity, "status", []))["NoNewPrivs"] == "0"
    outcome = probe(house, identity, "status", NO_GAIN)
    assert outcome.told == {"no-new-privs": (True, "set")}
    assert flags(outcome)["NoNewPrivs"] == "1"


def flags(outcome: Outcome) -> dict[str, str]:
    assert isinstance(outcome.result, dict), outcome
    return outcome.result


def held(outcome: Outcome, *sets: str) -> set[str]:
    """Which sets of capabilities hold any."""
    return {name for name in sets or CAPABILITY_SETS if int(flags(outcome)[name], 16)}


def test_capabilities_that_a_user_namespace_gives_are_dropped_from_every_set(
    house: House, identity: Identity
) -> None:
    before = probe(house, identity, "status", ["namespaces"])
    assert "CapEff" in held(before) or not before.told["namespaces"].done
    after = probe(house, identity, "status", ["namespaces", "capabilities"])
    assert after.told["capabilities"].done, after
    has_privileges = before.told["namespaces"].done or is_root(identity)
    assert held(after) == (set() if has_privileges else {"CapBnd"})


def test_capabilities_of_root_are_dropped_and_others_files_are_closed_to_it(
    house: House, identity: Identity, folder: Path
) -> None:
    stranger = folder / "strangers"
    stranger.write_text("mine")
    stranger.chmod(0o600)
    if IS_ROOT:
        os.chown(stranger, 4242, 4242)
    before = probe(house, identity, "read", [], str(stranger))
    after = probe(house, identity, "read", ["capabilities"], str(stranger))
    assert before.result == ("ok" if identity == OWN else "EACCES")
    assert after.result == ("EACCES" if IS_ROOT else "ok")
    assert ("still the user root" in after.told["capabilities"].detail) == is_root(identity)


def test_root_is_locked_out_of_getting_capabilities_back(house: House, identity: Identity) -> None:
    assert probe(house, identity, "securebits", ["namespaces"]).result == 0
    outcome = probe(house, identity, "securebits", ["namespaces", "capabilities"])
    assert ("securebits locked" in outcome.told["capabilities"].detail.split("; ")) == (outcome.result == 0xEF)
    assert outcome.result == 0xEF or not outcome.told["namespaces"].done


def test_supplementary_groups_are_left_where_the_user_may(house: House) -> None:
    groups = {"extra_groups": [4242]} if IS_ROOT else {}
    before = run(house, OWN, "status", [], **groups)
    after = run(house, OWN, "status", ["capabilities", "namespaces"], **groups)
    if IS_ROOT:
        assert (flags(before)["Groups"], flags(after)["Groups"]) == ("4242", "")
        assert "no supplementary groups" in after.told["capabilities"].detail
    else:
        assert "supplementary groups" in after.told["capabilities"].detail


@pytest.mark.parametrize("file", ["environ", "maps"])
def test_an_undumpable_process_is_closed_to_others_of_its_user(house: House, file: str) -> None:
    for steps, expected in (([], {"ok"}), (["undumpable"], {"EACCES", "EPERM"})):
        child = PLAIN.popen(command(house, "wait", steps))
        assert child.stdout is not None
        number = child.stdout.readline().strip()
        seen = probe(house, PLAIN, "read", [], f"/proc/{number}/{file}")
        child.communicate()
        assert seen.result in expected


MIDDLE = "import os, sys; os.fork() or os.execv(sys.argv[1], sys.argv[1:]); os.wait()"


def answer_of_an_orphan(house: House, identity: Identity, steps: list[str]) -> str:
    """Kill the parent of a worker that did `steps`, then ask the worker for an echo."""
    middle = identity.popen([house.python, "-I", "-S", "-c", MIDDLE, *command(house, "wait", steps)])
    assert middle.stdin is not None
    assert middle.stdout is not None
    assert middle.stdout.readline().strip().isdigit()
    middle.kill()
    # Once the parent can be waited for, the kernel has sent its signal to the child.
    middle.wait()
    with contextlib.suppress(BrokenPipeError):
        middle.stdin.write("ping\n")
        middle.stdin.flush()
    answer = middle.stdout.readline().strip()
    with contextlib.suppress(BrokenPipeError):
        middle.communicate()
    return answer


def test_a_worker_dies_with_its_parent(house: House, identity: Identity) -> None:
    assert answer_of_an_orphan(house, identity, []) == "ping"
    assert answer_of_an_orphan(house, identity, ["die-with-parent"]) == ""


def test_the_order_to_die_with_the_parent_outlives_the_change_of_credentials(
    house: House, identity: Identity
) -> None:
    before = ["namespaces", "no-new-privs", "capabilities", "undumpable"]
    assert answer_of_an_orphan(house, identity, before) == "ping"
    assert answer_of_an_orphan(house, identity, [*before, "die-with-parent"]) == ""


def test_a_worker_whose_parent_is_gone_already_ends_at_once(house: House, identity: Identity) -> None:
    outcome = probe(house, identity, "status", ["die-with-parent"], parent=2**22 + 1)
    assert (outcome.result, outcome.code) == (None, 1)


def test_landlock_closes_every_file_that_is_not_listed(house: House, identity: Identity, folder: Path) -> None:
    has_landlock = landlock_version(house) > 0
    for name, path in (("read", folder / "file"), ("list_folder", folder), ("write", folder / "file")):
        assert probe(house, identity, name, NO_GAIN, str(path)).result == "ok"
        outcome = probe(house, identity, name, LANDLOCK, str(path))
        assert outcome.told["landlock"].done == has_landlock
        assert outcome.result == ("EACCES" if has_landlock else "ok")


def test_landlock_leaves_the_listed_folders_readable_but_not_writable(
    house: House, identity: Identity, folder: Path
) -> None:
    readable = [str(folder), "/nowhere/at/all"]
    assert probe(house, identity, "read", LANDLOCK, str(folder / "file"), readable=readable).result == "ok"
    assert probe(house, identity, "list_folder", LANDLOCK, str(folder), readable=readable).result == "ok"
    outcome = probe(house, identity, "write", LANDLOCK, str(folder / "new"), readable=readable)
    assert outcome.result == ("EACCES" if landlock_version(house) else "ok")
    assert ("cannot be opened: /nowhere/at/all" in outcome.told["landlock"].detail) == outcome.told[
        "landlock"
    ].done


def test_landlock_closes_the_network_and_signals_to_others(
    house: House, identity: Identity, port: int, neighbour: subprocess.Popen[str]
) -> None:
    version = landlock_version(house)
    for name, argument, since, refusal in (
        ("connect", port, 4, "EACCES"),
        ("signal_to", neighbour.pid, 6, "EPERM"),
    ):
        assert probe(house, identity, name, NO_GAIN, argument).result == "ok"
        assert probe(house, identity, name, LANDLOCK, argument).result == (refusal if version >= since else "ok")


def test_landlock_leaves_python_what_it_needs(house: House, identity: Identity) -> None:
    outcome = probe(house, identity, "use_python", LANDLOCK, str(house.packages), readable=[str(house.packages)])
    assert outcome.result == []


def test_memory_is_bounded(house: House, identity: Identity) -> None:
    assert probe(house, identity, "reserve", []).result == "ok"
    assert probe(house, identity, "reserve", ["rlimits"], memory=512 << 20).result == "ENOMEM"
    assert probe(house, identity, "allocate", ["rlimits"], memory=512 << 20).result == "MemoryError"


def test_nothing_is_written_even_to_files_opened_before(house: House, identity: Identity, folder: Path) -> None:
    path = str(folder / "file")
    assert probe(house, identity, "write_to_open", [], path, opened=[path]).result == "ok"
    assert probe(house, identity, "write_to_open", ["rlimits"], path, opened=[path]).result == "EFBIG"


def test_open_files_are_bounded(house: House, identity: Identity) -> None:
    assert probe(house, identity, "open_many", []).result == "ok"
    assert probe(house, identity, "open_many", ["rlimits"]).result == "EMFILE"


def test_no_process_is_started_except_by_root_whom_the_limit_does_not_bind(
    house: House, identity: Identity
) -> None:
    assert probe(house, identity, "fork", []).result == "ok"
    outcome = probe(house, identity, "fork", ["rlimits"])
    assert outcome.result == ("ok" if is_root(identity) else "EAGAIN")
    assert ("root is exempt from NPROC" in outcome.told["rlimits"].detail) == is_root(identity)


def test_limits_cannot_be_raised_again(house: House, identity: Identity) -> None:
    before, after = probe(house, identity, "limits", []), probe(house, identity, "limits", ["rlimits"])
    assert isinstance(before.result, list)
    assert [0, 0] not in before.result[:1]
    assert after.result == [[0, 0]] * 5


def test_the_worker_is_the_first_to_go_when_memory_is_short(house: House, identity: Identity) -> None:
    assert probe(house, identity, "own_file", [], "oom_score_adj").result != "1000"
    outcome = probe(house, identity, "own_file", ["rlimits", "undumpable"], "oom_score_adj")
    assert outcome.result == "1000"
    assert "oom_score_adj=1000" in outcome.told["rlimits"].detail


@pytest.mark.parametrize("name", ALONE)
def test_the_filter_refuses(house: House, identity: Identity, name: str) -> None:
    assert probe(house, identity, name, NO_GAIN).result == "ok"
    outcome = probe(house, identity, name, FILTER)
    assert outcome.told["seccomp"].done, outcome
    assert outcome.result == "EPERM"


@pytest.mark.parametrize("name", ON_A_FILE)
def test_the_filter_refuses_to_change_or_lock_files(
    house: House, identity: Identity, folder: Path, name: str
) -> None:
    assert probe(house, identity, name, FILTER, str(folder / "file")).result == "EPERM"
    assert sorted(path.name for path in folder.iterdir()) == ["file"]
    assert (folder / "file").read_text() == "something"
    assert probe(house, identity, name, NO_GAIN, str(folder / "file")).result == "ok"


def test_the_filter_refuses_threads(house: House, identity: Identity) -> None:
    assert probe(house, identity, "thread", NO_GAIN).result == "ok"
    assert probe(house, identity, "thread", FILTER).result == "RuntimeError"


def test_the_filter_refuses_signals_to_others(
    house: House, identity: Identity, neighbour: subprocess.Popen[str]
) -> None:
    assert probe(house, identity, "signal_to", NO_GAIN, neighbour.pid).result == "ok"
    assert probe(house, identity, "signal_to", FILTER, neighbour.pid).result == "EPERM"


def test_the_filter_leaves_python_what_it_needs(house: House, identity: Identity) -> None:
    outcome = probe(house, identity, "use_python", FILTER, str(house.packages))
    assert outcome.told["seccomp"].done
    assert outcome.result == []


if IS_X86:

    @pytest.mark.parametrize("name", ["foreign_architecture", "x32_getpid"])
    def test_calls_by_another_table_of_numbers_end_the_process(
        house: House, identity: Identity, name: str
    ) -> None:
        assert probe(house, identity, name, NO_GAIN).code != -signal.SIGSYS
        assert probe(house, identity, name, FILTER).code == -signal.SIGSYS
