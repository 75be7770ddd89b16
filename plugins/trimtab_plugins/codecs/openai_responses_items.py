"""Reading of single Responses items: the role each one plays in a conversation, and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.openai_responses_kinds import (
    CALLS,
    PLAIN_RESULTS,
    RESULTS,
    CallKind,
    role_of,
)
from trimtab_plugins.codecs.openai_responses_parts import read_part
from trimtab_plugins.codecs.reading import (
    JsonObject,
    json_text,
    list_if_any,
    read_object,
    role_in,
    text_if_any,
    text_in,
)
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Compaction,
    ContentPart,
    Image,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

PROVIDER = "openai"
"""Whose compactions these are."""

_ROLES: dict[str, Role] = {role: role for role in get_args(Role) if role != "tool"}


def read_role(item: JsonObject, kind: str, path: str) -> Role:
    """Give the role of an item."""
    if kind != "message":
        return role_of(kind)
    return role_in(item, path, _ROLES)


def read_parts(item: JsonObject, kind: str, path: str) -> tuple[Part, ...]:
    """Read the parts of a mended item. One of an unknown kind is a single Unknown, whatever it holds."""
    if kind == "message":
        return read_content(item.get("content"), f"{path}.content", read_part)
    if kind == "reasoning":
        return (_read_reasoning(item, path),)
    if kind == "compaction":
        return (Compaction(PROVIDER, text_in(item, "encrypted_content", path)),)
    if kind in CALLS:
        return (_read_call(item, CALLS[kind], path),)
    if kind in RESULTS:
        return (_read_result(item, kind, path),)
    return (*_read_approval(item, kind), Unknown(item))


def _read_reasoning(item: JsonObject, path: str) -> Reasoning:
    texts = [
        text_in(read_object(part, f"{path}.{key}[{index}]"), "text", f"{path}.{key}[{index}]")
        for key in ("summary", "content")
        for index, part in enumerate(list_if_any(item, key, path))
    ]
    return Reasoning("\n".join(texts), text_if_any(item, "encrypted_content", path))


def _read_call(item: JsonObject, kind: CallKind, path: str) -> ToolCall | Unknown:
    if not kind.name:
        return ToolCall(
            text_in(item, "call_id", path), text_in(item, "name", path), text_in(item, kind.inputs[0], path)
        )
    call_id = item.get("call_id")
    if not isinstance(call_id, str):
        return Unknown(item)
    given = next((item[key] for key in kind.inputs if item.get(key) is not None), {})
    return ToolCall(call_id, kind.name, given if isinstance(given, str) else json_text(given))


def _read_result(item: JsonObject, kind: str, path: str) -> ToolResult | Unknown:
    output = item.get(RESULTS[kind])
    if kind in PLAIN_RESULTS:
        call_id = text_if_any(item, "call_id", path)
        if isinstance(output, str):
            return ToolResult(call_id, output)
        return ToolResult(call_id, read_content(output, f"{path}.output", read_part))
    answered = _hosted_call_id(item, kind)
    return Unknown(item) if answered is None else ToolResult(answered, _read_hosted_output(output))


def _hosted_call_id(item: JsonObject, kind: str) -> str | None:
    # The types of a local shell result have no call_id: there, `id` is documented to be that of the call.
    found = item.get("call_id")
    if found is None and kind == "local_shell_call_output":
        found = item.get("id")
    return found if isinstance(found, str) else None


def _read_hosted_output(output: object) -> str | tuple[ContentPart, ...]:
    if output is None or isinstance(output, str):
        return output or ""
    if is_shell_output(output):
        return tuple(shell_texts(output))
    if isinstance(output, dict) and isinstance(output.get("image_url"), str):
        return (Image(url=output["image_url"]),)
    return (Unknown(output),)


SHELL_STREAMS = ("stdout", "stderr")


def is_shell_output(output: object) -> bool:
    """Tell whether a value is a list of what shell commands printed."""
    return (
        isinstance(output, list)
        and bool(output)
        and all(
            isinstance(chunk, dict) and all(isinstance(chunk.get(stream), str) for stream in SHELL_STREAMS)
            for chunk in output
        )
    )


def shell_texts(output: object) -> Iterator[Text]:
    """Give what each command printed: two texts for each of them, either may be empty."""
    chunks: Sequence[JsonObject] = output if isinstance(output, list) else ()
    for chunk in chunks:
        for stream in SHELL_STREAMS:
            yield Text(str(chunk[stream]))


def _read_approval(item: JsonObject, kind: str) -> Iterator[ApprovalRequest | ApprovalResponse]:
    if kind == "mcp_approval_request" and isinstance(item.get("id"), str):
        yield ApprovalRequest(str(item["id"]), str(item["id"]))
    elif kind == "mcp_approval_response" and isinstance(item.get("approval_request_id"), str):
        yield ApprovalResponse(str(item["approval_request_id"]), item.get("approve") is True)
