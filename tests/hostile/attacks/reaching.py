"""Other processes and the kernel: signals, tracing, namespaces, and calls that open new doors."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_reach = partial(Attack, family="processes", defence="worker", trusted="lost")


def _attempts(**deeds: str) -> str:
    lines = [f"attempt({name.replace('_', ' ')!r}, lambda: {deed})" for name, deed in deeds.items()]
    return "\n".join(["buffer = ctypes.create_string_buffer(256)", *lines, "return said()"])


ATTACKS = (
    _reach(
        name="a signal to the host app",
        does="asks whether it may signal its parent, its group and everybody",
        body=_attempts(parent="os.kill(os.getppid(), 0)", group="os.killpg(os.getppid(), 0)"),
    ),
    _reach(
        name="the host app killed",
        does="kills its parent",
        trusted="",
        body=_attempts(kill="os.kill(os.getppid(), 9)", stop="os.kill(os.getppid(), 19)"),
    ),
    _reach(
        name="a signal by the kernel",
        does="has the kernel send signals about a file to somebody else",
        head="import fcntl",
        body=_attempts(owner="fcntl.fcntl(os.open('/dev/null', 0), fcntl.F_SETOWN, os.getppid())"),
    ),
    _reach(
        name="tracing",
        does="traces its parent and lets itself be traced",
        trusted="",
        body=_attempts(me="system(101, 0, 0, 0, 0)", parent="system(101, 16, os.getppid(), 0, 0)"),
    ),
    _reach(
        name="memory of others",
        does="reads the memory of its parent without tracing it",
        trusted="",
        body=_attempts(
            read="system(310, os.getppid(), ctypes.addressof(buffer), 0, ctypes.addressof(buffer), 0, 0)"
        ),
    ),
    _reach(
        name="a handle on its parent",
        does="opens its parent by number, in order to take its files",
        body=_attempts(pidfd="os.pidfd_open(os.getppid())"),
    ),
    _reach(
        name="namespaces anew",
        does="makes namespaces of its own, where it would be root",
        trusted="",
        body=_attempts(user="system(272, 0x10000000)", mount="system(272, 0x00020000)"),
    ),
    _reach(
        name="namespaces of others",
        does="enters the namespaces of its parent",
        trusted="",
        body=_attempts(
            enter="system(308, os.open(f'/proc/{os.getppid()}/ns/net', 0), 0)",
            by_handle="system(308, os.pidfd_open(os.getppid()), 0x40000000)",
        ),
    ),
    _reach(
        name="the name of the machine",
        does="learns how the machine is called",
        body="""
            if os.uname().nodename != 'worker': SAID.append('GOT-IT the name of the machine')
            attempt('another name', lambda: system(170, b'mine', 4))
            return said()
            """,
        trusted="",
    ),
    _reach(
        name="programs in the kernel",
        does="loads programs into the kernel, watches events, handles page faults",
        trusted="",
        body=_attempts(
            bpf="system(321, 0, ctypes.addressof(buffer), 72)",
            events="system(298, ctypes.addressof(buffer), 0, -1, -1, 0)",
            faults="system(323, 0x80000)",
        ),
    ),
    _reach(
        name="keys of the kernel",
        does="asks for the keyring of the session",
        trusted="",
        body=_attempts(keyring="system(250, 0, -3, 0)"),
    ),
    _reach(
        name="rights regained",
        does="makes itself dumpable, asks for capabilities and another user",
        body="""
            system_control = lambda *numbers: system(157, *numbers, *[0] * (5 - len(numbers)))
            attempt('dumpable', lambda: system_control(4, 1))
            attempt('user', lambda: os.setuid(os.getuid()))
            buffer = ctypes.create_string_buffer(b'x')
            attempt('another name', lambda: system_control(15, ctypes.addressof(buffer)))
            return said()
            """,
    ),
    _reach(
        name="calls of another table",
        does="makes system calls by the numbers of 32-bit programs, which a filter may have forgotten",
        trusted="",
        head="import mmap",
        body="""
            code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            code.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
            number = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
            return Edit(notes=[f'GOT-IT {number}'])
            """,
        told="^PLUGIN_CRASHED",
    ),
    _reach(
        name="watching files",
        does="watches folders for what others do there",
        body=_attempts(inotify="system(294, 0)", fanotify="system(300, 0, 0)"),
    ),
    _reach(
        name="queues of messages",
        does="opens a queue that other processes can read",
        trusted="",
        body=_attempts(queue="system(242, b'probe', 0xC0, 0o600, 0)"),
    ),
)
