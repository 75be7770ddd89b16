"""Messages and notices of a chat in words for people, clean of whatever could steer a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trimtab.cli.screen import clean, number

if TYPE_CHECKING:
    from trimtab.cli.chat_session import Session
    from trimtab.snapshot import ContextSnapshot, Severity
    from trimtab_sdk.messages import Message, Part

SEVERITIES: Mapping[Severity, str] = {
    "normal": "plenty of room",
    "info": "filling up",
    "warning": "nearly full",
    "danger": "almost full",
    "critical": "full",
}
SEVERITY_STYLES: Mapping[Severity, str] = {
    "normal": "",
    "info": "",
    "warning": "yellow",
    "danger": "red",
    "critical": "bold red",
}
_SHOWN = frozenset("\n\t\u200c\u200d")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_WORDS = 400


def streamed(text: str) -> str:
    """Give outside text with its line breaks, without what steers a terminal or turns the direction of writing."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign for sign in text if sign in _SHOWN or unicodedata.category(sign) not in _HIDDEN)


def words_of(message: Message, *, limit: int = _WORDS) -> str:
    """Give the beginning of a message, one clean line of at most `limit` characters."""
    return clean(" ".join(filter(None, map(_words, message.parts))), limit=limit)


def text_of(message: Message) -> str | None:
    """Give the text of a message that holds nothing else, None for any other."""
    from trimtab_sdk.messages import Text

    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return "\n\n".join(texts) if texts and len(texts) == len(message.parts) else None


def fullness(snapshot: ContextSnapshot) -> str:
    """Say how full the window is: `3,214 of 8,000 tokens, 40 %: plenty of room`."""
    whole = snapshot.context_limit or snapshot.budget
    percent = int(snapshot.estimated_usage_ratio * 100) or "under 1"
    about = "about " if snapshot.approximate and snapshot.reported_input_tokens is None else ""
    return (
        f"{about}{number(snapshot.tokens)} of {number(whole)} tokens, {percent} %: {SEVERITIES[snapshot.severity]}"
    )


def many(count: int, what: str) -> str:
    """Give `1 message`, `2 messages`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def heading(session: Session) -> str:
    """Say which chat this is, and with whom."""
    settings = session.settings()
    return (
        f"chat {session.chat_id[:8]}: {clean(settings.model, limit=80)} by {clean(settings.provider, limit=80)}, "
        f"strategy {clean(settings.context_strategy, limit=80)}, {many(len(session.messages()), 'message')}"
    )


def _words(part: Part) -> str:
    from trimtab_sdk.messages import Notice, Reasoning, Text, ToolCall, ToolResult

    match part:
        case Text(text):
            return text[: _WORDS * 4]
        case ToolCall(name=name, arguments=arguments):
            return f"{name}({arguments[:_WORDS]})"
        case ToolResult(content=content):
            return content[: _WORDS * 4] if isinstance(content, str) else " ".join(map(_words, content))
        case Reasoning():
            return ""
        case Notice(data=data):
            return str(data.get("message", ""))[:_WORDS]
        case _:
            return f"[{type(part).__name__.lower()}]"
