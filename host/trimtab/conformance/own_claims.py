"""What is claimed for the plugins that come with Trimtab, where the caller of `trimtab conform` claims nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

_Claims: TypeAlias = Mapping[str, object]

_QUESTION = "How wide is the harbour?"
_ANSWER = "Ninety metres at the mouth."
_TALK = (("user", _QUESTION), ("assistant", _ANSWER), ("user", "And how deep?"))


def _export() -> dict[str, object]:
    """A conversation as the export of ChatGPT holds it: a tree, here of one branch."""
    nodes: dict[str, object] = {
        f"n{at}": {
            "id": f"n{at}",
            "parent": f"n{at - 1}" if at else None,
            "children": [],
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [words]}},
        }
        for at, (role, words) in enumerate(_TALK)
    }
    return {"title": "The harbour", "mapping": nodes, "current_node": f"n{len(_TALK) - 1}"}


def _transcript() -> list[object]:
    """A session as Claude Code writes it, a line each."""
    return [
        {
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "isSidechain": False,
            "message": {
                "role": role,
                "content": [{"type": "text", "text": words}],
                **({"id": f"msg_{at}"} if role == "assistant" else {}),
            },
        }
        for at, (role, words) in enumerate(_TALK)
    ]


def _sharegpt() -> dict[str, object]:
    names = {"user": "human", "assistant": "gpt"}
    return {"conversations": [{"from": names[role], "value": words} for role, words in _TALK]}


OWN_CLAIMS: Mapping[tuple[str, str], _Claims] = {
    ("strategy", "summarize"): {"summarizes": True},
    ("strategy", "vector-recall"): {"names_relevant": True, "needs_services": ["embed"]},
    ("codec", "chatgpt-export"): {"reads_only": True, "samples": [_export()]},
    ("codec", "claude-code"): {"reads_only": True, "samples": [_transcript()]},
    ("codec", "sharegpt"): {"reads_only": True, "samples": [_sharegpt()]},
}
"""Kind and name of a built-in → what is claimed for it."""
