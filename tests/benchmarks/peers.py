"""How other libraries trim a conversation, each with the same exact counter; only those installed are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import judge

Chat = list[dict[str, Any]]
Trim = Callable[[], object]


def _langchain_core(chat: Chat, limit: int) -> Trim:
    from langchain_core.messages import convert_to_messages, trim_messages

    messages = convert_to_messages(chat)

    def count(batch: list[Any]) -> int:
        return 3 + sum(4 + judge.tokens(str(one.content)) for one in batch)

    return lambda: trim_messages(
        messages, max_tokens=limit, token_counter=count, strategy="last", include_system=True
    )


PEERS: dict[str, Callable[[Chat, int], Trim]] = {"langchain_core": _langchain_core}
