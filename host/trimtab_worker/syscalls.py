"""The system calls that a worker may make, by their numbers on x86-64 and on aarch64 (None: not there).

Whatever is not named is refused. What Python, the C library and extension modules need in order to compute, to
read files and to load modules is here; what reaches another process, the network, or changes a file is not.
Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
"""

from __future__ import annotations

Numbers = tuple[int | None, int | None]

# The last number of Linux 6.1. What came later is answered as by a kernel that does not have it.
HIGHEST = 450

MEMORY: dict[str, Numbers] = {
    "brk": (12, 214),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
}
FILES: dict[str, Numbers] = {
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "preadv2": (327, 286),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
}
# Of use on what is open already only: nothing can be opened for writing.
WRITING: dict[str, Numbers] = {
    "write": (1, 64),
    "writev": (20, 66),
}
WAITING: dict[str, Numbers] = {
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "pause": (34, None),
    "sched_yield": (24, 124),
    "futex": (202, 98),
    "futex_waitv": (449, 449),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "restart_syscall": (219, 128),
}
CLOCKS: dict[str, Numbers] = {
    "gettimeofday": (96, 169),
    "time": (201, None),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "times": (100, 153),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "alarm": (37, None),
}
OWN_SIGNALS: dict[str, Numbers] = {
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
}
ITSELF: dict[str, Numbers] = {
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "getcpu": (309, 168),
    "sched_getaffinity": (204, 123),
    "arch_prctl": (158, None),
    "set_tid_address": (218, 96),
    "getrandom": (318, 278),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
ALLOWED: dict[str, Numbers] = {**MEMORY, **FILES, **WRITING, **WAITING, **CLOCKS, **OWN_SIGNALS, **ITSELF}

# Allowed or not by what they are given.
EXAMINED: dict[str, Numbers] = {
    "open": (2, None),
    "openat": (257, 56),
    "fcntl": (72, 25),
    "prlimit64": (302, 261),
}

# Callers go on without these where a kernel does not have them.
ABSENT: dict[str, Numbers] = {
    "clone3": (435, 435),
    "openat2": (437, 437),
}

# Callers ask this of any file, in order to learn whether it is a terminal.
NO_TERMINAL: dict[str, Numbers] = {
    "ioctl": (16, 29),
}
