"""What an answer that paused leaves to go on with: a token, and the interaction that holds its input."""

from __future__ import annotations

import json
from typing import NamedTuple

from trimtab_sdk import InvalidRequestError


class Resumption(NamedTuple):
    """Both are empty where there is none; without an interaction the input has to be sent again."""

    interaction_id: str = ""
    token: str = ""


def write_resume(paused: Resumption) -> str:
    """Give it as one text."""
    return json.dumps(list(paused), separators=(",", ":"))


def read_resume(text: str) -> Resumption:
    """Read such a text. Raises InvalidRequestError for any other."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(one, str) for one in value):
        raise InvalidRequestError("resume must be what an answer of gemini that paused gave", path="resume")
    return Resumption(*value)
