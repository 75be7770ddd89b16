"""The whole context that the model sees for a request: what an id stands for, and what was sent behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from fakes.chat_prices import Price
from fakes.chat_replies import Json
from fakes.interactions_judge import CONTENTS


@dataclass(slots=True, kw_only=True)
class View:
    """What the model sees. `steps` end with those of the input, `sent`; only these were in the request.

    Instructions, tools and settings are those of the request alone, as nothing of them is inherited. `resumes`
    says that a paused answer goes on; `tokens` and `cached` are what the context costs.
    """

    body: Json = field(repr=False)
    steps: list[Json]
    sent: list[Json]
    resumes: bool = False
    tokens: int = 0
    cached: int = 0

    @property
    def model(self) -> str:
        """The model that was asked."""
        return str(self.body.get("model"))

    @property
    def previous(self) -> str | None:
        """The id that was named."""
        found = self.body.get("previous_interaction_id")
        return None if found is None else str(found)

    @property
    def chain(self) -> list[Json]:
        """The steps that the server had already."""
        return self.steps[: len(self.steps) - len(self.sent)]

    @property
    def system_instruction(self) -> str | None:
        """The instruction of this request."""
        found = self.body.get("system_instruction")
        return None if found is None else str(found)

    @property
    def tools(self) -> Json:
        """The tools of this request, an empty list when it has none."""
        return self.body.get("tools") or []

    @property
    def generation_config(self) -> Json:
        """The settings of this request."""
        return self.body.get("generation_config") or {}

    @property
    def text(self) -> str:
        """All that the model sees, as JSON to search in."""
        return json.dumps([self.system_instruction, self.tools, self.steps], ensure_ascii=False)

    def cost(self, price: Price, *, minimum: int) -> None:
        """Note what it costs; a prefix shorter than the minimum is not cached."""
        self.tokens = price.tokens
        self.cached = price.cached if price.cached >= minimum else 0


def steps_in(given: Json) -> list[Json]:
    """Give an input as steps, in whichever of its forms it was sent."""
    if given is None:
        return []
    if isinstance(given, str):
        return [_said([{"type": "text", "text": given}])]
    contents = [given] if isinstance(given, dict) else given
    if contents and contents[0].get("type") in CONTENTS:
        return [_said(contents)]
    return [dict(step) for step in contents]


def priced_body(view: View) -> Json:
    """Give a context as the price list reads it: message after message, the instruction first."""
    instruction = view.system_instruction
    head = [] if instruction is None else [{"system_instruction": instruction}]
    return {"model": view.model, "tools": view.tools, "messages": [*head, *view.steps]}


def last_user_text(view: View) -> str:
    """Give the text of the last user_input of a context."""
    for one in reversed(view.steps):
        if one["type"] == "user_input":
            return "".join(content.get("text", "") for content in one["content"])
    return ""


def _said(contents: Json) -> Json:
    return {"type": "user_input", "content": contents}
