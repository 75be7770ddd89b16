"""Reading a conversation, or another JSON value, from a file or from stdin."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from trimtab_sdk.errors import InvalidRequestError

Kind: TypeAlias = Literal["list", "body", "lines"]

CONVERSATION_KEYS = ("messages", "input", "contents")
"""Where a request body of one format or another keeps its conversation."""

_BLANK = re.compile(r"[ \t\r\n]*")
_FIRST_KEY = re.compile(r'[\s\[{]*"[^"\\]*"\s*:(\s?)')
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_UTF8_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_LONGEST_WHOLE_NUMBER = 1000


@dataclass(frozen=True, slots=True)
class Form:
    """How a conversation was written: what holds it, on how many lines, with or without blanks after colons."""

    kind: Kind
    indented: bool = False
    spaced: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a file holds: a list of messages or a request body, and how it was written."""

    data: list[object] | dict[str, object]
    form: Form

    @property
    def messages(self) -> list[object]:
        """The messages as they were read; empty where a body keeps them in no known place."""
        if isinstance(self.data, list):
            return self.data
        for key in CONVERSATION_KEYS:
            messages = self.data.get(key)
            if isinstance(messages, list):
                return messages
        return []

    @property
    def model(self) -> str | None:
        """The model that a request body names."""
        model = self.data.get("model") if isinstance(self.data, dict) else None
        return model if isinstance(model, str) and model else None


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


def read_conversation(file: str) -> Conversation:
    """Read JSON (a list of messages or a request body) or JSONL (one message a line); `-` is stdin.

    The content decides, not the name. Raises UnreadableInputError, with line and column where JSON is broken.
    """
    source = _Source(file)
    value, start, end = source.first_value()
    if source.is_end(end):
        form = Form("list", indented=source.has_line_break(start, end), spaced=source.is_spaced())
        return _single(source, value, form)
    if isinstance(value, dict) and not source.has_line_break(start, end) and source.line_ends(end):
        messages = list(source.messages_by_line())
        return Conversation(messages, Form("lines", spaced=source.is_spaced()))
    raise source.rest_error(end)


def read_json(file: str) -> object:
    """Read a file that holds one JSON value; `-` is stdin. Raises UnreadableInputError."""
    source = _Source(file)
    value, _, end = source.first_value()
    if not source.is_end(end):
        raise source.rest_error(end)
    return value


def too_deep(file: str) -> UnreadableInputError:
    """Give the error for a value that is nested deeper than Python can walk."""
    return UnreadableInputError(_label(file), "the JSON is nested too deeply; take out the deepest levels")


def _single(source: _Source, value: object, form: Form) -> Conversation:
    if isinstance(value, list):
        for at, item in enumerate(value):
            if _is_conversation(item):
                raise source.error(f"item {at} is a whole conversation; {_ONE_AT_A_TIME}")
        return Conversation(value, form)
    if isinstance(value, dict):
        if _is_message(value) and not form.indented:
            return Conversation([value], Form("lines", spaced=form.spaced))
        return Conversation(value, Form("body", indented=form.indented, spaced=form.spaced))
    raise source.error(f"holds {_kind_of(value)}, not a list of messages, a request body or messages line by line")


_ONE_AT_A_TIME = "one conversation is fitted at a time, so put it in a file of its own"


def _is_message(value: dict[str, object]) -> bool:
    return isinstance(value.get("role"), str) and not any(key in value for key in CONVERSATION_KEYS)


def _is_conversation(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list) and "role" not in value


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a number"


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


class _Source:
    """The text of one file, and the errors that name a place in it."""

    def __init__(self, file: str) -> None:
        self.label = _label(file)
        self.text = self._decoded(_bytes_of(file))
        if self.is_end(0):
            raise self.error(
                "is empty; a conversation is a list of messages, a request body or messages line by line"
            )

    def first_value(self) -> tuple[object, int, int]:
        start = self._skip_blanks(0)
        value, end = self._value(self.text, start)
        return value, start, end

    def messages_by_line(self) -> list[object]:
        messages: list[object] = []
        start, line = 0, 0
        while start < len(self.text):
            stop = self.text.find("\n", start)
            stop = len(self.text) if stop < 0 else stop
            line += 1
            words = self.text[start:stop]
            if not words.isspace() and words:
                messages.append(self._message(words, line))
            start = stop + 1
        return messages

    def is_end(self, at: int) -> bool:
        return self._skip_blanks(at) == len(self.text)

    def line_ends(self, at: int) -> bool:
        return self.has_line_break(at, self._skip_blanks(at))

    def has_line_break(self, start: int, stop: int) -> bool:
        return self.text.find("\n", start, stop) >= 0

    def is_spaced(self) -> bool:
        key = _FIRST_KEY.match(self.text, 0, 4096)
        return key is None or bool(key[1])

    def rest_error(self, at: int) -> UnreadableInputError:
        line, column = _place(self.text, self._skip_blanks(at))
        return self.error("there is more after the end of the JSON value", line, column)

    def error(self, problem: str, line: int = 0, column: int = 0) -> UnreadableInputError:
        return UnreadableInputError(self.label, problem, line=line, column=column)

    def _skip_blanks(self, at: int) -> int:
        blanks = _BLANK.match(self.text, at)
        return blanks.end() if blanks else at

    def _message(self, words: str, line: int) -> object:
        start = len(words) - len(words.lstrip(" \t\r"))
        value, end = self._value(words, start, line)
        rest = words[end:].lstrip(" \t\r")
        if rest:
            column = len(words) - len(rest) + 1
            raise self.error("there is more after the message; write one message a line", line, column)
        if _is_conversation(value):
            raise self.error(f"this line is a whole conversation; {_ONE_AT_A_TIME}", line)
        if not isinstance(value, dict):
            raise self.error(f"this line is {_kind_of(value)}, not a message", line)
        return value

    def _value(self, text: str, start: int, line: int = 1) -> tuple[object, int]:
        before = line - 1
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            problem = f"this is no JSON: {error.msg}"
            raise UnreadableInputError(
                self.label, problem, line=before + error.lineno, column=error.colno
            ) from error
        except _NumberError as error:
            row, column = _place_of_token(text, error.token)
            problem = f"{_shown(error.token)} is no number that JSON can carry; use a finite one, or null"
            raise UnreadableInputError(self.label, problem, line=before + row, column=column) from error
        except RecursionError as error:
            raise too_deep(self.label) from error

    def _decoded(self, data: bytes) -> str:
        skipped = len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0
        try:
            return str(memoryview(data)[skipped:], "utf-8")
        except UnicodeDecodeError as error:
            other = _OTHER_BOMS.get(data[:2])
            problem = f"is {other}, not UTF-8" if other else f"is not UTF-8 at byte {error.start + skipped}"
            raise UnreadableInputError(self.label, f"{problem}; save it as UTF-8") from error


def _label(file: str) -> str:
    return "stdin" if file == "-" else file


def _bytes_of(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read()
        with open(file, "rb") as stream:
            return stream.read()
    except IsADirectoryError as error:
        raise UnreadableInputError(file, "is a directory; name a file in it") from error
    except FileNotFoundError as error:
        raise UnreadableInputError(file, "there is no such file") from error
    except (OSError, ValueError, AttributeError) as error:
        raise UnreadableInputError(_label(file), f"cannot be read: {_reason(error)}") from error


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
