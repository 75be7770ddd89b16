"""What the fake Messages server answers: a refusal of what is wrong, else a reply of the script or handler."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit
from uuid import uuid4

from fakes.chat_answering import NO_QUESTION
from fakes.chat_judge import Wrong
from fakes.chat_plans import Plan
from fakes.chat_plans import plan_of as plain_plan
from fakes.chat_refusals import refusal_with
from fakes.chat_replies import Break, ChatReply, Half, Json, PlainReply, Reply, StreamError
from fakes.chat_requests import Request, body_of
from fakes.messages_cache import BreakpointCache
from fakes.messages_context import THOUGHTS, View, places_in, turns_of
from fakes.messages_handlers import MessagesHandler
from fakes.messages_judge import MessagesJudge
from fakes.messages_plans import Asked, plan_of, spent
from fakes.messages_refusals import PREFILL, TYPES, error_body, named, refusal
from fakes.messages_rules import is_in_loop
from fakes.messages_seals import Signer, digests, head_of, prefixes
from fakes.messages_thinking import CONTROLS, Binding, findings
from fakes.messages_threads import THREADS, Lost, ThreadStore
from fakes.messages_types import OLD_VERSION, body_wrongs

ASK, COUNT = "/v1/messages", "/v1/messages/count_tokens"
LARGEST = 32 * 1024 * 1024
_WARMING = ChatReply(finish="max_tokens")
_NO_VERSION = "anthropic-version: header is required"


class RefusedError(Exception):
    """A request that is answered with an error; `is_fault` when the client should have known better."""

    def __init__(self, *found: Wrong, status: int = 400, is_fault: bool = True, code: str = "") -> None:
        super().__init__(found[0].message)
        self.found = found
        self.status = status
        self.is_fault = is_fault
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the server is set up; see MessagesServer."""

    max_context: int | None
    max_output: int | None
    overflow: Literal["error", "stop"]
    api_key: str | None
    binding: Binding
    prefill: bool
    threads_refuse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paused:
    """An answer that goes on when it is sent back: hashes of its blocks, and what is left of it."""

    blocks: list[str]
    rest: ChatReply | None


class MessagesAnswerer:
    """Judges requests and chooses replies: the script's first, then the handler's."""

    def __init__(
        self,
        *,
        handler: MessagesHandler | None,
        judge: MessagesJudge | None,
        signer: Signer,
        cache: BreakpointCache,
        manners: Manners,
        threads: ThreadStore,
        faults: list[str],
    ) -> None:
        self.script: deque[Reply] = deque()
        self.views: dict[int, View] = {}
        self.answers: dict[int, Json] = {}
        self._handler = handler
        self._judge = judge
        self._signer = signer
        self._cache = cache
        self._manners = manners
        self._threads = threads
        self._faults = faults
        self._paused: list[Paused] = []

    def plan(self, request: Request) -> Plan:
        """Decide what a request is answered; its body and its faults are noted in it."""
        try:
            return self._asked_plan(request)
        except RefusedError as refused:
            return self._refusal(request, refused)
        except Exception as error:  # a handler's mistake must be seen by the test, not end the server's thread
            return self._refusal(request, RefusedError(Wrong(f"no reply, because of {error!r}"), status=500))

    def _asked_plan(self, request: Request) -> Plan:
        if self._manners.api_key not in (None, *_keys_of(request)):
            return _plain(refusal("auth"), request)
        path = urlsplit(request.path).path
        if request.method != "POST" or path not in (ASK, COUNT):
            raise RefusedError(Wrong(f"nothing at {request.method} {request.path}"), status=404)
        view = self._view(request, counting=path == COUNT)
        self.views[request.number] = view
        self._judge_thinking(view)
        view.cost = self._cache.price(view, writes=path == ASK)
        if path == COUNT:
            return _plain(refusal_with(200, {"input_tokens": view.tokens}), request)
        paused = self._continued(view)
        self._judge_end(view, paused)
        self._judge_size(view)
        return self._reply_plan(request, view, self._next(view, paused))

    def _view(self, request: Request, *, counting: bool) -> View:
        if len(request.raw) > LARGEST:
            raise RefusedError(Wrong("Request exceeds the maximum size"), status=413)
        try:
            request.body = body_of(request)
        except ValueError as error:
            raise RefusedError(Wrong(f"The request body is not valid JSON: {error}")) from error
        version = request.headers.get("anthropic-version")
        listed = request.headers.get("anthropic-beta", "")
        betas = tuple(name.strip() for name in listed.split(",") if name.strip())
        body = self._joined(request.body, version, betas, counting=counting)
        if self._judge is not None:
            self._judge_body(body, version, betas, counting=counting)
        sent = places_in(body["messages"])
        return View(body=body, version=version or OLD_VERSION, betas=betas, sent=sent)

    def _joined(self, body: Json, version: str | None, betas: tuple[str, ...], *, counting: bool) -> Json:
        """Give a request with what its thread holds; one that is part of none as it is."""
        if not isinstance(body, dict) or "thread" not in body:
            return body
        if THREADS not in betas or counting:
            raise RefusedError(Wrong("thread: Extra inputs are not permitted", "thread"))
        found = list(body_wrongs(body, version=version or OLD_VERSION, beta=True, counting=counting))
        if found:
            raise RefusedError(*found)
        unsupported = self._manners.threads_refuse
        if unsupported and any(key in body for key in unsupported):
            text = f"Threads do not support: {', '.join(unsupported)}"
            raise RefusedError(Wrong(text), is_fault=False, code="thread_unsupported_request")
        joined = self._threads.joined(body)
        if isinstance(joined, Lost):
            wrong = Wrong(joined.message, "thread")
            raise RefusedError(wrong, status=joined.status, is_fault=joined.is_fault, code=joined.code)
        return joined

    def _judge_body(self, body: Json, version: str | None, betas: tuple[str, ...], *, counting: bool) -> None:
        if version is None:
            raise RefusedError(Wrong(_NO_VERSION))
        assert self._judge is not None
        found = self._judge.faults(body, version=version, betas=betas, counting=counting)
        most = self._manners.max_output
        if not found and most is not None and body.get("max_tokens", 0) > most:
            text = (
                f"max_tokens: {body['max_tokens']} > {most}, which is the maximum allowed number of output tokens "
                f"for {body['model']}"
            )
            found = [Wrong(text, "max_tokens")]
        if not found and "block_binding" in (body.get("thinking") or {}) and CONTROLS not in betas:
            found = [Wrong("thinking.block_binding: Extra inputs are not permitted", "thinking")]
        if found:
            raise RefusedError(*found)

    def _judge_thinking(self, view: View) -> None:
        if self._judge is None:
            return
        found = list(findings(view, signer=self._signer, binding=self._manners.binding))
        first = next((one for one in found if one.drop is None), None)
        if first is not None:  # those behind it only follow from it
            raise RefusedError(first.wrong, is_fault=not first.is_stale)
        view.dropped = [one.drop for one in found]

    def _continued(self, view: View) -> Paused | None:
        """Give the paused answer that the request ends with, the longest when there are several."""
        turns = turns_of([place for place in view.sent if place.role != "system"])
        if not turns or turns[-1][0].role != "assistant":
            return None
        last = digests("assistant", [place.block for place in turns[-1]])
        fitting = [one for one in self._paused if one.blocks and last[-len(one.blocks) :] == one.blocks]
        return max(fitting, key=lambda one: len(one.blocks), default=None)

    def _judge_end(self, view: View, paused: Paused | None) -> None:
        view.resumes = paused is not None
        if self._judge is None or paused is not None:
            return
        last = next((place for place in reversed(view.sent) if place.role != "system"), None)
        if last is None or last.role != "assistant":
            return
        if not self._manners.prefill:
            raise RefusedError(Wrong(PREFILL, "messages"))
        if last.kind == "text" and last.block["text"] != last.block["text"].rstrip():
            raise RefusedError(Wrong("messages: final assistant content cannot end with trailing whitespace"))

    def _judge_size(self, view: View) -> None:
        limit, asked = self._manners.max_context, view.body.get("max_tokens", 0)
        if limit is None:
            return
        if view.tokens > limit:
            raise RefusedError(Wrong(f"prompt is too long: {view.tokens} tokens > {limit} maximum"))
        if view.tokens + asked > limit and self._manners.overflow == "error":
            text = (
                f"input length and `max_tokens` exceed context limit: {view.tokens} + {asked} > {limit}, decrease "
                "input length or `max_tokens` and try again"
            )
            raise RefusedError(Wrong(text))

    def _next(self, view: View, paused: Paused | None) -> Reply:
        """Choose the reply; a paused answer goes on unless the script refuses first."""
        if view.body.get("max_tokens") == 0:
            return _WARMING
        has_rest = paused is not None and paused.rest is not None
        if has_rest and not (self.script and isinstance(self.script[0], PlainReply)):
            assert paused is not None
            assert paused.rest is not None
            return paused.rest
        if self.script:
            return self.script.popleft()
        if self._handler is None:
            raise RefusedError(Wrong("no reply is left in the script"))
        return self._handler(view)

    def _reply_plan(self, request: Request, view: View, reply: Reply) -> Plan:
        if isinstance(reply, PlainReply):
            return _plain(reply, request)
        plan, made = plan_of(reply, self._asked(request, view))
        self.answers[request.number] = made
        if "thread" in request.body:
            self._threads.use(request.body)
            self._threads.keep(view.body, made, is_whole=_is_whole(reply))
        if made["stop_reason"] == "pause_turn":
            rest = spent(reply.parts)
            blocks = digests("assistant", made["content"])
            self._paused.append(Paused(blocks, replace(reply, parts=rest) if rest else None))
        return plan

    def _asked(self, request: Request, view: View) -> Asked:
        body, thinking = view.body, view.thinking.get("type")
        limit = self._manners.max_context
        stops = body.get("stop_sequences") or [None]
        return Asked(
            message_id=f"msg_{uuid4().hex[:24]}",
            request_id=request_id(request),
            model=view.model,
            stream=body.get("stream") is True,
            cost=view.cost,
            prefix=prefixes(head_of(view), view.sent)[-1],
            signer=self._signer,
            thinks=thinking in ("enabled", "adaptive") and not _has_thought(view),
            is_silent=thinking == "disabled",
            is_omitted=view.thinking.get("display") == "omitted",
            room=None if limit is None or self._manners.overflow == "error" else limit - view.tokens,
            stop_sequence=stops[0],
            more={"input_transformations": view.dropped} if CONTROLS in view.betas else {},
        )

    def _refusal(self, request: Request, refused: RefusedError) -> Plan:
        if refused.is_fault:
            request.faults = [wrong.message for wrong in refused.found]
            self._faults.extend(f"request {request.number}: {fault}" for fault in request.faults)
        kind = TYPES.get(refused.status, "api_error")
        body = error_body(refused.found[0].message, type=kind, code=refused.code or None)
        return _plain(refusal_with(refused.status, body), request)


def request_id(request: Request) -> str:
    """Name a request as its answer does."""
    return f"req_fake_{request.number}"


def _keys_of(request: Request) -> tuple[str | None, str]:
    return request.headers.get("x-api-key"), request.headers.get("authorization", "").removeprefix("Bearer ")


def _plain(reply: PlainReply, request: Request) -> Plan:
    return plain_plan(named(reply, request_id(request)), NO_QUESTION)


def _is_whole(reply: ChatReply) -> bool:
    """Tell whether the whole answer reaches the client, which is when it is kept."""
    broken = any(isinstance(part, Break | Half | StreamError) for part in reply.parts)
    return not broken and reply.cut_at is None and reply.done and reply.finish is not None


def _has_thought(view: View) -> bool:
    """Whether the assistant's turn, which results have interrupted, has begun with a thought."""
    if not is_in_loop(view.sent):
        return False
    for turn in reversed(turns_of(view.sent)):
        if turn[0].role == "user" and turn[0].kind != "tool_result":
            return False
        if turn[0].role == "assistant" and turn[0].kind in THOUGHTS:
            return True
    return False
