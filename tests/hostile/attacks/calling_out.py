"""The network, by every way a program can take to it. Nobody but the suite's own listeners is spoken to."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_net = partial(Attack, family="network", defence="worker", trusted="lost", head="import socket")


def _tries(deed: str, what: str = "to call out") -> str:
    return f"attempt({what!r}, lambda: {deed})\nreturn said()"


ATTACKS = (
    _net(
        name="TCP",
        does="connects to a listener on this machine",
        body=_tries("socket.create_connection(('127.0.0.1', FACTS['port']), 2).send(b'x')"),
    ),
    _net(
        name="TCP by a newer address",
        does="connects through IPv6",
        trusted="",
        body=_tries(
            "socket.socket(socket.AF_INET6).connect_ex(('::ffff:127.0.0.1', FACTS['port'])) and 1 / 0", "IPv6"
        ),
    ),
    _net(
        name="UDP",
        does="sends a datagram with what it read",
        body=_tries("socket.socket(type=socket.SOCK_DGRAM).sendto(b'leak', ('127.0.0.1', FACTS['udp']))"),
    ),
    _net(
        name="a question of names",
        does="asks for the address of a name, which carries data to whoever answers",
        body=_tries("socket.getaddrinfo('localhost', FACTS['port'])", "a name"),
    ),
    _net(
        name="a Unix socket",
        does="connects to a socket in the file system",
        body=_tries("socket.socket(socket.AF_UNIX).connect(FACTS['unix'])"),
    ),
    _net(
        name="an abstract socket",
        does="connects to a socket that no file system knows",
        body=_tries("socket.socket(socket.AF_UNIX).connect('\\0' + FACTS['abstract'])"),
    ),
    _net(
        name="a pair of sockets",
        does="makes a pair of sockets, the beginning of passing descriptors",
        body=_tries("socket.socketpair()[0].fileno()"),
    ),
    _net(
        name="raw packets",
        does="opens raw, packet and netlink sockets",
        trusted="",
        body="""
            attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno())
            attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno())
            attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).fileno())
            return said()
            """,
    ),
    _net(
        name="sockets of the kernel's own",
        does="opens sockets of virtual machines and of the kernel's ciphers",
        body="""
            for family in (40, 38, 29):
                attempt(f'family {family}', lambda: socket.socket(family, socket.SOCK_SEQPACKET).fileno())
            attempt('plain', lambda: socket.socket().fileno())
            return said()
            """,
    ),
    _net(
        name="a web request",
        does="fetches a page with what it read in the address",
        head="import urllib.request",
        body=_tries("urllib.request.urlopen(f\"http://127.0.0.1:{FACTS['port']}/leak\", timeout=0.3)"),
    ),
    _net(
        name="an event loop",
        does="opens a connection through asyncio",
        head="import asyncio",
        body=_tries("asyncio.run(asyncio.wait_for(asyncio.open_connection('127.0.0.1', FACTS['port']), 2))"),
    ),
    _net(
        name="a listener",
        does="waits for others to come to it",
        body=_tries("socket.create_server(('127.0.0.1', 0)).fileno()"),
    ),
    _net(
        name="a submission ring",
        does="opens an io_uring, whose calls no filter of system calls sees",
        trusted="",
        body="buffer = ctypes.create_string_buffer(120)\n"
        + _tries("system(425, 4, ctypes.addressof(buffer))", "io_uring"),
    ),
)
