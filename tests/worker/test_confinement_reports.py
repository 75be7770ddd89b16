"""What the steps report: in force, refused by the surroundings, unknown to the platform."""

from __future__ import annotations

import os
import resource
import sys

import pytest

from trimtab_worker import confinement, landlock, limits, seccomp
from trimtab_worker.confinement import EARLY, LATE, STEPS, StepReport, give_up, lock
from worker.open_house import IS_ROOT, OWN, House, Identity
from worker.probing import Outcome, probe


def refused(outcome: Outcome) -> dict[str, str]:
    return {step: told.detail for step, told in outcome.told.items() if not told.done}


def surroundings(house: House, identity: Identity) -> set[str]:
    """The steps that this machine refuses to this user, found out by what they are made of."""
    made_of = {"namespaces": "new_network", "landlock": "landlock_version"}
    answers = {step: probe(house, identity, name, []).result for step, name in made_of.items()}
    return {step for step, answer in answers.items() if answer != "ok" and not isinstance(answer, int)}


def everything(house: House, identity: Identity, name: str, *arguments: object, **order: object) -> Outcome:
    return probe(house, identity, name, list(STEPS), *arguments, readable=[str(house.packages)], **order)


def test_all_steps_together_are_done_and_python_still_works(house: House, identity: Identity) -> None:
    outcome = everything(house, identity, "use_python", str(house.packages))
    assert list(outcome.told) == [*EARLY, *LATE]
    assert refused(outcome).keys() == surroundings(house, identity)
    assert outcome.result == []


def test_where_namespaces_are_refused_the_rest_holds(house: House, identity: Identity) -> None:
    outcome = everything(house, identity, "make_socket", deny=["unshare"])
    assert refused(outcome).keys() == surroundings(house, identity) | {"namespaces"}
    assert outcome.told["namespaces"].detail == "Operation not permitted"
    assert outcome.result == "EPERM"


def test_where_user_namespaces_are_refused_root_still_leaves_the_network(house: House, identity: Identity) -> None:
    told = probe(house, identity, "new_network", ["namespaces"], deny=["user namespaces"]).told["namespaces"]
    if identity == OWN and IS_ROOT:
        assert told == (True, "net ipc uts cgroup; without user: Operation not permitted")
    else:
        assert told == (False, "Operation not permitted")


def test_where_landlock_is_refused_the_rest_holds(house: House, identity: Identity) -> None:
    outcome = everything(house, identity, "make_socket", deny=["landlock_create_ruleset"])
    assert refused(outcome).keys() == surroundings(house, identity) | {"landlock"}
    assert outcome.told["landlock"].detail == "Operation not permitted"
    assert outcome.result == "EPERM"


def test_steps_that_need_no_new_privileges_say_so_when_refused(house: House) -> None:
    steps = ["capabilities", "landlock", "seccomp"]
    outcome = probe(house, OWN, "status", steps)
    assert refused(outcome)["seccomp"] in {"Permission denied", "Operation not permitted"}
    assert "landlock" in refused(outcome)


def test_on_another_platform_the_steps_of_linux_are_told_as_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    linux = [step for step in STEPS if step != "rlimits"]
    reports = [*give_up(steps=linux, parent=0), *lock(steps=linux, readable=[], memory=0)]
    assert reports == [StepReport(step, False, "not on this platform") for step in linux]


def test_where_there_are_no_limits_they_are_told_as_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert lock(steps=["rlimits"], readable=[], memory=0) == [StepReport("rlimits", False, "not on this platform")]


def test_a_step_that_fails_in_an_unforeseen_way_is_told_as_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> str:
        raise AttributeError("no such function")

    monkeypatch.setattr(confinement, "enter", breaks)
    reports = give_up(steps=["namespaces"], parent=os.getppid())
    assert reports == [StepReport("namespaces", False, "AttributeError: no such function")]


def test_a_step_that_was_not_asked_for_is_neither_done_nor_told() -> None:
    assert give_up(steps=[], parent=0) == []
    assert lock(steps=[], readable=[], memory=0) == []


def test_one_limit_that_is_refused_makes_the_step_refused_and_the_others_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_to: dict[int, tuple[int, int]] = {}

    def setrlimit(number: int, pair: tuple[int, int]) -> None:
        if number == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        set_to[number] = pair

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    (report,) = lock(steps=["rlimits"], readable=[], memory=1 << 20)
    assert not report.done
    assert report.detail.startswith("AS refused: current limit exceeds maximum limit; FSIZE=0 CORE=0")
    assert set_to[resource.RLIMIT_FSIZE] == (0, 0)
    assert len(set_to) == 6


def test_a_platform_that_does_not_keep_the_memory_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda number, pair: None)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="AS refused: this platform does not keep it"):
        limits.set_limits(1 << 20)


def test_the_filter_for_a_machine_it_was_never_tried_on_is_told_as_untested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed: list[int] = []
    monkeypatch.setattr(seccomp, "install", lambda program: installed.append(len(program)))
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "aarch64")))
    (report,) = lock(steps=["seccomp"], readable=[], memory=0)
    assert report.done
    assert report.detail.startswith("untested on this architecture; ")
    assert len(installed) == 1


def test_a_machine_without_a_list_of_calls_gets_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "riscv64")))
    (report,) = lock(steps=["seccomp"], readable=[], memory=0)
    assert report == StepReport("seccomp", False, "no list of system calls for riscv64 (64 bits)")


@pytest.mark.parametrize(
    ("version", "files", "tcp", "scopes"),
    [
        (1, 13, 0, 0),
        (2, 14, 0, 0),
        (3, 15, 0, 0),
        (4, 15, 2, 0),
        (5, 16, 2, 0),
        (6, 16, 2, 2),
        (7, 16, 2, 2),
        (99, 16, 2, 2),
    ],
)
def test_landlock_handles_every_right_that_the_kernels_version_knows(
    version: int, files: int, tcp: int, scopes: int
) -> None:
    assert landlock.handled(version) == ((1 << files) - 1, (1 << tcp) - 1, (1 << scopes) - 1)


def test_the_confinement_needs_nothing_but_the_standard_library(house: House) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import trimtab_worker.confinement; "
        "names = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names; print(sorted(names))"
    )
    child = OWN.popen([house.python, "-I", "-S", "-B", "-c", code, str(house.packages)])
    output, _ = child.communicate()
    assert output.strip() == "['__main__', 'trimtab_worker']"
