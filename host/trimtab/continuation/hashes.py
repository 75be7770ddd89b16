"""Hashes of what is sent: the system prompt, the tools, the history.

Scheme `sha256-1`: SHA-256 over canonical JSON (ASCII, no blanks, keys sorted), written `sha256-1:` and 64
hexadecimal digits. Whatever changes in what is hashed or how makes a new scheme.

- A message is `[id, role, name, parts]`. A part is its kind and what is sent of it, opaque values byte for byte.
  Notices are left out, and so is what only serves counting or the host: the size of a picture, the tokens of
  reasoning, what a compaction covers, source, pins, relevance, `meta`.
- The system prompt is the list of its messages without their ids, which may be made anew each turn.
- The tools are sorted by their own JSON text, so that neither their order nor the order of their keys counts.
- The history is a chain: the hash of n + 1 messages is SHA-256 over the hash of n and that of the new message. A
  longer history is hashed from the hash of the shorter one alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import assert_never

from trimtab.continuation.prompt import is_remark
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

SCHEME = "sha256-1"
EMPTY_LINK = sha256(b"trimtab history").digest()


def system_prompt_hash(messages: Iterable[Message]) -> str:
    """Hash the messages of a system prompt, as `split_prompt` gives them.

    Raises InvalidRequestError for a message that holds what JSON cannot.
    """
    return _hash_of(b"trimtab system prompt " + _joined(_message_text(message, "") for message in messages))


def toolset_hash(tools: Iterable[object] | None) -> str:
    """Hash the tools of a request, JSON values in the form they are sent in. None and no tools are the same.

    Raises InvalidRequestError for a tool that holds what JSON cannot.
    """
    texts = sorted(_tool_text(tool, index) for index, tool in enumerate(tools or ()))
    return _hash_of(b"trimtab tools " + _joined(texts))


def history_hash(messages: Iterable[Message]) -> str:
    """Hash a history from its beginning. See `extend_history` for what is left out and what is raised."""
    return extend_history(EMPTY_HISTORY, messages)


def extend_history(hash: str, messages: Iterable[Message]) -> str:
    """Give the hash of a history with messages added at its end, from its hash alone.

    Ephemeral messages, and such as hold nothing but notices, change nothing. Raises InvalidRequestError for a
    message that holds what JSON cannot, and ValueError when `hash` is not of this scheme.
    """
    link = link_of(hash)
    for message in held(messages):
        link = next_link(link, message_digest(message))
    return hash_of_link(link)


def held(messages: Iterable[Message]) -> list[Message]:
    """Give the messages that a provider would hold: none that is ephemeral, none of notices alone."""
    return [message for message in messages if not message.ephemeral and not is_remark(message)]


def message_digest(message: Message) -> bytes:
    """Give the 32 bytes that stand for a message in a chain; they may be kept with its revision.

    Raises InvalidRequestError when it holds what JSON cannot.
    """
    return sha256(_message_text(message, message.id).encode("ascii")).digest()


def next_link(link: bytes, digest: bytes) -> bytes:
    """Give the link of a chain that follows another one."""
    return sha256(link + digest).digest()


def hash_of_link(link: bytes) -> str:
    """Write a link as it is stored in an envelope."""
    return f"{SCHEME}:{link.hex()}"


def link_of(hash: str) -> bytes:
    """Read a link as it is stored in an envelope. Raises ValueError when it is not of this scheme."""
    scheme, _, digits = hash.partition(":")
    link = bytes.fromhex(digits)
    if scheme != SCHEME or len(link) != len(EMPTY_LINK):
        raise ValueError(f"this is no hash of the scheme {SCHEME}")
    return link


EMPTY_HISTORY = hash_of_link(EMPTY_LINK)
"""The hash of a history without messages."""


def _hash_of(data: bytes) -> str:
    return f"{SCHEME}:{sha256(data).hexdigest()}"


def _joined(texts: Iterable[str]) -> bytes:
    return f"[{','.join(texts)}]".encode("ascii")


def _message_text(message: Message, id: str) -> str:
    parts = [_sent(part) for part in message.parts if not isinstance(part, Notice)]
    try:
        return canonical([id, message.role, message.name, parts])
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(
            f"the message {message.id!r} holds a value that JSON cannot", path="messages", ids=(message.id,)
        ) from error


def _tool_text(tool: object, index: int) -> str:
    try:
        return canonical(tool)
    except (TypeError, ValueError, RecursionError) as error:
        path = f"tools[{index}]"
        raise InvalidRequestError(f"{path} holds a value that JSON cannot", path=path) from error


def _sent(part: Part) -> list[object]:
    """Give the kind of a part and what is sent of it."""
    match part:
        case Text():
            return ["text", part.text]
        case ToolCall():
            return ["call", part.call_id, part.name, part.arguments]
        case ToolResult():
            return ["result", part.call_id, _sent_content(part), part.is_error]
        case Reasoning():
            return ["reasoning", part.text, part.opaque]
        case Image():
            return ["image", part.url, part.data, part.media_type, part.detail]
        case File():
            return ["file", part.name, part.media_type, part.data, part.text, part.url, part.file_id]
        case Audio():
            return ["audio", part.data, part.format, part.audio_id]
        case ApprovalRequest():
            return ["approval-request", part.approval_id, part.call_id]
        case ApprovalResponse():
            return ["approval-response", part.approval_id, part.approved]
        case Compaction():
            return ["compaction", part.provider, part.opaque]
        case Unknown():
            return ["unknown", part.raw]
        case Notice():
            return ["notice"]
        case _:
            assert_never(part)


def _sent_content(result: ToolResult) -> object:
    content = result.content
    return content if isinstance(content, str) else [_sent(part) for part in content]


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


canonical = json.JSONEncoder(
    ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain
).encode
"""Writes the JSON that is hashed. Raises TypeError, ValueError or RecursionError for what JSON cannot hold."""
