"""Reading what others put on the disk: regular files only, up to a size, and never waiting for anything."""

from __future__ import annotations

import os
import re
import stat
from io import FileIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_PLAIN = re.compile(r"[\x20-\x7e]*")


class UnreadableError(Exception):
    """A file, or what it says, cannot be used. The text says why, without the file's place."""


def read_bounded(path: str, limit: int) -> bytes | None:
    """Give what a regular file holds, None when there is none.

    Raises UnreadableError for a FIFO, socket, device or folder, for more than `limit` bytes, and for what the
    system refuses. A device is not even opened; a file that is swapped between two looks is looked at again.
    """
    name = os.path.basename(path)
    try:
        _check_regular(name, os.stat(path).st_mode)
        with open(os.open(path, _FLAGS), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            _check_regular(name, status.st_mode)
            data = _read_all(file, min(status.st_size, limit) + 1, limit + 1)
    except FileNotFoundError:
        if os.path.islink(path):
            raise UnreadableError(f"{shown(name)} is a link to nothing") from None
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{shown(name)} cannot be read: {_words(error)}") from error
    if len(data) > limit:
        raise UnreadableError(f"{shown(name)} is larger than {limit // 1024} KiB")
    return data


def decoded(name: str, data: bytes) -> str:
    """Give the text of a file. Raises UnreadableError when it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{shown(name)} is not UTF-8") from error


def shown(text: str, limit: int = 80) -> str:
    """Give outside words for people: what is not plain ASCII in escapes, so that look-alikes show, and short."""
    seen = text if _PLAIN.fullmatch(text) else ascii(text[:limit])
    return seen if len(seen) <= limit else f"{seen[: limit - 3]}..."


def _read_all(file: FileIO, expected: int, most: int) -> bytes:
    """Read up to `most` bytes; `expected` is what one look will usually take."""
    data = file.read(expected) or b""
    while len(data) < most:
        more = file.read(most - len(data) if len(data) >= expected else expected - len(data))
        if not more:
            break
        data += more
    return data


def _check_regular(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnreadableError(f"{shown(name)} is {_kind(mode)}, not a regular file")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _words(error: OSError | ValueError) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
