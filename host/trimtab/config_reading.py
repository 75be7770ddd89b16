"""One configuration file, from the disk to a table whose every key was checked."""

from __future__ import annotations

import math
import os
import shlex
import stat
import sys
import tomllib
from pathlib import Path

from trimtab.config import Config
from trimtab_sdk.errors import ConfigError

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def read_table(file: Path, *, required: bool = False) -> dict[str, object] | None:
    """Read a TOML file whose keys are the fields of Config; None where there is none and none is required.

    `~` and relative folders in `plugin_directory` are made absolute; the latter start at the file's folder. Raises
    ConfigError, which begins with the file's name.
    """
    try:
        data = _bytes_of(file)
    except (FileNotFoundError, NotADirectoryError) as error:
        if required or file.is_symlink():
            raise _wrong(file, "there is no such file") from error
        return None
    except (OSError, ValueError) as error:
        raise _wrong(file, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error
    table = _parsed(file, data)
    try:
        _check_values(table)
        _check_models(Config(**table))
    except ConfigError as error:
        raise _wrong(file, error.message) from error
    return _with_absolute_folder(file, table)


def _wrong(file: Path, problem: str) -> ConfigError:
    return ConfigError(f"{file}: {problem}")


def _bytes_of(file: Path) -> bytes:
    _check_kind(file, os.stat(file))
    # A pipe put in its place since then must not be waited for.
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        _check_kind(file, found)
        _check_owner(file, found)
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _wrong(file, f"it has more than {MAX_BYTES:,} bytes; a configuration needs far less")
    return data


def _check_kind(file: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _wrong(file, "it is a directory; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise _wrong(file, "it is no regular file; a configuration is read from nothing else")


def _check_owner(file: Path, found: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if found.st_uid not in (0, os.geteuid()):
        raise _wrong(file, "it belongs to another user, who could change whom you trust; make a copy of your own")
    if found.st_mode & _WRITABLE_BY_OTHERS:
        line = shlex.join(["chmod", "go-w", str(file)])
        raise _wrong(file, f"others than its owner may write to it, and change whom you trust; run: {line}")


def _parsed(file: Path, data: bytes) -> dict[str, object]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _wrong(file, f"line {line} is not UTF-8; save it as UTF-8") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise _wrong(file, f"this is no TOML: {problem}") from error


def _check_values(table: dict[str, object]) -> None:
    """Refuse what JSON cannot carry, since settings go to plugins as JSON, and what is nested beyond reason."""
    waiting: list[tuple[tuple[object, ...], object]] = [((), table)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > MAX_DEPTH:
            raise ConfigError(f"{_shown(path[:3])}…: it is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            waiting += (((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting += (((*path, at), inner) for at, inner in enumerate(value))
        elif not _is_plain(value):
            raise ConfigError(f"{_shown(path)}: dates, times, inf and nan are not taken; write a text or a number")


def _check_models(config: Config) -> None:
    if config.models:
        from trimtab.catalogue import Catalogue

        Catalogue.load().with_overrides(config.models)


def _is_plain(value: object) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, str | int)


def _shown(path: tuple[object, ...]) -> str:
    return ".".join(map(str, path))


def _with_absolute_folder(file: Path, table: dict[str, object]) -> dict[str, object]:
    folder = table.get("plugin_directory")
    if not isinstance(folder, str):
        return table
    path = Path(os.path.abspath(file.parent), os.path.expanduser(folder))
    if not folder or (folder.startswith("~") and not os.path.isabs(os.path.expanduser(folder))):
        raise _wrong(file, f"plugin_directory: {folder!r} names no folder")
    return {**table, "plugin_directory": str(path)}
