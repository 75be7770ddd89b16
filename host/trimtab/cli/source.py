"""The text of one file as JSON values, with errors that name the place."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from trimtab_sdk.errors import InvalidRequestError

_BLANKS = " \t\r"
_BLANK = re.compile(r"[ \t\r\n]*")
_FIRST_KEY = re.compile(r'[\s\[{]*"[^"\\]*"\s*:(\s?)')
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_LONGEST_WHOLE_NUMBER = 1000


class UnreadableInputError(InvalidRequestError):
    """A file cannot be read. `line` and `column` count from 1, 0 where they say nothing."""

    def __init__(self, file: str, problem: str, *, line: int = 0, column: int = 0) -> None:
        place = f", line {line}" if line else ""
        place += f", column {column}" if column else ""
        super().__init__(f"{file}{place}: {problem}")
        self.file = file
        self.line = line
        self.column = column

    def _details(self) -> dict[str, object]:
        return {"file": self.file, "line": self.line or None, "column": self.column or None}


def too_deep(file: str) -> UnreadableInputError:
    """Give the error for a value that is nested deeper than Python can walk."""
    return UnreadableInputError(_label(file), "the JSON is nested too deeply; take out the deepest levels")


class Source:
    """The text of a file, `-` being stdin. Everything here raises UnreadableInputError."""

    def __init__(self, file: str) -> None:
        self._label = _label(file)
        self._text = self._decoded(_bytes_of(file))
        if self.is_end(0):
            raise self.error("it is empty")

    def first_value(self) -> tuple[object, int, int]:
        """Give the JSON value that the text begins with, and from where to where it goes."""
        start = self._skip_blanks(0)
        value, end = self._value(self._text, start)
        return value, start, end

    def line_values(self) -> Iterator[tuple[object, int]]:
        """Give the JSON value on each line that is not blank, and the line, counted from 1."""
        for line, words in enumerate(self._lines(), start=1):
            start = len(words) - len(words.lstrip(_BLANKS))
            if start == len(words):
                continue
            value, end = self._value(words, start, line)
            rest = words[end:].lstrip(_BLANKS)
            if rest:
                column = len(words) - len(rest) + 1
                raise self.error("there is more after the message; write one message a line", line, column)
            yield value, line

    def is_end(self, at: int) -> bool:
        """Tell whether nothing but blanks follows."""
        return self._skip_blanks(at) == len(self._text)

    def line_ends(self, at: int) -> bool:
        """Tell whether nothing but blanks follows on the same line, and there is a next one."""
        return self.has_line_break(at, self._skip_blanks(at))

    def has_line_break(self, start: int, stop: int) -> bool:
        """Tell whether a stretch of the text goes over several lines."""
        return self._text.find("\n", start, stop) >= 0

    def is_spaced(self) -> bool:
        """Tell whether a blank stands between key and value, as the first key has it."""
        key = _FIRST_KEY.match(self._text, 0, 4096)
        return key is None or bool(key[1])

    def rest_error(self, at: int) -> UnreadableInputError:
        """Give the error for text that follows where the file should end."""
        line, column = _place(self._text, self._skip_blanks(at))
        return self.error("there is more after the end of the JSON value", line, column)

    def error(self, problem: str, line: int = 0, column: int = 0) -> UnreadableInputError:
        """Give an error that names this file."""
        return UnreadableInputError(self._label, problem, line=line, column=column)

    def _lines(self) -> Iterator[str]:
        start = 0
        while start < len(self._text):
            stop = self._text.find("\n", start)
            stop = len(self._text) if stop < 0 else stop
            yield self._text[start:stop]
            start = stop + 1

    def _skip_blanks(self, at: int) -> int:
        blanks = _BLANK.match(self._text, at)
        return blanks.end() if blanks else at

    def _value(self, text: str, start: int, line: int = 1) -> tuple[object, int]:
        before = line - 1
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            problem = f"this is no JSON: {error.msg}"
            raise self.error(problem, before + error.lineno, error.colno) from error
        except _NumberError as error:
            row, column = _place_of_token(text, error.token)
            problem = f"{_shown(error.token)} is no number that JSON can carry; use a finite one, or null"
            raise self.error(problem, before + row, column) from error
        except RecursionError as error:
            raise too_deep(self._label) from error

    def _decoded(self, data: bytes) -> str:
        skipped = len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0
        try:
            return str(memoryview(data)[skipped:], "utf-8")
        except UnicodeDecodeError as error:
            utf16 = data.startswith(_UTF16_BOMS)
            problem = "it is UTF-16, not UTF-8" if utf16 else f"it is not UTF-8 at byte {error.start + skipped}"
            raise self.error(f"{problem}; save it as UTF-8") from error


class _NumberError(ValueError):
    """A number that JSON or Python cannot carry; `token` is how it was written."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token


def _refuse_constant(token: str) -> NoReturn:
    raise _NumberError(token)


def _finite(token: str) -> float:
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise _NumberError(token)
    return number


def _whole(token: str) -> int:
    if len(token) > _LONGEST_WHOLE_NUMBER:
        raise _NumberError(token)
    return int(token)


_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_whole, parse_constant=_refuse_constant)


def _label(file: str) -> str:
    return "stdin" if file == "-" else file


def _bytes_of(file: str) -> bytes:
    try:
        if file == "-":
            return _text_of(sys.stdin.buffer, "stdin")
        with open(file, "rb") as stream:
            return _text_of(stream, file)
    except IsADirectoryError as error:
        raise UnreadableInputError(file, "it is a directory; name a file in it") from error
    except FileNotFoundError as error:
        raise UnreadableInputError(file, "there is no such file") from error
    except (OSError, ValueError, AttributeError) as error:
        raise UnreadableInputError(_label(file), f"it cannot be read: {_reason(error)}") from error


def _text_of(stream: BinaryIO, label: str) -> bytes:
    """Read to the end what begins as text; of anything else nothing, since a device never ends."""
    start = stream.peek() if isinstance(stream, io.BufferedReader) else b""
    if b"\0" in start and not start.startswith(_UTF16_BOMS):
        raise UnreadableInputError(label, f"it is no text: byte {start.index(0)} is 0; give JSON or JSONL")
    return stream.read()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # A process may be started without any stdin; Python then has None in its place.
    return "it is closed" if isinstance(error, AttributeError) else str(error)


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _place_of_token(text: str, token: str) -> tuple[int, int]:
    for found in re.finditer(f"{_STRING}|(?P<token>{re.escape(token)})", text, re.DOTALL):
        if found["token"]:
            return _place(text, found.start())
    return 1, 1


def _shown(token: str) -> str:
    return token if len(token) <= 24 else f"{token[:20]}… ({len(token):,} characters)"
