"""A place of its own for one attack: folders, secrets, and ears that hear whoever gets out."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Snapshot: TypeAlias = Mapping[str, tuple[int, str]]
"""Path → mode and what is in it."""

FOLDERS = ("work", "canary", "home/.ssh", "home/private-letters", "tmp", "plugins", "site/packages", "out")
_SHARED = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Arena:
    """The folders of an attack, its secrets, and what listens."""

    root: Path
    mark: str
    ears: Mapping[str, socket.socket]

    @property
    def facts(self) -> dict[str, object]:
        """What the attack is told: where everything is, and what the listeners are called."""
        return {
            **{name: str(self.root / name) for name in ("work", "canary", "home", "tmp", "plugins", "out")},
            "port": self.ears["tcp"].getsockname()[1],
            "udp": self.ears["udp"].getsockname()[1],
            "unix": self.ears["unix"].getsockname(),
            "abstract": self.mark,
        }

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be found in nothing that comes out."""
        return (f"file-{self.mark}", f"variable-{self.mark}", "private-letters")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the host app."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "HOSTILE_SUITE_TOKEN": f"variable-{self.mark}",
        }

    def snapshot(self) -> Snapshot:
        """Say what there is in the folders, and of shared memory what has our name."""
        shared = {f"shared {path.name}": (0, "") for path in _SHARED.glob(f"*{self.mark}*")}
        return {**shared, **{str(path.relative_to(self.root)): _looked_at(path) for path in self._files()}}

    def _files(self) -> Iterator[Path]:
        for path in sorted(self.root.rglob("*")):
            if path.relative_to(self.root).parts[0] != "out":
                yield path

    def heard(self) -> list[str]:
        """Name the listeners that somebody has spoken to."""
        return [name for name, ear in self.ears.items() if _was_spoken_to(ear)]


def _looked_at(path: Path) -> tuple[int, str]:
    if path.is_symlink() or not path.is_file():
        return path.lstat().st_mode, ""
    return path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest()


def _was_spoken_to(ear: socket.socket) -> bool:
    try:
        if ear.type == socket.SOCK_STREAM:
            ear.accept()[0].close()
        else:
            ear.recv(65536)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def open_arena() -> Iterator[Arena]:
    """Make an arena, and take it away afterwards."""
    root = Path(tempfile.mkdtemp(prefix="trimtab-hostile-"))
    mark = secrets.token_hex(8)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        stack.callback(_clear_shared_memory, mark)
        for name in FOLDERS:
            (root / name).mkdir(parents=True)
        (root / "canary" / "keep").write_text(f"file-{mark}")
        (root / "home" / ".ssh" / "id").write_text(f"file-{mark}")
        yield Arena(root, mark, _ears(root, mark, stack))


def _clear_shared_memory(mark: str) -> None:
    for path in _SHARED.glob(f"*{mark}*"):
        path.unlink()


def _ears(root: Path, mark: str, stack: contextlib.ExitStack) -> dict[str, socket.socket]:
    addresses: dict[str, tuple[int, int, object]] = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(root / "ear")),
        "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{mark}"),
    }
    ears = {name: stack.enter_context(socket.socket(*kind)) for name, (*kind, _) in addresses.items()}
    for name, ear in ears.items():
        ear.bind(addresses[name][2])  # type: ignore[arg-type]
        ear.setblocking(False)
        if ear.type == socket.SOCK_STREAM:
            ear.listen(64)
    return ears
