"""Writing a fitted conversation, in the form it was read in, to a file or to stdout."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from trimtab.cli.reading import Form
from trimtab_sdk.errors import InvalidRequestError

_STREAMED_LEVELS = 2
_CHUNK = 1 << 20


class UnwritableOutputError(InvalidRequestError):
    """The output cannot be written. `file` is what was asked for."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file} cannot be written: {problem}", path="--out")
        self.file = file

    def _details(self) -> dict[str, object]:
        return {"file": self.file}


def json_pieces(value: object, form: Form) -> Iterator[str]:
    """Give the JSON text of a conversation, piece by piece, with a line break at its end."""
    if form.kind == "lines":
        encode = _encoder(indented=False, spaced=form.spaced).encode
        assert isinstance(value, list)
        for message in value:
            yield encode(message) + "\n"
        return
    yield from _Layout(form).pieces(value, depth=0)
    yield "\n"


def conversation_pieces(messages: list[object], request: dict[str, object] | None, form: Form) -> Iterator[str]:
    """Give the JSON text of a conversation: the body where there is one, else its messages.

    The form is that of the input, as far as it can hold what comes out.
    """
    if request is not None:
        return json_pieces(request, replace(form, kind="body"))
    return json_pieces(messages, form if form.kind == "lines" else replace(form, kind="list"))


def write_file(file: str, pieces: Iterable[str]) -> None:
    """Write UTF-8 text to a file: all of it, or nothing at all is changed.

    A regular file is replaced at once and keeps its permissions, a link its place; a device or pipe is written
    to. Raises UnwritableOutputError.
    """
    target = os.path.realpath(file)
    try:
        mode = _mode_of(target)
        if mode is None or stat.S_ISREG(mode):
            _replace(target, mode, pieces)
            return
        with open(target, "wb") as stream:
            _write(stream, pieces)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UnwritableOutputError(file, reason or str(error)) from error


def write_stdout(pieces: Iterable[str]) -> None:
    """Write UTF-8 text to stdout, whatever its encoding. Raises UnwritableOutputError, and BrokenPipeError."""
    if sys.stdout is None:
        raise UnwritableOutputError("stdout", "it is closed; use --out FILE")
    try:
        sys.stdout.flush()
        _write(sys.stdout.buffer, pieces)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnwritableOutputError("stdout", error.strerror or str(error)) from error


class _Layout:
    """The outer levels are written piece by piece, so a long conversation is never held as one more text."""

    def __init__(self, form: Form) -> None:
        self._indent = "  " if form.indented else ""
        self._newline = "\n" if form.indented else ""
        blank = " " if form.spaced or form.indented else ""
        self._comma = "," if form.indented else f",{blank}"
        self._colon = f":{blank}"
        self._encode = _encoder(indented=form.indented, spaced=form.spaced).encode

    def pieces(self, value: object, depth: int) -> Iterator[str]:
        if depth < _STREAMED_LEVELS and isinstance(value, list) and value:
            yield from self._enclosed("[]", (("", item) for item in value), depth)
        elif depth < _STREAMED_LEVELS and isinstance(value, dict) and value:
            named = ((self._encode(key) + self._colon, item) for key, item in value.items())
            yield from self._enclosed("{}", named, depth)
        else:
            yield self._encode(value).replace("\n", self._line(depth)) if self._newline else self._encode(value)

    def _enclosed(self, brackets: str, items: Iterable[tuple[str, object]], depth: int) -> Iterator[str]:
        inner = self._line(depth + 1)
        before = brackets[0] + inner
        for name, item in items:
            yield before + name
            yield from self.pieces(item, depth + 1)
            before = self._comma + inner
        yield self._line(depth) + brackets[1]

    def _line(self, depth: int) -> str:
        return self._newline + self._indent * depth


def _encoder(*, indented: bool, spaced: bool) -> json.JSONEncoder:
    if indented:
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=2)
    separators = (", ", ": ") if spaced else (",", ":")
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=separators)


def _mode_of(target: str) -> int | None:
    try:
        return os.stat(target).st_mode
    except FileNotFoundError:
        return None


def _replace(target: str, mode: int | None, pieces: Iterable[str]) -> None:
    temporary = os.path.join(os.path.dirname(target), f".trimtab-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as stream:
            _write(stream, pieces)
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write(stream: BinaryIO, pieces: Iterable[str]) -> None:
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            stream.write(_utf8(waiting))
            waiting, size = [], 0
    stream.write(_utf8(waiting))
    stream.flush()


def _utf8(pieces: list[str]) -> bytes:
    # Half of a surrogate pair, which JSON may name but UTF-8 cannot write, goes out as the JSON escape it was.
    return "".join(pieces).encode("utf-8", "backslashreplace")
