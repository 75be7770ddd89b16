"""What a body may ask for that cannot be carried, whatever the provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trimtab_sdk.errors import InvalidRequestError

_NOTHING: tuple[object, ...] = (None, [], {}, 0, False)


class UnsupportedError(InvalidRequestError):
    """A field that this gateway, or the provider behind it, cannot do."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} cannot be carried: {reason}", path=name)


def _is_true(value: object) -> bool:
    return value not in _NOTHING


_REASONS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "n": (lambda value: value != 1, "there is one answer to a request; leave it out, or ask several times"),
    "logprobs": (_is_true, "probabilities of tokens are not told; leave it out"),
    "top_logprobs": (_is_true, "probabilities of tokens are not told; leave it out"),
    "logit_bias": (_is_true, "tokens cannot be weighed; leave it out"),
    "audio": (_is_true, "answers are text; leave it out"),
    "modalities": (lambda value: value != ["text"], "answers are text alone; leave it out"),
    "functions": (_is_true, "it is the retired form; give tools"),
    "function_call": (_is_true, "it is the retired form; give tool_choice"),
    "web_search_options": (_is_true, "no tool of a server can be used here; give a tool of your own"),
}


def refuse_uncarried(steering: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields without those that ask for what there is anyway. Raises UnsupportedError for the others."""
    left = dict(steering)
    for name, (asks, reason) in _REASONS.items():
        if name in left and asks(left.pop(name)):
            raise UnsupportedError(name, reason)
    return left
