"""What the Messages API refuses in a body: the official SDK's types, closed, and the rules of the wire.

`MessagesJudge.faults(body)` gives one `Wrong` for each fault. The rules are asked only of a body whose types are
right, so one mistake is one fault. Signatures are judged in `messages_thinking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.messages_context import breakpoints_in, places_in
from fakes.messages_pairing import pairing_faults
from fakes.messages_rules import content_faults, loop_faults, turn_faults
from fakes.messages_types import NEW_VERSION, OLD_VERSION, body_wrongs, message_wrongs

VERSIONS = (OLD_VERSION, NEW_VERSION)
_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_LONGEST = 100_000
_MARKS = 4
_LEAST_BUDGET = 1024
_REMEMBERED = 50_000


class MessagesJudge:
    """Judges request bodies. Verdicts on messages are kept by their text, since they come again.

    - `loop_thinking`: the kinds of `thinking` with which an open tool loop must begin with a thought.
    - `refuses`: keys of the body that the model does not take. `mid_system`: whether it takes system messages.
    """

    def __init__(
        self,
        *,
        loop_thinking: Collection[str] = ("enabled",),
        refuses: Collection[str] = (),
        mid_system: bool = True,
    ) -> None:
        self._loop_thinking = loop_thinking
        self._refuses = refuses
        self._mid_system = mid_system
        self._verdicts: dict[str, tuple[Wrong, ...]] = {}

    def faults(
        self, body: Json, *, version: str = OLD_VERSION, betas: Sequence[str] = (), counting: bool = False
    ) -> list[Wrong]:
        """Give what is wrong with a request body; an empty list is a body that the server takes."""
        if not isinstance(body, dict):
            return [Wrong("the body is no JSON object")]
        if version not in VERSIONS:
            return [Wrong(f"anthropic-version: {version!r} is not a valid version")]
        found = [
            *body_wrongs(body, version=version, beta=bool(betas), counting=counting),
            *self._message_wrongs(body.get("messages"), beta=bool(betas)),
        ]
        return found or [*self._rule_faults(body, version)]

    def _message_wrongs(self, messages: Json, *, beta: bool) -> Iterator[Wrong]:
        for at, message in enumerate(messages if isinstance(messages, list) else ()):
            key = f"{beta} {json.dumps(message)}"
            found = self._verdicts.get(key)
            if found is None:
                if len(self._verdicts) >= _REMEMBERED:
                    self._verdicts.clear()
                found = self._verdicts[key] = tuple(message_wrongs(message, "messages.N", beta=beta))
            yield from (Wrong(wrong.message.replace("messages.N", f"messages.{at}", 1)) for wrong in found)

    def _rule_faults(self, body: Json, version: str) -> Iterator[Wrong]:
        for key in self._refuses:
            if key in body:
                yield Wrong(f"`{key}` is not supported by this model.", key)
        yield from _limit_faults(body)
        yield from _thinking_faults(body)
        yield from _tool_faults(body)
        yield from _mark_faults(body)
        if not body["messages"]:
            yield Wrong("messages: at least one message is required", "messages")
            return
        places = places_in(body["messages"])
        found = list(content_faults(body, places, version=version, mid_system=self._mid_system))
        found = found or [*turn_faults(places), *pairing_faults(body["messages"])]
        if not found and (body.get("thinking") or {}).get("type") in self._loop_thinking:
            found = [*loop_faults(places)]
        yield from found


def _limit_faults(body: Json) -> Iterator[Wrong]:
    if body.get("max_tokens", 0) < 0:
        yield Wrong("max_tokens: Input should be greater than or equal to 0", "max_tokens")
    if len(body["messages"]) > _LONGEST:
        yield Wrong(f"messages: more than {_LONGEST} messages", "messages")
    if not body["model"]:
        yield Wrong("model: String should have at least 1 character", "model")


def _thinking_faults(body: Json) -> Iterator[Wrong]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget, limit = thinking["budget_tokens"], body.get("max_tokens")
        if budget < _LEAST_BUDGET:
            yield Wrong("thinking.budget_tokens: Input should be greater than or equal to 1024", "thinking")
        if limit and budget >= limit:
            yield Wrong("`max_tokens` must be greater than `thinking.budget_tokens`.", "max_tokens")
        if body.get("temperature") not in (None, 1, 1.0):
            yield Wrong("`temperature` may only be set to 1 when thinking is enabled.", "temperature")
        if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            yield Wrong("Thinking may not be enabled when tool_choice forces tool use.", "tool_choice")


def _tool_faults(body: Json) -> Iterator[Wrong]:
    names: list[str] = []
    for at, tool in enumerate(body.get("tools") or ()):
        name = str(tool.get("name", ""))
        if "input_schema" in tool:
            if not _TOOL.fullmatch(name):
                yield Wrong(f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            if tool["input_schema"].get("type") != "object":
                yield Wrong(f"tools.{at}.custom.input_schema.type: Input should be 'object'")
        if name and name in names:
            yield Wrong("tools: Tool names must be unique.", "tools")
        names.append(name)
    yield from _choice_faults(body.get("tool_choice"), names)


def _choice_faults(choice: Json, names: Sequence[str]) -> Iterator[Wrong]:
    if choice is None:
        return
    if not names:
        yield Wrong("tool_choice: may only be specified while providing tools", "tool_choice")
    elif choice["type"] == "tool" and choice["name"] not in names:
        yield Wrong(f"tool_choice: the tool {choice['name']!r} is not among the tools", "tool_choice")


def _mark_faults(body: Json) -> Iterator[Wrong]:
    marks = breakpoints_in(body)
    if len(marks) > _MARKS:
        yield Wrong(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    is_short = False
    for path, ttl in marks:
        if ttl == "1h" and is_short:
            yield Wrong(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
                "`messages`."
            )
            return
        is_short = is_short or ttl == "5m"
