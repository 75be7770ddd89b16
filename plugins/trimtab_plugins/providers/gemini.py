"""The provider `gemini`: Google's Interactions API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from trimtab_plugins.providers.interactions_faults import fault_of
from trimtab_plugins.providers.interactions_request import write_body, write_headers, write_path, write_tool
from trimtab_plugins.providers.interactions_schemas import OPTIONS, SETTINGS
from trimtab_plugins.providers.interactions_stream import InteractionsStreamReader
from trimtab_sdk import (
    Credential,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderRequest,
    StreamReader,
    ToolSpec,
)

_DAY = 24 * 60 * 60.0


class Gemini:
    """Asks for interactions; Google keeps each one, and a later one goes on from it by its id.

    Google keeps them for 55 days, and for 1 day where nothing is paid. Whoever has such a key sets
    `retention` of the endpoint to 1 day; with `retention` 0 nothing is left there, and all of the conversation
    goes out each time.
    """

    name = "gemini"
    codec = "gemini-interactions"
    mode: Literal["interactions"] = "interactions"
    base_url = "https://generativelanguage.googleapis.com"
    key_variable = "GEMINI_API_KEY"
    credential = Credential("x-goog-api-key", "")
    retention: float | None = 55 * _DAY
    offline = False
    settings_schema: Mapping[str, object] | None = SETTINGS
    options_schema: Mapping[str, object] | None = OPTIONS

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools as functions, in the order given."""
        return [write_tool(tool) for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give the steps of an earlier answer as they are: Google wants all of them back, thoughts among them."""
        return list(items)

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed.

        Raises InvalidRequestError when `call.resume` was not given by this driver.
        """
        return ProviderRequest(write_path(call.settings), write_body(call), write_headers(call.settings))

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        return InteractionsStreamReader(kept=call.keep)

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more."""
        return fault_of(status, body)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Raise NotImplementedError: the answers are a server's."""
        raise NotImplementedError(f"{self.name} answers through a server, never by itself")
