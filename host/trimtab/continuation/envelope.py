"""The wrapper of a provider's cursor, as it is stored between two turns.

An envelope is what `chats.lastProviderState` holds: a cursor, and the facts under which it may be used again.
What comes from the store is outside data. It may have been written by another version or by hand, so it is read
strictly and never raises:

- it is a JSON object with the eight keys of version 1, each once, and no others. An unknown key means that
  somebody else wrote it, and the price of not believing it is one replay;
- `schemaVersion` is the integer 1. Another version is not read;
- `mode` is a mode in which a provider keeps the conversation, never `stateless-loop`;
- `provider` is a name of at most 64 characters, `modelName` a printable text of at most 256, `cursor` 1 to 4,096
  visible ASCII characters, and a hash has the scheme of this version;
- the whole text has at most 16,384 characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard, cast

from trimtab.continuation.hashes import SCHEME
from trimtab.continuation.words import DURABLE_MODES, DurableMode
from trimtab_sdk.provider import ContinuationMode

SCHEMA_VERSION: Literal[1] = 1
MAX_STORED = 16_384
MAX_MODEL_NAME = 256

_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_CURSOR = re.compile(r"[\x21-\x7e]{1,4096}")
_HASH = re.compile(rf"{SCHEME}:[0-9a-f]{{64}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationEnvelope:
    """A cursor and what it stands for.

    - `provider`, `mode` and `model_name` say who made the cursor, and how.
    - `system_prompt_hash` and `toolset_hash` are of the request that made it.
    - `cursor` is the provider's id of its last answer. It opens the stored conversation: it is in no log, no
      notice and no `repr`.
    - `history_hash` is of the exact messages the cursor stands for, the answer included.
    """

    provider: str
    mode: DurableMode
    model_name: str
    system_prompt_hash: str
    toolset_hash: str
    cursor: str
    history_hash: str
    schema_version: Literal[1] = SCHEMA_VERSION

    def __repr__(self) -> str:
        return f"ContinuationEnvelope(provider={self.provider!r}, mode={self.mode!r}, model={self.model_name!r})"

    def to_dict(self) -> dict[str, object]:
        """Give the envelope as JSON values with camelCase keys, `schemaVersion` first."""
        return {
            "schemaVersion": self.schema_version,
            "provider": self.provider,
            "mode": self.mode,
            "modelName": self.model_name,
            "systemPromptHash": self.system_prompt_hash,
            "toolsetHash": self.toolset_hash,
            "cursor": self.cursor,
            "historyHash": self.history_hash,
        }


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why something stored is no envelope.

    `why` is the key that is wrong, or one of `too-long`, `not-json`, `not-an-object`, `keys`. It never holds what
    was stored.
    """

    why: str


def is_durable(mode: ContinuationMode) -> TypeGuard[DurableMode]:
    """Tell whether the provider keeps the conversation in this mode, so that a cursor can outlive the turn."""
    return mode in DURABLE_MODES


def parse_envelope(stored: object) -> ContinuationEnvelope | Malformed | None:
    """Read what a chat has stored, as JSON text or as the value of one; never raises.

    Gives None when nothing is stored: None, or a JSON `null`.
    """
    if stored is None:
        return None
    value = _read_json(stored) if isinstance(stored, str) else stored
    if value is None or isinstance(value, Malformed):
        return value
    if type(value) is not dict:
        return Malformed("not-an-object")
    fault = find_fault(value)
    return Malformed(fault) if fault else _envelope_of(value)


def find_fault(values: Mapping[str, object]) -> str:
    """Give the first key that is wrong in the values of an envelope, `keys` when they are others, else nothing."""
    if not _is_version(values.get("schemaVersion")):
        return "schemaVersion"
    if values.keys() != _RULES.keys():
        return "keys"
    return next((key for key, holds in _RULES.items() if not holds(values[key])), "")


def serialize_envelope(envelope: ContinuationEnvelope) -> str:
    """Give the JSON text to store: ASCII, no blanks, keys always in the same order."""
    return json.dumps(envelope.to_dict(), separators=(",", ":"))


def _read_json(text: str) -> object:
    if len(text) > MAX_STORED:
        return Malformed("too-long")
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError):
        return Malformed("not-json")


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return values


def _envelope_of(values: Mapping[str, object]) -> ContinuationEnvelope:
    texts = cast("Mapping[str, str]", values)
    return ContinuationEnvelope(
        provider=texts["provider"],
        mode=cast("DurableMode", values["mode"]),
        model_name=texts["modelName"],
        system_prompt_hash=texts["systemPromptHash"],
        toolset_hash=texts["toolsetHash"],
        cursor=texts["cursor"],
        history_hash=texts["historyHash"],
    )


def _is_version(value: object) -> bool:
    return type(value) is int and value == SCHEMA_VERSION


def _is_mode(value: object) -> bool:
    return type(value) is str and value in DURABLE_MODES


def _is_model_name(value: object) -> bool:
    if type(value) is not str or len(value) > MAX_MODEL_NAME:
        return False
    return value.isprintable() and value.strip() != ""


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: type(value) is str and pattern.fullmatch(value) is not None


_RULES: Mapping[str, Callable[[object], bool]] = {
    "schemaVersion": _is_version,
    "provider": _matches(_PROVIDER),
    "mode": _is_mode,
    "modelName": _is_model_name,
    "systemPromptHash": _matches(_HASH),
    "toolsetHash": _matches(_HASH),
    "cursor": _matches(_CURSOR),
    "historyHash": _matches(_HASH),
}
