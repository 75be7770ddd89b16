"""An error as it may leave the process: in an event, in the store, in an audit.

What Trimtab raises itself is written to be read and is passed on. Nothing is known of the text of any other
exception: it may hold a key, a path or words of the chat. So only its class is named, and the log has the rest.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trimtab.fitting.cleaning import class_name
from trimtab_sdk.errors import ProviderError, TrimtabError

INTERNAL_ERROR = "INTERNAL_ERROR"
MAX_DETAILS = 16_384
"""The most characters of the details as JSON text."""
MAX_MESSAGE = 4_000
CUT = "cut"
"""The key that says, with true as its value, that the details were too long."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DEEPEST = 8
_LATER = frozenset(
    {
        "CHAT_CHANGED",
        "CURSOR_LOST_AGAIN",
        "HOST_STOPPING",
        "PLUGIN_BUSY",
        "STORE_UNAVAILABLE",
        "TOOL_RESULT_CURSOR_LOSS",
        "TURN_INTERRUPTED",
        "TURN_IN_PROGRESS",
        "TURN_LOST",
    }
)
"""The codes of what a second try, a little later, may get past. A provider's fault says so itself."""


_LATER_OF_PROVIDERS = frozenset(
    {
        "PROVIDER_FAILED",
        "PROVIDER_OVERLOADED",
        "PROVIDER_RATE_LIMITED",
        "PROVIDER_STREAM_BROKEN",
        "PROVIDER_TIMEOUT",
        "PROVIDER_UNREACHABLE",
    }
)
"""The same for faults of which no more than the code is known."""


def is_retryable(code: str) -> bool:
    """Tell by its code alone whether a second try, a little later, may get past an error."""
    return code in _LATER or code in _LATER_OF_PROVIDERS


@dataclass(frozen=True, slots=True)
class NormalizedError:
    """An error that is safe to show and to store.

    - `code` is stable, `message` one line for people, `details` JSON values.
    - `retryable`: the same thing may succeed a little later.
    """

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict, hash=False)
    retryable: bool = False

    def to_dict(self) -> dict[str, object]:
        """Give the error as JSON values."""
        return {
            "code": self.code,
            "message": self.message,
            "details": dict(self.details),
            "retryable": self.retryable,
        }


def normalize_error(error: BaseException) -> NormalizedError:
    """Give any exception as it may be shown. Never raises, whatever it is given.

    An error of Trimtab keeps its code, its text without control characters, at most 4,000 of them, and its
    details, cut to 16 KiB of JSON. Any other becomes INTERNAL_ERROR with the name of its class.
    """
    if not isinstance(error, TrimtabError):
        return _internal(error)
    try:
        return _known(error)
    except Exception:
        # A class that somebody derived may fail to describe itself.
        return _internal(error)


def _known(error: TrimtabError) -> NormalizedError:
    code = error.code
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        return _internal(error)
    retryable = error.retryable if isinstance(error, ProviderError) else code in _LATER
    return NormalizedError(code, _shown(str(error.message), MAX_MESSAGE), fit_details(error.details), retryable)


def _internal(error: BaseException) -> NormalizedError:
    name = class_name(error)
    text = f"something went wrong inside ({name}); the log of the process has the whole error"
    return NormalizedError(INTERNAL_ERROR, text, {"error": name})


def fit_details(details: Mapping[str, object]) -> dict[str, object]:
    """Give details as clean JSON values of at most 16 KiB.

    Where they are longer, single values are kept first, then the beginnings of lists, objects and long texts, and
    `cut` is true.
    """
    plain = {_shown(str(key), 200): _plain(value, _DEEPEST) for key, value in details.items()}
    return plain if _size(plain) <= MAX_DETAILS else _cut(plain, MAX_DETAILS) | {CUT: True}


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return _shown(value, MAX_DETAILS)
    if not depth:
        return f"[{class_name(value)}]"
    if isinstance(value, Mapping):
        return {_shown(str(key), 200): _plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, depth - 1) for one in value]
    return f"[{class_name(value)}]"


def _cut(values: dict[str, object], room: int) -> dict[str, object]:
    """Give what of an object fits into `room` characters of JSON, the key `cut` besides, keys in their order."""
    room -= _size({CUT: True}) + 2
    kept: dict[str, object] = {}
    for key in sorted(values, key=lambda key: _is_long(values[key])):
        beside = _size(key) + 4
        value = _beginning(values[key], room - beside)
        size = _size(value) + beside
        if size <= room:
            kept[key] = value
            room -= size
    return {key: kept[key] for key in values if key in kept}


def _is_long(value: object) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and len(value) > 200)


def _beginning(value: object, room: int) -> object:
    if _size(value) <= room:
        return value
    if isinstance(value, str):
        # A character takes at most 12 signs of JSON, and the quotation marks two.
        return value[: max(0, (room - 2) // 12)]
    if isinstance(value, list):
        return list(_first(value, room - 2))
    return _cut(value, room) if isinstance(value, dict) else value


def _first(values: Iterable[object], room: int) -> Iterable[object]:
    for value in values:
        room -= _size(value) + 2
        if room < 0:
            return
        yield value


def _size(value: object) -> int:
    return len(json.dumps(value))


def _shown(text: str, limit: int) -> str:
    """Give a text without what steers a terminal or cannot be written, cut to `limit` characters."""
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if unicodedata.category(char) in _HIDDEN or char in _TURNING else char for char in text
    ).strip()
