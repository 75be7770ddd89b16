"""Chats and messages as tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trimtab.cli.chat_words import many, words_of
from trimtab.cli.screen import clean, number
from trimtab.cli.tables import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from trimtab.audit import PromptContextAudit
    from trimtab.store.protocol import StoredChat, StoredMessage

MOST_ROWS = 20
_FIRST_ROWS = 5


def print_chats(console: Console, chats: Sequence[StoredChat], *, current: str = "") -> None:
    """Print chats, one a line; the current one has a mark."""
    print_table(
        console,
        {
            "chat": [f"{'*' if chat.id == current else ' '} {chat.id[:8]}" for chat in chats],
            "changed": [time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.updated_at)) for chat in chats],
            "model": [clean(str(chat.settings.get("model", "")), limit=40) for chat in chats],
            "message": [clean(chat.title, limit=200) or "(no title)" for chat in chats],
        },
    )


def print_messages(console: Console, messages: Sequence[StoredMessage], *, show_all: bool = False) -> None:
    """Print the messages of a chat by number; of many the last ones, unless all are wanted."""
    shown = messages if show_all else messages[-MOST_ROWS:]
    if len(shown) < len(messages):
        console.print(f"{many(len(messages) - len(shown), 'earlier message')}; /messages all shows them")
    print_table(
        console,
        {
            "#": [str(one.seq) for one in shown],
            "role": [clean(one.message.role, limit=20) for one in shown],
            "note": [_note(one) for one in shown],
            "message": [words_of(one.message) for one in shown],
        },
    )


def print_context(
    console: Console, messages: Sequence[StoredMessage], audit: PromptContextAudit, *, show_all: bool = False
) -> None:
    """Print which messages a call takes along and which not, in the order of the chat, and what plugins add."""
    states = _states(audit)
    rows = [
        (str(one.seq), *states[one.message.id], words_of(one.message))
        for one in messages
        if one.message.id in states
    ]
    stored = {one.message.id for one in messages}
    rows += [("", *states[name], "") for name in states if name not in stored]
    _print_rows(console, ("#", "sent", "role", "tokens", "reason", "message"), rows, show_all=show_all)


def _print_rows(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]], *, show_all: bool) -> None:
    hidden = 0 if show_all else max(0, len(rows) - MOST_ROWS)
    shown = [*rows[:_FIRST_ROWS], *rows[_FIRST_ROWS + hidden :]] if hidden else rows
    print_table(console, {name: [row[at] for row in shown] for at, name in enumerate(names)})
    if hidden:
        console.print(f"{many(hidden, 'row')} behind the first {_FIRST_ROWS} not shown; /context all shows them")


def _states(audit: PromptContextAudit) -> Mapping[str, tuple[str, str, str, str]]:
    """Give id → whether it is sent, its role, its tokens, why."""
    left = {one.id: ("out", one.role, number(one.tokens), clean(one.reason, limit=40)) for one in audit.left_out}
    sent = {
        block.id: (
            {"inserted": "added", "shortened": "cut"}.get(block.change.kind if block.change else "", "in"),
            block.role,
            number(block.tokens),
            clean(block.reason, limit=40),
        )
        for block in audit.blocks
    }
    return left | sent


def _note(stored: StoredMessage) -> str:
    flags = {
        "pinned": stored.message.pinned,
        "excluded": stored.message.meta.get("manualExcluded") is True,
        "incomplete": stored.status == "incomplete",
        "edited": stored.revision > 1,
    }
    return ", ".join(name for name, is_so in flags.items() if is_so)
