"""What a caller hands over as messages, read into messages to be stored."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from trimtab.fitting.outside import clean_input
from trimtab.formats import find_codec
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import Message, Part, Text, ToolResult

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry

UserInput: TypeAlias = "str | Part | Sequence[Part] | Mapping[str, object] | Sequence[Mapping[str, object]]"
"""A text, parts of the sdk, or messages in any format that Trimtab reads."""
ResultInput: TypeAlias = "str | ToolResult"

_ID_BYTES = 7


def new_id() -> str:
    """Give an id for a message: short, since a stored edit and an audit name thousands of them."""
    return secrets.token_hex(_ID_BYTES)


def read_input(given: UserInput, *, registry: ContextStrategyRegistry, config: Config) -> tuple[Message, ...]:
    """Read what the user says in a turn. Raises InvalidRequestError when it is nothing that a user can say."""
    parts = _parts_of(given)
    if parts is not None:
        return (Message(new_id(), "user", parts, source="input"),)
    items = [given] if isinstance(given, Mapping) else given
    messages = read_messages(cast("Sequence[object]", items), registry=registry, config=config)
    wrong = next((message for message in messages if message.role != "user"), None)
    if wrong is not None:
        raise InvalidRequestError(
            f"a turn begins with user messages, not with one of role {wrong.role}", path="input"
        )
    return tuple(replace(message, id=new_id(), source="input") for message in messages)


def read_messages(
    given: object,
    *,
    registry: ContextStrategyRegistry,
    config: Config,
    format: str | None = None,
    model: str = "",
) -> tuple[Message, ...]:
    """Read messages of any format. They keep ids of their own and get new ones where the format has none.

    Raises InvalidRequestError or UnknownFormatError.
    """
    if isinstance(given, str | bytes) or given is None:
        raise InvalidRequestError("messages must be a list or a request body", path="messages")
    data = clean_input(list(given) if isinstance(given, tuple) else given).data
    codec = find_codec(data, format=format, provider="", registry=registry, config=config)
    own = _own_ids(data)
    return tuple(
        replace(message, id=message.id if message.id in own else new_id())
        for message in codec.decode(data).messages
    )


def read_results(given: Mapping[str, ResultInput], pending: Collection[str]) -> dict[str, ToolResult]:
    """Read the results a caller hands over, call id → text or result; give them in the order they are waited for.

    Raises InvalidRequestError when one is missing or nobody asked for one.
    """
    missing = [call_id for call_id in pending if call_id not in given]
    surplus = [call_id for call_id in given if call_id not in pending]
    if missing or surplus:
        what = (
            f"there is no result for {missing[0]!r}" if missing else f"nobody waits for a result of {surplus[0]!r}"
        )
        raise InvalidRequestError(
            f"{what}; the turn waits for {', '.join(map(repr, pending))}", path="tool_results"
        )
    return {call_id: _result_of(call_id, given[call_id]) for call_id in pending}


def _result_of(call_id: str, given: object) -> ToolResult:
    if isinstance(given, ToolResult):
        return replace(given, call_id=call_id)
    if isinstance(given, str):
        return ToolResult(call_id, str(clean_input(given).data))
    raise InvalidRequestError(
        f"the result of {call_id!r} must be a text or a ToolResult, not a {type(given).__name__}",
        path="tool_results",
    )


def _parts_of(given: object) -> tuple[Part, ...] | None:
    if isinstance(given, str):
        text = str(clean_input(given).data)
        if not text.strip():
            raise InvalidRequestError("the input is empty; say something, or call retry to go on", path="input")
        return (Text(text),)
    if isinstance(given, Part):
        return (given,)
    if isinstance(given, Sequence) and given and all(isinstance(one, Part) for one in given):
        return tuple(cast("Sequence[Part]", given))
    if not isinstance(given, Mapping | Sequence) or not given:
        raise InvalidRequestError("the input must be a text, parts, or messages", path="input")
    return None


def _own_ids(data: object) -> frozenset[str]:
    items = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(items, list):
        return frozenset()
    ids = [item.get("id") for item in items if isinstance(item, dict)]
    named = [one for one in ids if isinstance(one, str) and one and len(one) <= 200]
    return frozenset(named) if len(set(named)) == len(named) else frozenset()
