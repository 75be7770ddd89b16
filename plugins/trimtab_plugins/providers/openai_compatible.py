"""The provider `openai-compatible`: any server that speaks Chat Completions, at an address of your own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from trimtab_plugins.providers.chat_faults import fault_of
from trimtab_plugins.providers.chat_request import recalled, write_body, write_tool
from trimtab_plugins.providers.chat_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.chat_stream import ChatStreamReader
from trimtab_sdk import (
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)


class OpenAICompatible:
    """Asks `chat/completions` below an endpoint's base URL; the whole conversation goes out each time."""

    name = "openai-compatible"
    codec = "chat-completions"
    mode: Literal["stateless-loop"] = "stateless-loop"
    base_url = ""
    key_variable = ""
    credential = Credential()
    retention = None
    offline = False
    settings_schema: Mapping[str, object] | None = SETTINGS
    options_schema: Mapping[str, object] | None = OPTIONS

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools, each a function in an object of its own, in the order given."""
        return [write_tool(tool) for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give stored messages of an earlier answer, with their reasoning where the settings want it."""
        return recalled(items, running=running, settings=settings)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed."""
        return ProviderRequest("chat/completions", write_body(call))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return ChatStreamReader()

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")
