"""The provider `anthropic`: Anthropic's Messages API, which is sent the whole conversation each time.

With the setting `threads` its server keeps the conversation for some minutes, and is sent what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from trimtab_plugins.providers.messages_binding import blocks_of, head_of
from trimtab_plugins.providers.messages_faults import fault_of
from trimtab_plugins.providers.messages_request import (
    has_to_think,
    headers_of,
    in_thread,
    write_body,
    write_count,
    write_tool,
)
from trimtab_plugins.providers.messages_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.messages_stream import MessagesStreamReader
from trimtab_plugins.providers.stream_json import bad_response
from trimtab_sdk import (
    BoundBlock,
    ContinuationMode,
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)

_THREAD_SECONDS = 300.0


class Anthropic:
    """Asks `v1/messages` below an endpoint's base URL, and marks for the server's cache what stays the same.

    It can also ask what a request takes (`trimtab_sdk.CountsTokens`), begin threads where a setting says so
    (`trimtab_sdk.KeepsByChoice`), and tell what thinking is bound to (`trimtab_sdk.BindsReasoning`).
    """

    name = "anthropic"
    codec = "anthropic-messages"
    mode: Literal["stateless-loop"] = "stateless-loop"
    base_url = "https://api.anthropic.com"
    key_variable = "ANTHROPIC_API_KEY"
    credential = Credential("x-api-key", "")
    retention: float | None = None
    offline = False
    settings_schema: Mapping[str, object] | None = SETTINGS
    options_schema: Mapping[str, object] | None = OPTIONS

    def mode_for(self, settings: Mapping[str, object]) -> ContinuationMode:
        """Give `threads` where the setting says so."""
        return "threads" if settings.get("threads") is True else self.mode

    def retention_for(self, settings: Mapping[str, object]) -> float | None:
        """Give the five minutes that a thread lasts after its last answer."""
        return _THREAD_SECONDS if settings.get("threads") is True else self.retention

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools in the order given."""
        return [write_tool(tool) for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give the messages of an earlier answer as they are.

        Requests take blocks of answers with all their keys, and thinking is bound to every byte in front of it.
        Thinking that no longer stands behind the same messages is not known here; the host takes it out.
        """
        return list(items)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed.

        Raises InvalidRequestError for an option or a format that the API of the endpoint's version does not take.
        """
        return ProviderRequest("v1/messages", write_body(call), headers_of(call))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return MessagesStreamReader(kept=in_thread(call), thinks=has_to_think(call))

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")

    def count_request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request for the size of a call in tokens. Raises InvalidRequestError as `request` does."""
        headers = headers_of(replace(call, keep=False))
        return ProviderRequest("v1/messages/count_tokens", write_count(call), headers)

    def read_count(self, body: object) -> int:
        """Give the tokens that the answer tells. Raises ProviderFaultError when it tells none."""
        tokens = body.get("input_tokens") if isinstance(body, dict) else None
        if type(tokens) is not int or not 0 <= tokens < 2**53:
            raise bad_response()
        return tokens

    def bound_head(self, call: ProviderCall) -> object:
        """Give the system text and the tools."""
        return head_of(call)

    def bound_blocks(self, message: object, settings: Mapping[str, object]) -> Sequence[BoundBlock]:
        """Give the blocks of a message, thinking with its signature."""
        return blocks_of(message, settings)
