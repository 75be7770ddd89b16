"""The filter of system calls, judged call by call against the kernel's own tables of numbers."""

from __future__ import annotations

import errno
import json
from functools import cache
from pathlib import Path

import pytest

from trimtab_worker import seccomp
from worker.classic_bpf import verdict

ALLOW, KILL, ERROR = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
FOREIGN = {"x86": 0x4000_0003, "arm": 0x4000_0028, "riscv64": 0xC000_00F3, "none": 0}
MACHINES = sorted(AUDIT)
NUMBERS: dict[str, dict[str, int]] = json.loads((Path(__file__).parent / "syscall_numbers.json").read_text())

ALLOWED_TEXT = """
    brk mmap munmap mremap mprotect madvise
    read readv pread64 preadv preadv2 lseek close close_range dup dup2 dup3 write writev
    stat lstat fstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
    getdents getdents64 getcwd chdir fchdir
    poll ppoll select pselect6 nanosleep clock_nanosleep pause sched_yield restart_syscall
    futex futex_waitv set_robust_list rseq
    gettimeofday time clock_gettime clock_getres times getitimer setitimer alarm
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid
    getrlimit getrusage sysinfo uname getcpu sched_getaffinity arch_prctl set_tid_address getrandom exit exit_group
"""
ALLOWED = set(ALLOWED_TEXT.split())
BY_ARGUMENTS = {"open", "openat", "fcntl", "prlimit64"}
ANSWERS = {"clone3": errno.ENOSYS, "openat2": errno.ENOSYS, "ioctl": errno.ENOTTY}

# Named one by one, so that a table with a wrong number cannot hide them.
HARMFUL_TEXT = """
    socket socketpair bind connect listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown
    setsockopt getsockopt getsockname getpeername execve execveat clone clone3 kill tkill tgkill rt_sigqueueinfo
    rt_tgsigqueueinfo ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open
    pidfd_getfd pidfd_send_signal io_uring_setup io_uring_enter io_uring_register io_setup io_submit memfd_create
    memfd_secret userfaultfd bpf perf_event_open add_key request_key keyctl unlinkat renameat renameat2 mkdirat
    linkat symlinkat mknodat fchmod fchmodat fchown fchownat truncate ftruncate fallocate utimensat setxattr
    lsetxattr fsetxattr removexattr mount umount2 open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    chroot pivot_root setns unshare seccomp prctl setrlimit setuid setgid setreuid setregid setresuid setresgid
    setfsuid setfsgid setgroups capset personality reboot kexec_load kexec_file_load init_module finit_module
    delete_module swapon swapoff quotactl quotactl_fd shmget shmat shmctl semget semop semctl msgget msgsnd msgrcv
    msgctl mq_open mq_unlink mq_timedsend mq_notify inotify_init1 inotify_add_watch fanotify_init fanotify_mark
    setpgid setsid sched_setscheduler sched_setparam sched_setaffinity sched_setattr setpriority ioprio_set
    landlock_create_ruleset landlock_add_rule landlock_restrict_self open_by_handle_at name_to_handle_at acct
    syslog settimeofday clock_settime adjtimex clock_adjtime vmsplice splice tee sendfile copy_file_range flock
    migrate_pages move_pages mbind set_mempolicy mlock mlockall sync syncfs fsync sethostname setdomainname
    vhangup pwrite64 pwritev pwritev2 timer_create signalfd4 eventfd2 pipe2 epoll_create1 umask wait4
    waitid ioctl openat2
"""
HARMFUL = HARMFUL_TEXT.split()
HARMFUL_OLD_TEXT = """
    fork vfork unlink rename mkdir rmdir creat link symlink mknod chmod chown lchown utime utimes futimesat
    inotify_init iopl ioperm modify_ldt pipe eventfd signalfd epoll_create uselib ustat sysfs _sysctl
"""
HARMFUL_OLD = HARMFUL_OLD_TEXT.split()

LARGE = {"x86_64": 0x8000, "aarch64": 0x20000}
DIRECTORY = {"x86_64": 0x10000, "aarch64": 0x4000}
NO_FOLLOW = {"x86_64": 0x20000, "aarch64": 0x8000}
CLOSE_ON_EXEC, NO_BLOCK, NO_TTY = 0x80000, 0x800, 0x100
WRITE_ONLY, READ_WRITE, CREATE, TRUNCATE, APPEND, PATH = 1, 2, 0x40, 0x200, 0x400, 0x20_0000
NO_ATIME, TEMPORARY = 0x4_0000, 0x40_0000


@cache
def program(machine: str) -> list[seccomp.Instruction]:
    return seccomp.build(machine)


def judge(machine: str, name_or_number: str | int, *arguments: int, audit: int | None = None) -> int:
    number = NUMBERS[machine][name_or_number] if isinstance(name_or_number, str) else name_or_number
    return verdict(
        program(machine), audit=AUDIT[machine] if audit is None else audit, number=number, arguments=arguments
    )


def harmless_flags(machine: str) -> list[int]:
    flags = (LARGE[machine], DIRECTORY[machine], NO_FOLLOW[machine], CLOSE_ON_EXEC, NO_BLOCK, NO_TTY)
    return [sum(flag for i, flag in enumerate(flags) if bits >> i & 1) for bits in range(1 << len(flags))]


def openers(machine: str) -> list[tuple[str, tuple[int, ...]]]:
    """The calls that open a file, and what stands before the flags."""
    return [(name, before) for name, before in (("open", (7,)), ("openat", (7, 7))) if name in NUMBERS[machine]]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_of_the_kernels_table_has_the_verdict_written_here(machine: str) -> None:
    wrong = {}
    for name in NUMBERS[machine].keys() - BY_ARGUMENTS:
        expected = ALLOW if name in ALLOWED else ERROR | ANSWERS.get(name, errno.EPERM)
        if (got := judge(machine, name)) != expected:
            wrong[name] = hex(got)
    assert wrong == {}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_name_written_here_is_a_call_of_some_machine(machine: str) -> None:
    everywhere = NUMBERS["x86_64"].keys() | NUMBERS["aarch64"].keys()
    assert (ALLOWED | BY_ARGUMENTS | set(HARMFUL) | set(HARMFUL_OLD)) - everywhere == set()
    assert set(HARMFUL) - NUMBERS[machine].keys() == set()


@pytest.mark.parametrize("machine", MACHINES)
def test_what_reaches_others_or_changes_files_is_refused(machine: str) -> None:
    names = [*HARMFUL, *(name for name in HARMFUL_OLD if name in NUMBERS[machine])]
    assert [name for name in names if judge(machine, name) >> 16 != ERROR >> 16] == []


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_between_the_known_ones_are_refused(machine: str) -> None:
    known = set(NUMBERS[machine].values())
    assert {judge(machine, number) for number in range(451) if number not in known} == {ERROR | errno.EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_of_later_kernels_do_not_exist(machine: str) -> None:
    assert {judge(machine, number) for number in range(451, 2000)} == {ERROR | errno.ENOSYS}


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    others = {*FOREIGN.values(), *AUDIT.values()} - {AUDIT[machine]}
    got = {judge(machine, number, audit=audit) for audit in others for number in (0, 1, 39, 400, 0x4000_0001)}
    assert got == {KILL}


def test_calls_of_the_x32_interface_end_the_process() -> None:
    numbers = [*range(0x4000_0000, 0x4000_0000 + 600), 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]
    assert {judge("x86_64", number) for number in numbers} == {KILL}


@pytest.mark.parametrize("machine", MACHINES)
def test_files_open_for_reading_with_any_harmless_flags(machine: str) -> None:
    for name, before in openers(machine):
        assert {judge(machine, name, *before, flags) for flags in harmless_flags(machine)} == {ALLOW}


@pytest.mark.parametrize("machine", MACHINES)
def test_any_other_flag_beside_any_harmless_ones_is_refused(machine: str) -> None:
    harmless = harmless_flags(machine)
    others = [1 << bit for bit in range(32) if 1 << bit not in harmless]
    assert {WRITE_ONLY, READ_WRITE, CREATE, TRUNCATE, APPEND, PATH, NO_ATIME, TEMPORARY} <= set(others)
    for name, before in openers(machine):
        got = {judge(machine, name, *before, flags | other) for flags in harmless for other in others}
        assert got == {ERROR | errno.EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_descriptors_may_be_duplicated_but_not_locked_signalled_or_leased(machine: str) -> None:
    allowed = [command for command in range(2000) if judge(machine, "fcntl", 3, command) == ALLOW]
    assert allowed == [0, 1, 2, 3, 4, 1030, 1032]
    assert judge(machine, "fcntl", 3, 8) == ERROR | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_are_read_never_set_and_only_ones_own(machine: str) -> None:
    refused = ERROR | errno.EPERM
    assert judge(machine, "prlimit64", 0, 7, 0, 0x7FFF_0000_1000) == ALLOW
    assert judge(machine, "prlimit64", 0, 7, 0x1000, 0) == refused
    assert judge(machine, "prlimit64", 0, 7, 0x7FFF_0000_0000, 0) == refused
    assert judge(machine, "prlimit64", 1, 7, 0, 0x1000) == refused


@pytest.mark.parametrize("machine", MACHINES)
def test_every_way_through_the_program_ends_in_an_answer(machine: str) -> None:
    instructions = program(machine)
    assert instructions[-1].code == 0x06
    assert len(instructions) < 300
    for position, one in enumerate(instructions):
        assert position + 1 + max(one.yes, one.no) < len(instructions) or one.code == 0x06
        assert max(one.yes, one.no) <= 255
