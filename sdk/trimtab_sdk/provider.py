"""The contract of a provider: a driver that knows how one kind of server is asked and how it answers.

A provider does no input or output. It writes the body of a request, reads the events of a stream and names the
fault behind an error; the host owns the address, the credentials, the connection, time limits and retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from trimtab_sdk.codec import Encoded

ContinuationMode: TypeAlias = Literal["responses", "interactions", "threads", "stateless-loop"]
"""How a conversation is carried from one turn to the next.

In `responses`, `interactions` and `threads` the server keeps it and a cursor stands for it. With a cursor of a
thread neither system text nor tools are sent again, and it can be used once. In `stateless-loop` all of it is
sent each time.
"""

Finish: TypeAlias = Literal["stop", "length", "tool-calls", "content-filter", "refusal", "pause", "other"]
"""Why an answer ended. `length` is the output limit; `pause` asks to be called again."""

CursorFault: TypeAlias = Literal["cursor_expired", "cursor_invalid"]
"""What a provider says of a cursor: it no longer knows the id, or it cannot read it."""

FaultCode: TypeAlias = Literal[
    "PROVIDER_AUTHENTICATION",
    "PROVIDER_BAD_RESPONSE",
    "PROVIDER_CONTENT_REFUSED",
    "PROVIDER_CONTEXT_LENGTH",
    "PROVIDER_CURSOR_LOST",
    "PROVIDER_FAILED",
    "PROVIDER_KEY_MISSING",
    "PROVIDER_MODEL_NOT_FOUND",
    "PROVIDER_OVERLOADED",
    "PROVIDER_QUOTA_EXHAUSTED",
    "PROVIDER_RATE_LIMITED",
    "PROVIDER_REDIRECTED",
    "PROVIDER_REQUEST_REFUSED",
    "PROVIDER_STREAM_BROKEN",
    "PROVIDER_TIMEOUT",
    "PROVIDER_TLS_FAILED",
    "PROVIDER_UNREACHABLE",
]

_WORD = re.compile(r"[A-Za-z0-9_.:\-\[\]]{1,100}")


def clean_word(value: object) -> str:
    """Give a machine-readable word of a server as it is, or "" when it is none.

    A word has 1 to 100 letters, digits and `_ . : - [ ]` of ASCII. Whatever else a server says where its protocol
    has a code or a field name may hold what nobody should read in a log.
    """
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it. `parameters` is a JSON schema of an object.

    `strict` asks the provider to hold the model to that schema, where its wire can say so; None says nothing.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, object] = field(
        default_factory=lambda: {"type": "object", "properties": {}}, hash=False
    )
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """Where the key of a request goes: `prefix` and the key, in the header `header`."""

    header: str = "authorization"
    prefix: str = "Bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """What a provider is asked in one call.

    - `prompt` is the fitted conversation in the provider's codec; with a `cursor`, only what the provider does
      not hold, with the system text.
    - `tools` are in the provider's own shape, as `write_tools` gave them.
    - `settings` are those of the endpoint, `options` those of the chat, both checked against the driver's schemas.
    - `keep` lets the provider keep the conversation, so that a cursor can stand for it; without it nothing may be
      left there. `compact_at` is the size in tokens from which it may compact what it holds; None forbids it.
    - `conversation` is an opaque text, the same in all calls of a chat, for caches; empty where there is none.
    - `resume` is what an answer that paused gave to go on with.
    """

    model: str
    prompt: Encoded
    tools: tuple[object, ...] = ()
    max_output_tokens: int | None = None
    response_format: Mapping[str, object] | None = field(default=None, hash=False)
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)
    options: Mapping[str, object] = field(default_factory=dict, hash=False)
    cursor: str | None = field(default=None, repr=False)
    keep: bool = False
    compact_at: int | None = None
    conversation: str = ""
    resume: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to be sent by POST: a path relative to the endpoint's base URL, a JSON body, further headers."""

    path: str
    body: Mapping[str, object] = field(hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream, as the server sent it. `event` is empty where the stream does not name them."""

    data: str
    event: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    kind: ClassVar[Literal["text_delta"]] = "text_delta"
    text: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's thinking, where it is shown."""

    kind: ClassVar[Literal["reasoning_delta"]] = "reasoning_delta"
    text: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The model begins to call a tool."""

    kind: ClassVar[Literal["tool_call_started"]] = "tool_call_started"
    call_id: str
    name: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "callId": self.call_id, "name": self.name}


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of the arguments of a call."""

    kind: ClassVar[Literal["tool_call_delta"]] = "tool_call_delta"
    call_id: str
    arguments: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "callId": self.call_id, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class ToolCallCompleted:
    """A call is complete. `arguments` is the text the model wrote; it may be invalid JSON."""

    kind: ClassVar[Literal["tool_call_completed"]] = "tool_call_completed"
    call_id: str
    name: str
    arguments: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "callId": self.call_id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the provider says a call cost, in tokens; None is what it does not say."""

    kind: ClassVar[Literal["usage"]] = "usage"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys; what is not known is left out."""
        figures = {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cachedTokens": self.cached_tokens,
            "cacheWriteTokens": self.cache_write_tokens,
            "reasoningTokens": self.reasoning_tokens,
        }
        return {"kind": self.kind, **{key: value for key, value in figures.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer; the last event of a stream that ended well.

    - `items` are what the provider's codec reads as the messages of the assistant, to be sent again as they are.
    - `cursor` is the provider's id of the answer, where it keeps one.
    - `state` is what is worth storing beside the answer for people who look; nothing is ever read back from it.
    - `resume` is set when the answer paused and goes on in a call with the same prompt; a paused answer without it
      goes on when it is sent back itself.
    - `remarks` are short sentences of the driver on what the provider did to the request, as dropping reasoning.
    """

    items: tuple[object, ...] = field(hash=False)
    finish: Finish
    usage: Usage | None = None
    cursor: str | None = field(default=None, repr=False)
    state: Mapping[str, object] = field(default_factory=dict, hash=False)
    resume: str | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()


ProviderEvent: TypeAlias = (
    TextDelta | ReasoningDelta | ToolCallStarted | ToolCallDelta | ToolCallCompleted | Usage | Answer
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a call failed.

    - `retryable`: the same request may succeed a little later. `cursor` is set for PROVIDER_CURSOR_LOST alone.
    - `upstream_code`, `param`: the machine-readable words of the provider, through `clean_word`. The sentence of
      the provider is not taken over: it may hold what nobody should read in a log.
    - `allowed`, `needed`: tokens, where the provider tells them with PROVIDER_CONTEXT_LENGTH.
    - `retry_after`: seconds, where the body tells them.
    - `stale_reasoning`: the request is refused for reasoning that the provider cannot read any more; it may pass
      without.
    - `unkept`: the request is refused because the provider does not keep a conversation such as this one; it may
      pass with `keep` unset.
    """

    code: FaultCode
    retryable: bool = False
    cursor: CursorFault | None = None
    upstream_code: str = ""
    param: str = ""
    allowed: int | None = None
    needed: int | None = None
    retry_after: float | None = None
    stale_reasoning: bool = False
    unkept: bool = False


class ProviderFaultError(Exception):
    """What a reader raises when the stream tells an error or cannot be read; the host tells what to do."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class StreamReader(Protocol):
    """Reads the events of one answer."""

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event of the server means; an Answer when it ends the stream well.

        Raises ProviderFaultError for an error inside the stream, and for what cannot be read.
        """
        ...

    def end(self) -> Answer | None:
        """Give the answer of a stream that ended without saying so, None when it is not complete."""
        ...


class Provider(Protocol):
    """A driver of the group `trimtab.providers`."""

    @property
    def name(self) -> str:
        """The driver's name, as `openai-compatible`."""
        ...

    @property
    def codec(self) -> str:
        """The name of the codec its requests are written in."""
        ...

    @property
    def mode(self) -> ContinuationMode:
        """How a conversation is carried from one turn to the next."""
        ...

    @property
    def base_url(self) -> str:
        """Where it is asked when the configuration does not say; empty when that must say it."""
        ...

    @property
    def key_variable(self) -> str:
        """The environment variable with its key when the configuration names none; empty when no key is needed."""
        ...

    @property
    def credential(self) -> Credential:
        """Where the key goes."""
        ...

    @property
    def retention(self) -> float | None:
        """For how many seconds it keeps a conversation by itself; None when it keeps none, or nobody knows."""
        ...

    @property
    def offline(self) -> bool:
        """Whether it answers by itself, through `respond`, without any server."""
        ...

    @property
    def settings_schema(self) -> Mapping[str, object] | None:
        """The JSON schema of an endpoint's settings; None when there are none."""
        ...

    @property
    def options_schema(self) -> Mapping[str, object] | None:
        """The JSON schema of a chat's options, as `temperature`; None when there are none."""
        ...

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        """Write tools in the shape of the wire, in the order given."""
        ...

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        """Give stored items of an earlier answer of this provider as they are to be sent again.

        `items` are those of one answer. `running` tells whether its turn still runs. Ids and order of the items
        stay; a driver may take out of them what this wire does not want back, such as old reasoning.
        """
        ...

    def request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request whose answer is streamed."""
        ...

    def reader(self, call: ProviderCall) -> StreamReader:
        """Give a new reader for the answer to a request."""
        ...

    def classify(self, status: int, body: object) -> Fault:
        """Name the fault behind an answer with a status of 400 or more.

        `body` is its JSON value, or its text when it is none; at most 64 KiB of it.
        """
        ...

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        """Answer without a server; only asked of a provider that is `offline`."""
        ...


@runtime_checkable
class KeepsByChoice(Protocol):
    """What a driver has besides when the settings of an endpoint decide whether its server keeps the conversation.

    What these say goes before `mode` and `retention`, which hold where nothing is set.
    """

    def mode_for(self, settings: Mapping[str, object]) -> ContinuationMode:
        """How a conversation is carried from one turn to the next, under these settings."""
        ...

    def retention_for(self, settings: Mapping[str, object]) -> float | None:
        """For how many seconds the server keeps a conversation by itself, under these settings."""
        ...


def mode_of(provider: Provider, settings: Mapping[str, object]) -> ContinuationMode:
    """Give the mode of a driver under the settings of an endpoint."""
    return provider.mode_for(settings) if isinstance(provider, KeepsByChoice) else provider.mode


def retention_of(provider: Provider, settings: Mapping[str, object]) -> float | None:
    """Give for how many seconds the server of a driver keeps a conversation, under the settings of an endpoint."""
    return provider.retention_for(settings) if isinstance(provider, KeepsByChoice) else provider.retention


@runtime_checkable
class CountsTokens(Protocol):
    """What a driver has besides when its server counts the tokens of a request that is not made.

    The count holds what the server keeps of the conversation: with a cursor nobody else knows all of it. In the
    mode `threads` it is asked without a cursor.
    """

    def count_request(self, call: ProviderCall) -> ProviderRequest:
        """Write a request that asks for the size of a call."""
        ...

    def read_count(self, body: object) -> int:
        """Give the tokens from the JSON value of the answer. Raises ProviderFaultError when it tells none."""
        ...


@dataclass(frozen=True, slots=True)
class BoundBlock:
    """A piece of a prompt that reasoning behind it is bound to.

    - `value` is all of it that the server looks at, as JSON: who says it too, marks for caches not.
    - `seal` is the `opaque` of the reasoning that it is, as the codec reads it; None for anything else.
    """

    value: object = field(hash=False)
    seal: str | None = None


@runtime_checkable
class BindsReasoning(Protocol):
    """What a driver has besides when its server takes reasoning back only behind the very prefix it was made on.

    The prefix is the head and the blocks of all messages in front of it. The host keeps a hash of it with each
    reasoning, and sends that no more once anything in front of it is another. Not for a server that takes sealed
    reasoning back wherever it stands.
    """

    def bound_head(self, call: ProviderCall) -> object:
        """Give, as JSON, what a request has in front of its messages: system text and tools, as they are sent."""
        ...

    def bound_blocks(self, message: object, settings: Mapping[str, object]) -> Sequence[BoundBlock]:
        """Give the blocks of one message of a prompt, in order; `settings` are those of the endpoint.

        Also asked of the items of an answer. The same text written in another way, as one string or as one block,
        gives the same blocks.
        """
        ...
