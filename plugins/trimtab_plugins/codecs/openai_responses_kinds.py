"""The kinds of items on the Responses wire: what they are to a conversation, and which keys they have.

The tables follow the request types of the official Python SDK. An item that stands in none of them is kept as
it came.
"""

from __future__ import annotations

from typing import NamedTuple

from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Role


class CallKind(NamedTuple):
    """A kind of item that calls a tool: the tool's name, empty when the item says it, and where its input is."""

    name: str
    inputs: tuple[str, ...]
    needs_result: bool = True


CALLS = {
    "function_call": CallKind("", ("arguments",)),
    "custom_tool_call": CallKind("", ("input",)),
    "computer_call": CallKind("computer", ("action", "actions")),
    "local_shell_call": CallKind("local_shell", ("action",)),
    "shell_call": CallKind("shell", ("action",)),
    "apply_patch_call": CallKind("apply_patch", ("operation",)),
    "tool_search_call": CallKind("tool_search", ("arguments",)),
    "program": CallKind("program", ("code",), needs_result=False),
}
"""Calls that a result with the same `call_id` answers.

A program pauses for the calls it makes, so it may have no result yet.
"""

RESULTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "computer_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "tool_search_output": "tools",
    "program_output": "result",
}
"""Results, each with the key that holds what came out."""

PLAIN_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
"""Results whose output is a text or a list of parts, and which nothing but their call_id ties to a call."""

REFERENCE = "item_reference"
SETTINGS = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})
"""Items by which the caller steers the request from inside the input."""

HOSTED = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "web_search_call",
    }
)
"""What tools on the provider's side leave in a conversation: one item each, or no pair of call_ids."""

KINDS = frozenset({"message", "reasoning", "compaction", REFERENCE, *CALLS, *RESULTS, *SETTINGS, *HOSTED})

_COMMON = frozenset({"type", "id", "status", "meta"})
_CALLER = frozenset({"call_id", "caller"})
_KEYS: dict[str, frozenset[str]] = {
    "message": frozenset({"role", "content", "phase"}),
    "reasoning": frozenset({"summary", "content", "encrypted_content"}),
    "compaction": frozenset({"encrypted_content"}),
    "function_call": _CALLER | {"name", "namespace", "async"},
    "custom_tool_call": _CALLER | {"name", "namespace", "async"},
    "computer_call": frozenset({"pending_safety_checks"}),
    "shell_call": frozenset({"environment"}),
    "tool_search_call": frozenset({"execution"}),
    "program": frozenset({"fingerprint"}),
    "function_call_output": _CALLER | {"name", "namespace"},
    "computer_call_output": frozenset({"acknowledged_safety_checks"}),
    "shell_call_output": frozenset({"max_output_length"}),
    "tool_search_output": frozenset({"execution"}),
}


def kind_of(item: JsonObject) -> object:
    """Give the type of an item. The easy form of a message has none, nor may a reference have one."""
    kind = item.get("type")
    if kind is not None:
        return kind
    if "role" in item:
        return "message"
    return REFERENCE if isinstance(item.get("id"), str) and item.keys() <= {"id", "type"} else None


def keys_of(kind: str) -> frozenset[str]:
    """Give the keys that an item of a kind in `KINDS` has on the wire, and `meta`, which is the host app's."""
    call, result = CALLS.get(kind), RESULTS.get(kind)
    keys = _COMMON | _KEYS.get(kind, frozenset())
    if call is not None:
        return keys | _CALLER | set(call.inputs)
    return keys if result is None else keys | _CALLER | {result}


def role_of(kind: str) -> Role:
    """Give the role that an item without a role of its own has in a conversation."""
    if kind in SETTINGS:
        return "developer"
    return "tool" if kind in RESULTS or kind.endswith(("_output", "_response")) else "assistant"
