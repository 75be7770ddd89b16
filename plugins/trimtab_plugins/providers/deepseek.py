"""The provider `deepseek`: Chat Completions of DeepSeek, whose models think by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from trimtab_plugins.providers.chat_request import write_tool
from trimtab_plugins.providers.deepseek_faults import fault_of
from trimtab_plugins.providers.deepseek_request import recalled, write_body
from trimtab_plugins.providers.deepseek_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.deepseek_stream import DeepSeekStreamReader
from trimtab_sdk import (
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)


class DeepSeek:
    """Asks `chat/completions` below an endpoint's base URL; the whole conversation goes out each time."""

    name = "deepseek"
    codec = "chat-completions"
    mode: Literal["stateless-loop"] = "stateless-loop"
    base_url = "https://api.deepseek.com"
    key_variable = "DEEPSEEK_API_KEY"
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
        """Give stored messages of an earlier answer, with their reasoning where this model wants it back."""
        return recalled(items, model=model, running=running, settings=settings)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed."""
        return ProviderRequest("chat/completions", write_body(call))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return DeepSeekStreamReader()

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")
