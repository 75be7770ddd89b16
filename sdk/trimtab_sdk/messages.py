"""The units of a prompt: messages and their parts.

Everything here is an immutable value. A codec makes these from a provider's wire format, a plugin reads
them, and only the host turns them back into what is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Source: TypeAlias = Literal[
    "system",
    "character",
    "persona",
    "lorebook",
    "memory",
    "template",
    "history",
    "input",
    "summary",
    "plugin",
]
Path: TypeAlias = tuple[int, ...]
"""Where a text stands in a message: `(2,)` is part 2, `(2, 0)` is part 0 inside the tool result at part 2."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words for or from the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by address or by value.

    `url` is an http(s) address or a data URL, `data` is base64 without a header; one of them is set.
    `width` and `height` are pixels, 0 when unknown.
    """

    url: str = ""
    data: str = ""
    media_type: str = ""
    detail: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class File:
    """A document: base64 `data`, plain `text`, an address or a provider's file id."""

    name: str = ""
    media_type: str = ""
    data: str = ""
    text: str = ""
    url: str = ""
    file_id: str = ""


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound: base64 `data` in `format`, or the id of one the provider holds."""

    data: str = ""
    format: str = ""
    audio_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` is the text the model wrote; it may be invalid JSON."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to the call with the same `call_id`."""

    call_id: str
    content: str | tuple[ContentPart, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question whether the call `call_id` may run. It belongs to the group of that call."""

    approval_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    """The answer to the approval request with the same `approval_id`."""

    approval_id: str
    approved: bool


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's thinking. `opaque` is a signature or an encrypted text, kept byte for byte.

    `tokens` is the provider's own count for `opaque`, 0 when unknown.
    """

    text: str = ""
    opaque: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a provider made of the messages `covers` (their ids)."""

    provider: str
    opaque: str
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark for the people who read the chat: stored, never sent and never counted."""

    kind: str
    data: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part no codec knows: kept as it came, counted by the texts inside it."""

    raw: object = field(hash=False)


ContentPart: TypeAlias = Text | Image | File | Audio | Unknown
Part: TypeAlias = (
    ContentPart | ToolCall | ToolResult | ApprovalRequest | ApprovalResponse | Reasoning | Compaction | Notice
)

EMPTY_META: Mapping[str, object] = MappingProxyType({})


def _no_meta() -> Mapping[str, object]:
    return EMPTY_META


@dataclass(frozen=True, slots=True)
class Message:
    """One unit of the prompt.

    - `id` is unique in a conversation.
    - `source` says where it comes from: persona, lorebook entry, summary and history turn are all messages.
    - `pinned` and `required` protect it; `ephemeral` means it is made anew each turn.
    - `relevance` to the current input is between 0 and 1, or None when nobody measured it.
    - `meta` is the host app's own data. `meta["manualExcluded"]` is the one key Trimtab reads.
    """

    id: str
    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None
    source: Source = "history"
    pinned: bool = False
    required: bool = False
    ephemeral: bool = False
    relevance: float | None = None
    meta: Mapping[str, object] = field(default_factory=_no_meta, hash=False)


(
    _set_id,
    _set_role,
    _set_parts,
    _set_name,
    _set_source,
    _set_pinned,
    _set_required,
    _set_ephemeral,
    _set_relevance,
    _set_meta,
) = (getattr(Message, slot).__set__ for slot in Message.__slots__)


def plain_message(id: str, role: Role, parts: tuple[Part, ...], source: Source) -> Message:
    """Give `Message(id, role, parts, source=source)` in half the time, for codecs: one call for each message."""
    message = Message.__new__(Message)
    _set_id(message, id)
    _set_role(message, role)
    _set_parts(message, parts)
    _set_name(message, None)
    _set_source(message, source)
    _set_pinned(message, False)
    _set_required(message, False)
    _set_ephemeral(message, False)
    _set_relevance(message, None)
    _set_meta(message, EMPTY_META)
    return message


def texts_of(message: Message) -> Iterator[tuple[Path, str]]:
    """Give every text that an edit may shorten, with its path: texts and tool-result texts, in order."""
    for index, part in enumerate(message.parts):
        if isinstance(part, Text):
            yield (index,), part.text
        elif isinstance(part, ToolResult):
            if isinstance(part.content, str):
                yield (index,), part.content
                continue
            for inner, content in enumerate(part.content):
                if isinstance(content, Text):
                    yield (index, inner), content.text


def plain_text(message: Message) -> str:
    """Give the shortenable texts of a message, joined by line breaks."""
    return "\n".join(text for _, text in texts_of(message))


def with_texts(message: Message, texts: Mapping[Path, str]) -> Message:
    """Give the message with the texts at some paths replaced.

    Raises KeyError when a path names no shortenable text of the message.
    """
    unused = set(texts)
    parts = list(message.parts)
    for path, _ in texts_of(message):
        if path not in texts:
            continue
        unused.discard(path)
        parts[path[0]] = _part_with_text(parts[path[0]], path[1:], texts[path])
    if unused:
        raise KeyError(sorted(unused)[0])
    return replace(message, parts=tuple(parts))


def _part_with_text(part: Part, inner: Path, text: str) -> Part:
    if isinstance(part, ToolResult):
        if not inner or isinstance(part.content, str):
            return replace(part, content=text)
        content = list(part.content)
        content[inner[0]] = Text(text)
        return replace(part, content=tuple(content))
    return Text(text)
