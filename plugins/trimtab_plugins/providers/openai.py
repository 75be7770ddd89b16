"""The provider `openai`: OpenAI's Responses API, which can keep a conversation and carry it on by a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from trimtab_plugins.providers.responses_faults import fault_of
from trimtab_plugins.providers.responses_items import recalled
from trimtab_plugins.providers.responses_request import headers_of, write_body, write_count, write_tool
from trimtab_plugins.providers.responses_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.responses_stream import ResponsesStreamReader
from trimtab_plugins.providers.stream_json import bad_response
from trimtab_sdk import (
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)


class OpenAI:
    """Asks `responses` below an endpoint's base URL, with a cursor or with the whole conversation.

    It keeps stored answers for at least 30 days. It can also count what a request and the conversation that its
    cursor stands for take (`trimtab_sdk.CountsTokens`).
    """

    name = "openai"
    codec = "openai-responses"
    mode: Literal["responses"] = "responses"
    base_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    credential = Credential()
    retention = 30 * 24 * 3600.0
    offline = False
    settings_schema: Mapping[str, object] | None = SETTINGS
    options_schema: Mapping[str, object] | None = OPTIONS

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools, each a flat function, in the order given."""
        return [write_tool(tool) for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give the items of an earlier answer in their order, without keys that only answers have."""
        return recalled(items)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed."""
        return ProviderRequest("responses", write_body(call), headers_of(call.settings))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return ResponsesStreamReader(kept=call.keep)

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")

    def count_request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request for the size of a call in tokens, with all that its cursor stands for."""
        return ProviderRequest("responses/input_tokens", write_count(call), headers_of(call.settings))

    def read_count(self, body: object) -> int:
        """Give the tokens that the answer tells. Raises ProviderFaultError when it tells none."""
        tokens = body.get("input_tokens") if isinstance(body, dict) else None
        if type(tokens) is not int or not 0 <= tokens < 2**53:
            raise bad_response()
        return tokens
