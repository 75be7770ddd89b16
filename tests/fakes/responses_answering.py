"""What the fake Responses API answers: a refusal of what is wrong, else what the script or the handler says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakes.chat_answering import NO_QUESTION
from fakes.chat_handlers import Handler
from fakes.chat_judge import Wrong
from fakes.chat_plans import CREATED, Plan, plan_of
from fakes.chat_prices import Count, PrefixCache, Price
from fakes.chat_refusals import refusal, refusal_with
from fakes.chat_replies import ChatReply, Json, PlainReply, Reply, reply, stream_error
from fakes.chat_requests import Request, body_of
from fakes.responses_bodies import ResponsesJudge, Target
from fakes.responses_context import Context, ContextReader, Switches, View
from fakes.responses_items import Piece, unfolded
from fakes.responses_parts import failure
from fakes.responses_plans import Question, lay_out, usage_of
from fakes.responses_refusals import RESPONSES_REFUSALS, RefusedError
from fakes.responses_seals import Seals
from fakes.responses_store import Kept, ResponseStore

_ROOT = "/v1/responses"
_OPAQUE_TOKENS = 20


@dataclass(frozen=True, slots=True)
class _Read:
    """A body that is right, with what it comes to for the model."""

    body: Json
    context: Context
    price: Price


class ResponsesAnswerer:
    """Judges requests, keeps answers and chooses replies; `script` goes first, in order, then the handler.

    What is wrong with a request is added to `faults`. The settings are those of ResponsesServer.
    """

    def __init__(
        self,
        *,
        handler: Handler | None,
        judge: ResponsesJudge | None,
        count: Count,
        max_context: int | None,
        api_key: str | None,
        store: ResponseStore,
        switches: Switches,
        faults: list[str],
    ) -> None:
        self.script: deque[Reply] = deque()
        self.store = store
        self.seals = Seals()
        self.views: dict[int, View] = {}
        self.made: list[str] = []
        self._handler = handler
        self._judge = judge
        self._cache = PrefixCache(_counter(count))
        self._max_context = max_context
        self._api_key = api_key
        self._switches = switches
        self._faults = faults
        self._reader = ContextReader(store, self.seals, switches)

    def plan(self, request: Request) -> Plan:
        """Decide what a request is answered; its body and its faults are noted in it."""
        try:
            return self._planned(request)
        except RefusedError as error:
            if error.is_fault:
                self._note(request, [str(error)])
            return plan_of(error.reply, NO_QUESTION)
        except Exception as error:  # a mistake here must be seen by the test, not end the server's thread
            self._note(request, [f"no reply, because of {error!r}"])
            return plan_of(refusal("server"), NO_QUESTION)

    def _planned(self, request: Request) -> Plan:
        path = request.path.partition("?")[0]
        if self._api_key is not None and request.headers.get("authorization") != f"Bearer {self._api_key}":
            return plan_of(refusal("auth"), NO_QUESTION)
        posts = {_ROOT: self._create, f"{_ROOT}/input_tokens": self._count, f"{_ROOT}/compact": self._compact}
        if request.method == "POST" and path in posts:
            return posts[path](request)
        _, root, rest = path.partition(f"{_ROOT}/")
        if root and request.method in ("GET", "DELETE"):
            return self._kept(request.method, *rest.split("/", 1))
        raise RefusedError(Wrong(f"nothing at {request.method} {request.path}"), status=404)

    def _create(self, request: Request) -> Plan:
        read = self._read(request, "create")
        try:
            self._check_size(read.price.tokens)
        except RefusedError as error:
            if read.body.get("stream") is not True or self._switches.context_errors == "status":
                raise
            self._note(request, [str(error)])
            return self._told_in_stream(request, read, error)
        given = self._next_reply(read)
        if isinstance(given, PlainReply):
            return plan_of(given, NO_QUESTION)
        return self._answer(request, read, given)

    def _answer(self, request: Request, read: _Read, given: ChatReply) -> Plan:
        question = self._question(request, read)
        laid = lay_out(given, question)
        self.made.append(question.response_id)
        if read.body.get("store") is False:
            self.store.unkept.add(question.response_id)
        elif laid.has_ended:
            self._keep(request, read.context, question.response_id, laid.response, laid.outputs)
        return laid.plan

    def _keep(self, request: Request, context: Context, name: str, response: Json, outputs: list[Piece]) -> None:
        self.store.add(
            Kept(
                id=name,
                response=response,
                inputs=context.inputs,
                outputs=outputs,
                chain=[*context.chain, *context.inputs, *outputs],
                request=request,
                made_at=self.store.now(),
            )
        )

    def _told_in_stream(self, request: Request, read: _Read, error: RefusedError) -> Plan:
        code = str(error.wrong.code)
        is_failure = self._switches.context_errors == "failed"
        end = failure(str(error), code=code) if is_failure else stream_error(str(error), code=code)
        return lay_out(reply(end), self._question(request, read)).plan

    def _count(self, request: Request) -> Plan:
        read = self._read(request, "count")
        body = {"object": "response.input_tokens", "input_tokens": read.price.tokens}
        return plan_of(refusal_with(200, body), NO_QUESTION)

    def _compact(self, request: Request) -> Plan:
        read = self._read(request, "compact")
        mark = self._mark(request)
        whole = unfolded(read.context.items)
        users = [
            {"id": f"msg_{mark}_{at}", "status": "completed", **item}
            for at, item in enumerate(whole)
            if item.get("role") == "user"
        ]
        sealed = {
            "id": f"cmp_{mark}",
            "type": "compaction",
            "encrypted_content": self.seals.seal({"covers": whole}),
        }
        body = {
            "id": f"resp_{mark}",
            "object": "response.compaction",
            "created_at": CREATED,
            "output": [*users, sealed],
            "usage": usage_of(read.price.tokens, read.price.cached),
        }
        return plan_of(refusal_with(200, body), NO_QUESTION)

    def _kept(self, method: str, response_id: str, part: str = "") -> Plan:
        kept = self.store.find(response_id)
        if kept is None or part not in ("", "input_items"):
            wrong = Wrong(f"Response with id '{response_id}' not found.")
            raise RefusedError(wrong, status=404, is_fault=False)
        if method == "DELETE":
            self.store.forget(response_id)
            return plan_of(
                refusal_with(200, {"id": response_id, "object": "response", "deleted": True}), NO_QUESTION
            )
        return plan_of(refusal_with(200, _listed(kept) if part else kept.response), NO_QUESTION)

    def _read(self, request: Request, target: Target) -> _Read:
        body = self._judged(request, target)
        context = self._reader.context(body)
        self._note(request, context.faults)
        price = self._price(body, context)
        self.views[request.number] = View(
            model=str(body.get("model")),
            instructions=body.get("instructions"),
            tools=body.get("tools") or [],
            items=context.items,
            dropped=context.dropped,
            tokens=price.tokens,
            cached=price.cached,
        )
        return _Read(body, context, price)

    def _judged(self, request: Request, target: Target) -> Json:
        try:
            request.body = body_of(request)
        except ValueError as error:
            raise RefusedError(Wrong(f"the body cannot be read: {error}")) from error
        if self._judge is not None and (found := self._judge.faults(request.body, target)):
            self._note(request, [wrong.message for wrong in found])
            raise RefusedError(found[0], is_fault=False)
        return request.body

    def _price(self, body: Json, context: Context) -> Price:
        head = [body.get(key) for key in ("tools", "instructions", "text", "reasoning") if body.get(key)]
        return self._cache.price({"model": body.get("model"), "tools": head, "messages": context.items})

    def _check_size(self, tokens: int) -> None:
        if self._max_context is not None and tokens > self._max_context:
            row = RESPONSES_REFUSALS["context"]
            raise RefusedError(Wrong(row.message, row.param, row.code))

    def _next_reply(self, read: _Read) -> Reply:
        if self.script:
            return self.script.popleft()
        if self._handler is None:
            raise RefusedError(Wrong("no reply is left in the script", code="no_reply_left"))
        return self._handler({**read.body, "context": read.context.items})

    def _question(self, request: Request, read: _Read) -> Question:
        mark = self._mark(request)
        asks = "reasoning.encrypted_content" in (read.body.get("include") or ())
        return Question(
            number=request.number,
            body=read.body,
            response_id=f"resp_{mark}",
            mark=mark,
            context=read.context,
            seals=self.seals,
            tokens=read.price.tokens,
            cached=read.price.cached,
            encrypts=self._switches.encrypts or asks,
            compacts=read.price.tokens > _threshold(read.body),
            final_output=self._switches.final_output,
        )

    def _mark(self, request: Request) -> str:
        return f"{self.seals.name}{request.number:06d}"

    def _note(self, request: Request, found: Sequence[str]) -> None:
        request.faults.extend(found)
        self._faults.extend(f"request {request.number}: {fault}" for fault in found)


def _counter(count: Count) -> Callable[[Json], int]:
    """Count what is opaque by itself, since what it covers costs nothing any more."""
    return lambda item: _OPAQUE_TOKENS if item["type"] == "compaction" else count(item)


def _threshold(body: Json) -> float:
    entries = body.get("context_management") or ()
    limits = [entry.get("compact_threshold") for entry in entries if entry["type"] == "compaction"]
    return min((limit for limit in limits if limit is not None), default=float("inf"))


def _listed(kept: Kept) -> Json:
    items = [{"id": f"item_{kept.id}_{at}", **piece.sent} for at, piece in enumerate(kept.inputs)]
    ends = (
        {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {"first_id": None, "last_id": None}
    )
    return {"object": "list", "data": items, "has_more": False, **ends}
