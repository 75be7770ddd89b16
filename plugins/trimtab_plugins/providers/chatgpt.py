"""The provider `chatgpt`: the server behind ChatGPT's own clients, off until an endpoint switches it on.

It speaks Responses, keeps nothing, and is no public API.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from trimtab_plugins.providers.chatgpt_faults import fault_of
from trimtab_plugins.providers.chatgpt_request import check_accepted, headers_of, write_body
from trimtab_plugins.providers.chatgpt_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.chatgpt_stream import ChatGPTStreamReader
from trimtab_plugins.providers.responses_items import recalled
from trimtab_plugins.providers.responses_request import write_tool
from trimtab_sdk import (
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)


class ChatGPT:
    """Asks `responses` below an endpoint's base URL; the whole conversation goes out each time.

    The key is an access token of an account. The server takes no output limit, so none is sent. `now` gives
    seconds since 1970.
    """

    name = "chatgpt"
    codec = "openai-responses"
    mode: Literal["stateless-loop"] = "stateless-loop"
    base_url = "https://chatgpt.com/backend-api/codex"
    key_variable = "CHATGPT_ACCESS_TOKEN"
    credential = Credential()
    retention = None
    offline = False
    settings_schema: Mapping[str, object] | None = SETTINGS
    options_schema: Mapping[str, object] | None = OPTIONS

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools, each a flat function, in the order given."""
        return [write_tool(tool) for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give the items of an earlier answer in their order, sealed reasoning included."""
        return recalled(items)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed. Raises ConfigError unless the endpoint switches it on."""
        check_accepted(call.settings)
        return ProviderRequest("responses", write_body(call), headers_of(call))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return ChatGPTStreamReader(now=self._now)

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body, now=self._now())

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")
