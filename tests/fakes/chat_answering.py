"""What the fake server answers: a refusal of what is wrong, else the reply of the script or of the handler."""

from __future__ import annotations

from collections import deque

from fakes.chat_handlers import Handler
from fakes.chat_judge import ChatJudge, Wrong
from fakes.chat_plans import Asked, Plan, plan_of
from fakes.chat_prices import Count, PrefixCache, Price
from fakes.chat_refusals import error_body, refusal, refusal_with
from fakes.chat_replies import Json, Reply
from fakes.chat_requests import Request, body_of

NO_QUESTION = Asked(number=0, model="", stream=False, include_usage=False, prompt_tokens=0, cached_tokens=0)
"""What an answer is laid out for when nobody asked the model."""
_CHAT = ("POST", "/v1/chat/completions")
_NO_PRICE = Price(0, 0)


class Answerer:
    """Judges and counts requests and chooses replies; `script` goes first, in order, then the handler.

    What is wrong with a request is added to `faults`. The settings are those of ChatServer.
    """

    def __init__(
        self,
        *,
        handler: Handler | None,
        judge: ChatJudge | None,
        count: Count,
        caching: bool,
        max_context: int | None,
        api_key: str | None,
        faults: list[str],
    ) -> None:
        self.script: deque[Reply] = deque()
        self._handler = handler
        self._judge = judge
        self._cache = PrefixCache(count, caching=caching)
        self._always_counts = caching or max_context is not None
        self._max_context = max_context
        self._api_key = api_key
        self._faults = faults

    def plan(self, request: Request) -> Plan:
        """Decide what a request is answered; its body and its faults are noted in it."""
        try:
            return self._judged_plan(request)
        except Exception as error:  # a handler's mistake must be seen by the test, not end the server's thread
            return self._refused(request, [Wrong(f"no reply, because of {error!r}")], status=500)

    def _judged_plan(self, request: Request) -> Plan:
        if (request.method, request.path) != _CHAT:
            return self._refused(request, [Wrong(f"nothing at {request.method} {request.path}")], status=404)
        if self._api_key is not None and request.headers.get("authorization") != f"Bearer {self._api_key}":
            return plan_of(refusal("auth"), NO_QUESTION)
        try:
            request.body = body_of(request)
        except ValueError as error:
            return self._refused(request, [Wrong(f"the body cannot be read: {error}")])
        if self._judge is not None and (found := self._judge.faults(request.body)):
            return self._refused(request, found)
        return self._priced_plan(request)

    def _priced_plan(self, request: Request) -> Plan:
        body = request.body
        is_stream = body.get("stream") is True
        shows_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        counts = self._always_counts or shows_usage or not is_stream
        price = self._cache.price(body) if counts else _NO_PRICE
        if self._max_context is not None and price.tokens > self._max_context:
            return self._refused(request, [_too_long(price.tokens, self._max_context)])
        asked = Asked(
            number=request.number,
            model=str(body.get("model")),
            stream=is_stream,
            include_usage=shows_usage,
            prompt_tokens=price.tokens,
            cached_tokens=price.cached,
        )
        if not self.script and self._handler is None:
            return self._refused(request, [Wrong("no reply is left in the script", code="no_reply_left")])
        return plan_of(self._next_reply(body), asked)

    def _next_reply(self, body: Json) -> Reply:
        if self.script:
            return self.script.popleft()
        assert self._handler is not None
        return self._handler(body)

    def _refused(self, request: Request, found: list[Wrong], *, status: int = 400) -> Plan:
        request.faults = [wrong.message for wrong in found]
        self._faults.extend(f"request {request.number}: {fault}" for fault in request.faults)
        body = error_body(found[0].message, code=found[0].code, param=found[0].param)
        return plan_of(refusal_with(status, body), NO_QUESTION)


def _too_long(tokens: int, limit: int) -> Wrong:
    return Wrong(
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
        f"{tokens} tokens. Please reduce the length of the messages.",
        "messages",
        "context_length_exceeded",
    )
