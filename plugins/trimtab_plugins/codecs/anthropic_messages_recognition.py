"""Whether an input is in the Anthropic Messages format, told from its shape alone."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.codecs.body import items_of
from trimtab_sdk import Recognition

_OWN_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "document",
        "search_result",
        "container_upload",
        "compaction",
        "mcp_tool_use",
    }
)
_FOREIGN_BLOCKS = frozenset(
    {
        "image_url",
        "input_audio",
        "file",
        "refusal",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
        "function_call",
    }
)
_FOREIGN_KEYS = frozenset(
    {
        "tool_calls",
        "function_call",
        "tool_call_id",
        "refusal",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "parts",
        "kind",
        "blocks",
        "approval_requests",
        "approval_responses",
    }
)
_PLAIN_KEYS = frozenset({"role", "content", "id"})
_OWN_BODY_KEYS = frozenset(
    {"output_config", "stop_sequences", "anthropic_version", "anthropic_beta", "mcp_servers"}
)
_FOREIGN_BODY_KEYS = frozenset({"contents", "input", "instructions", "response_format", "max_completion_tokens"})


def recognize_anthropic_messages(data: object) -> Recognition:
    """Judge an input; takes any value and never raises."""
    items = items_of(data)
    if items is None or (isinstance(data, dict) and not _FOREIGN_BODY_KEYS.isdisjoint(data)):
        return Recognition.NO
    marks = [_mark(item) for item in items]
    if Recognition.NO in (mark for mark in marks if mark is not None):
        return Recognition.NO
    if Recognition.SURE in marks or (isinstance(data, dict) and _is_own_body(data)):
        return Recognition.SURE
    return Recognition.NO if None in marks else Recognition.MAYBE


def _is_own_body(body: Mapping[str, object]) -> bool:
    if body.get("system") is not None or not _OWN_BODY_KEYS.isdisjoint(body):
        return True
    tools = body.get("tools")
    return isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)


def _mark(item: object) -> Recognition | None:
    """Judge one message; None for one that this format takes but that looks more like another."""
    if not isinstance(item, dict) or not _FOREIGN_KEYS.isdisjoint(item):
        return Recognition.NO
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str) or role not in ("user", "assistant", "system"):
        return Recognition.NO
    blocks = [_block_mark(block) for block in content] if isinstance(content, list) else []
    if Recognition.NO in blocks or not isinstance(content, str | list):
        return Recognition.NO
    if Recognition.SURE in blocks:
        return Recognition.SURE
    return None if role == "system" or not item.keys() <= _PLAIN_KEYS else Recognition.MAYBE


def _block_mark(block: object) -> Recognition:
    if not isinstance(block, dict):
        return Recognition.MAYBE
    kind = block.get("type")
    if not isinstance(kind, str):
        return Recognition.NO
    if kind in _OWN_BLOCKS or kind.endswith("_tool_result") or (kind == "image" and "source" in block):
        return Recognition.SURE
    if kind in _FOREIGN_BLOCKS or (kind == "image" and "media_type" in block):
        return Recognition.NO
    return Recognition.MAYBE
