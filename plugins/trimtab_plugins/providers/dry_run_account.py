"""What `dry-run` says of the context it got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trimtab_sdk import ProviderCall

_QUOTED = 80


def account_of(call: ProviderCall, messages: Sequence[object]) -> str:
    """Tell the model, the messages by role, the tools, the output limit, and the last text of the user."""
    lines = [
        f"Dry run for the model {call.model}: nothing was sent.",
        f"Messages: {_counted(messages)}.",
        f"Tools: {', '.join(_tool_names(call.tools)) or 'none'}.",
        f"Output limit: {_limit(call.max_output_tokens)}.",
        f"Last text of the user: {_quoted(_last_text(messages))}",
    ]
    return "\n".join(lines)


def last_user_position(messages: Sequence[object]) -> int:
    """Give the index of the last message of the user, -1 when there is none."""
    users = (at for at in range(len(messages) - 1, -1, -1) if _field(messages[at], "role") == "user")
    return next(users, -1)


def _counted(messages: Sequence[object]) -> str:
    roles = Counter(str(_field(message, "role")) for message in messages)
    return ", ".join(f"{count} {role}" for role, count in sorted(roles.items())) or "none"


def _tool_names(tools: Sequence[object]) -> list[str]:
    return [str(_field(_field(tool, "function"), "name")) for tool in tools]


def _limit(tokens: int | None) -> str:
    return "none" if tokens is None else f"{tokens} tokens"


def _last_text(messages: Sequence[object]) -> str:
    position = last_user_position(messages)
    return _text_of(_field(messages[position], "content")) if position >= 0 else ""


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part["text"]) for part in parts if isinstance(_field(part, "text"), str))


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        return "none"
    return f"“{words}”" if len(words) <= _QUOTED else f"“{words[:_QUOTED].rstrip()}…”"


def _field(holder: object, key: str) -> object:
    return holder.get(key) if isinstance(holder, dict) else None
