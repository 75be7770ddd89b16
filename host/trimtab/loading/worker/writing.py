"""From a request to the frame of a call. Least data: no blobs, nothing opaque, no meta but the listed keys."""

from __future__ import annotations

from collections.abc import Collection

from trimtab_sdk.groups import Group
from trimtab_sdk.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    ContentPart,
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
from trimtab_sdk.request import Request

BLOB_BYTES = "blobBytes"


def call_frame(
    request: Request, *, hook: str, services: Collection[str], deadline: float, meta: Collection[str]
) -> dict[str, object]:
    """Give the frame that calls `hook` with `request`.

    - `services` are those the host offers.
    - `deadline` is a moment on the clock of `time.monotonic()`, which is the machine's.
    - `meta` are the keys of `Message.meta` that the plugin may read.

    The sizes of blobs stand in the meta key `blobBytes`, path → size.
    """
    tokens = request.tokens
    messages = request.messages
    return {
        "kind": "call",
        "hook": hook,
        "services": sorted(services),
        "deadline": deadline,
        "ids": [message.id for message in messages],
        "tokens": [tokens[message.id] for message in messages],
        "messages": [_message_row(message, meta) for message in messages],
        "groups": [_group_row(group) for group in request.groups if _is_listed(group)],
        "protected": [at for at, message in enumerate(messages) if message.id in request.protected],
        "budget": request.budget,
        "total": request.total,
        "overhead": request.overhead,
        "target": request.target,
        "query": request.query,
        "settings": dict(request.settings),
    }


def _message_row(message: Message, meta: Collection[str]) -> list[object]:
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        content: object = parts[0].text
        row = [message.role, message.source, content]
    else:
        row = [message.role, message.source, [_part_row(part) for part in parts]]
    rest = _rest(message, meta)
    if rest:
        row.append(rest)
    return row


def _rest(message: Message, meta: Collection[str]) -> dict[str, object]:
    rest: dict[str, object] = {}
    if message.name is not None:
        rest["name"] = message.name
    if message.pinned:
        rest["pinned"] = True
    if message.required:
        rest["required"] = True
    if message.ephemeral:
        rest["ephemeral"] = True
    if message.relevance is not None:
        rest["relevance"] = message.relevance
    shown = {key: message.meta[key] for key in meta if key in message.meta} if meta and message.meta else {}
    if sizes := _blob_bytes(message):
        shown[BLOB_BYTES] = sizes
    if shown:
        rest["meta"] = shown
    return rest


def _blob_bytes(message: Message) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for at, part in enumerate(message.parts):
        if type(part) is Text:
            continue
        if isinstance(part, ToolResult) and not isinstance(part.content, str):
            sizes.update({f"{at}.{inner}": _size(one) for inner, one in enumerate(part.content)})
        else:
            sizes[str(at)] = _size(part)
    return {path: size for path, size in sizes.items() if size}


def _size(part: Part) -> int:
    if isinstance(part, Image):
        return len(part.data) + len(part.url)
    if isinstance(part, File):
        return len(part.data) + len(part.url) + len(part.text)
    if isinstance(part, Audio):
        return len(part.data)
    if isinstance(part, Reasoning | Compaction):
        return len(part.opaque)
    return 0


def _part_row(part: Part) -> list[object]:
    match part:
        case ToolCall():
            return ["call", part.call_id, part.name, part.arguments]
        case ToolResult(content=str()):
            return ["result", part.call_id, part.content, part.is_error]
        case ToolResult():
            return ["result", part.call_id, [_content_row(one) for one in part.content], part.is_error]
        case ApprovalRequest():
            return ["asked", part.approval_id, part.call_id]
        case ApprovalResponse():
            return ["approved", part.approval_id, part.approved]
        case Reasoning():
            return ["reasoning", part.text, part.tokens]
        case Compaction():
            return ["compaction", part.provider, list(part.covers)]
        case Notice():
            return ["notice", part.kind]
    return _content_row(part)


def _content_row(part: ContentPart | str) -> list[object]:
    match part:
        case Text():
            return ["text", part.text]
        case Image():
            return ["image", part.media_type, part.width, part.height]
        case File():
            return ["file", part.media_type]
        case Audio():
            return ["audio", part.format]
        case Unknown() | _:
            return ["unknown"]


def _is_listed(group: Group) -> bool:
    return len(group.positions) > 1 or group.orphan or bool(group.open_calls)


def _group_row(group: Group) -> list[object]:
    return [list(group.positions), group.orphan, list(group.open_calls)]
