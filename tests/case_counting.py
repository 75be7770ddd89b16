"""A count of a request that shares nothing with the product: tiktoken and the published recipe.

3 + role + content (+ name + 1) for each message, a call its name and its arguments, 3 for the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import judge
from case_views import View

PER_MESSAGE = 3
PRIMING = 3


@dataclass(frozen=True)
class Count:
    """Tokens; `exact` is False when something in the request has no published price."""

    tokens: int
    exact: bool


def count_request(views: Sequence[View], profile: str) -> Count:
    """Count a request of the messages with these views. What has no published price counts as 0."""
    tokens = PRIMING + sum(_message_tokens(view, profile) for view in views)
    return Count(tokens, exact=all(view.is_priced for view in views))


def count_text(text: str, profile: str = "o200k_base") -> int:
    """Count a text as plain text."""
    return judge.tokens(text, profile)


def _message_tokens(view: View, profile: str) -> int:
    calls = [text for call in view.calls for text in (call.name, call.arguments)]
    name = count_text(view.name, profile) + 1 if view.name else 0
    return PER_MESSAGE + name + sum(count_text(text, profile) for text in (view.role, *view.texts, *calls))
