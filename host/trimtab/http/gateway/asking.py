"""From a body of Chat Completions to what the host is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trimtab.http.gateway.account import Account, account_of
from trimtab.http.gateway.options import options_for
from trimtab.http.gateway.refusing import UnsupportedError, refuse_uncarried
from trimtab.http.gateway.targets import driver_of, find_target
from trimtab.http.models.gateway import ChatCompletionBody
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import Reasoning
from trimtab_sdk.provider import Answer

if TYPE_CHECKING:
    from trimtab.config_server import Gateway
    from trimtab.host import Host
    from trimtab.turns.stateless import GenerationStream

FORMAT = "chat-completions"


class Generated:
    """An answer without a chat, as a source of the gateway."""

    def __init__(self, host: Host, stream: GenerationStream, *, left_out: tuple[str, ...]) -> None:
        self._host = host
        self._stream = stream
        self._left_out = left_out
        self._not_returned: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._stream.settings.model

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that tell of more than the account."""
        return {}

    async def account(self) -> Account | None:
        """Give the account of the context."""
        fit = self._stream.fit
        if fit is None:
            return None
        account = account_of(fit, provider=self._stream.settings.provider, left_out=self._left_out)
        return account.with_unreturned(self._not_returned)

    async def batches(self) -> AsyncGenerator[Sequence[object], None]:
        """Give the events as they come."""
        async with self._stream:
            async for batch in self._stream.batches():
                if isinstance(batch[-1], Answer):
                    self._not_returned = self._unreturned(batch[-1])
                yield batch

    def _unreturned(self, answer: Answer) -> tuple[str, ...]:
        """Name what a client of Chat Completions has no place for, so that it cannot send it again."""
        driver = driver_of(self._host, self._stream.settings.provider)
        codec = self._host.registry.codec(driver.codec, self._host.config)
        if codec.name == FORMAT:
            return ()
        messages = codec.decode(list(answer.items)).messages
        thinks = any(isinstance(part, Reasoning) for message in messages for part in message.parts)
        return ("reasoning",) if thinks else ()


def is_own(host: Host, provider: str) -> bool:
    """Tell whether a provider speaks Chat Completions itself."""
    return driver_of(host, provider).codec == FORMAT


def asked_of(host: Host, gateway: Gateway, body: ChatCompletionBody, *, owner: str) -> Generated:
    """Give the answer to a body, not begun.

    Raises InvalidRequestError, UnknownModelError, UnknownProviderError.
    """
    check_stream(body)
    target = find_target(gateway, body.model)
    driver = driver_of(host, target.provider)
    steering = refuse_uncarried(body.steering)
    options, left_out = options_for(driver, steering, has_tools=bool(body.tools))
    stream = host.generate(
        said(body.messages),
        owner=owner,
        provider=target.provider,
        model=target.model,
        format=FORMAT,
        tools=body.tools or (),
        context_strategy=gateway.strategy,
        context_settings={**gateway.context, "strategy": gateway.settings},
        max_output_tokens=output_limit(body),
        response_format=checked_format(body.response_format),
        options=options,
    )
    return Generated(host, stream, left_out=left_out)


def said(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the messages without what only chunks have: clients send the `index` of calls back with them."""
    return [_without_indexes(message) if message.get("tool_calls") else message for message in messages]


def _without_indexes(message: dict[str, Any]) -> dict[str, Any]:
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not any(isinstance(call, dict) and "index" in call for call in calls):
        return message
    bare = [
        {key: value for key, value in call.items() if key != "index"} if isinstance(call, dict) else call
        for call in calls
    ]
    return {**message, "tool_calls": bare}


def check_stream(body: ChatCompletionBody) -> None:
    """Raise InvalidRequestError for options of a stream where none is asked for."""
    if body.stream_options is not None and not body.stream:
        raise InvalidRequestError("stream_options is for streams: set stream to true", path="stream_options")


def output_limit(body: ChatCompletionBody) -> int | None:
    """Give how long the answer may be. Raises InvalidRequestError when the body says two things."""
    newer, older = body.max_completion_tokens, body.max_tokens
    if newer is not None and older is not None and newer != older:
        raise InvalidRequestError(
            "max_tokens and max_completion_tokens differ; give one of them", path="max_tokens"
        )
    return older if newer is None else newer


def checked_format(asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Give the response format, None for plain text. Raises InvalidRequestError and UnsupportedError."""
    if asked is None:
        return None
    kind = asked.get("type")
    if kind == "text" or kind == "json_object":
        return None if kind == "text" else dict(asked)
    if kind != "json_schema":
        raise UnsupportedError(
            "response_format", f"its type is {kind!r}; there are text, json_object, json_schema"
        )
    inner = asked.get("json_schema")
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise InvalidRequestError(
            "response_format.json_schema must be an object with a name and a schema",
            path="response_format.json_schema",
        )
    return dict(asked)
