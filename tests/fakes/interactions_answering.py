"""What the fake Interactions server answers: a refusal of what is wrong, else a reply of the script or handler."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from fakes.chat_answering import NO_QUESTION
from fakes.chat_judge import Wrong
from fakes.chat_plans import Plan
from fakes.chat_plans import plan_of as plain_plan
from fakes.chat_prices import Count, PrefixCache
from fakes.chat_refusals import refusal_with
from fakes.chat_replies import ChatReply, Json, PlainReply, Reply
from fakes.chat_requests import Request, body_of
from fakes.interactions_context import View, priced_body, steps_in
from fakes.interactions_handlers import InteractionHandler
from fakes.interactions_judge import InteractionsJudge
from fakes.interactions_plans import Asked, plan_of, resource, spent
from fakes.interactions_refusals import BAD_SIGNATURE, error_body, refusal
from fakes.interactions_rules import Rules
from fakes.interactions_signatures import digest
from fakes.interactions_store import Interaction, InteractionStore, is_id, new_id

_PLACE = re.compile(r"/(v1|v1beta)/interactions(/(?P<id>[^/]+))?")
_CODES = {400: "invalid_request", 403: "permission_denied", 404: "not_found", 500: "internal_error"}


class RefusedError(Exception):
    """A request that is answered with an error; `is_fault` when the client should have known better."""

    def __init__(self, *found: Wrong, status: int = 400, is_fault: bool = True) -> None:
        super().__init__(found[0].message)
        self.found = found
        self.status = status
        self.is_fault = is_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the server is set up; see InteractionsServer."""

    max_context: int | None
    api_key: str | None
    lost_status: int
    continuable: Collection[str]
    cache_minimum: int


@dataclass(frozen=True, slots=True)
class Paused:
    """An answer that goes on when its token comes: what is left of it, and a hash of what it was asked with."""

    interaction: Interaction
    rest: ChatReply
    sent: str


class InteractionsAnswerer:
    """Judges requests, looks up what they continue and chooses replies: the script's first, then the handler's."""

    def __init__(
        self,
        *,
        handler: InteractionHandler | None,
        judge: InteractionsJudge | None,
        rules: Rules,
        store: InteractionStore,
        manners: Manners,
        count: Count,
        caching: bool,
        faults: list[str],
    ) -> None:
        self.script: deque[Reply] = deque()
        self.views: dict[int, View] = {}
        self.answers: dict[int, Interaction] = {}
        self.store = store
        self.rules = rules
        self._judge = judge
        self._prefixes = PrefixCache(count, caching=caching)
        self._handler = handler
        self._faults = faults
        self._manners = manners
        self._paused: dict[str, Paused] = {}

    def plan(self, request: Request) -> Plan:
        """Decide what a request is answered; its body and its faults are noted in it."""
        try:
            return self._asked_plan(request)
        except RefusedError as refused:
            return self._refusal(request, refused)
        except Exception as error:  # a handler's mistake must be seen by the test, not end the server's thread
            return self._refusal(request, RefusedError(Wrong(f"no reply, because of {error!r}"), status=500))

    def _asked_plan(self, request: Request) -> Plan:
        if self._manners.api_key not in (None, request.headers.get("x-goog-api-key")):
            return plain_plan(refusal("auth"), NO_QUESTION)
        address = urlsplit(request.path)
        found = _PLACE.fullmatch(address.path)
        if found and request.method == "POST" and found["id"] is None:
            return self._created_plan(request)
        if found and request.method in ("GET", "DELETE") and found["id"] is not None:
            return self._stored_plan(request.method, found["id"], parse_qs(address.query))
        raise RefusedError(Wrong(f"nothing at {request.method} {request.path}"), status=404)

    def _stored_plan(self, method: str, interaction_id: str, query: dict[str, list[str]]) -> Plan:
        found = self._found(interaction_id)
        if method == "DELETE":
            self.store.forget(interaction_id)
            return plain_plan(refusal_with(200, {}), NO_QUESTION)
        shows_input = query.get("include_input") == ["true"]
        return plain_plan(refusal_with(200, resource(found, include_input=shows_input)), NO_QUESTION)

    def _created_plan(self, request: Request) -> Plan:
        request.body = self._judged_body(request)
        paused = self._paused_by(request.body)
        view = self._view(request.body, paused)
        self.views[request.number] = view
        if self._judge is not None:
            self._judge_context(view)
        view.cost(self._prefixes.price(priced_body(view)), minimum=self._manners.cache_minimum)
        self._judge_size(view)
        return self._reply_plan(request, view, self._next(view, paused))

    def _judged_body(self, request: Request) -> Json:
        try:
            body = body_of(request)
        except ValueError as error:
            raise RefusedError(Wrong(f"the body cannot be read: {error}")) from error
        request.body = body
        if self._judge is not None:
            found = self._judge.faults(body, request.headers)
            if found:
                raise RefusedError(*found)
        return body

    def _view(self, body: Json, paused: Paused | None) -> View:
        if paused is not None:
            return View(body=body, steps=paused.interaction.chain, sent=[], resumes=True)
        sent = steps_in(body.get("input"))
        previous = body.get("previous_interaction_id")
        chain = [] if previous is None else self._continued(previous).chain
        return View(body=body, steps=[*chain, *sent], sent=sent)

    def _continued(self, interaction_id: str) -> Interaction:
        found = self._found(interaction_id)
        if found.status not in self._manners.continuable:
            text = f"Interaction {interaction_id} cannot be continued; its status is {found.status}."
            raise RefusedError(Wrong(text, "previous_interaction_id"))
        return found

    def _found(self, interaction_id: str) -> Interaction:
        if not is_id(interaction_id):
            raise RefusedError(Wrong(f"Invalid interaction id: {interaction_id[:80]!r}."), is_fault=False)
        found = self.store.find(interaction_id)
        if found is not None:
            return found
        text = f"Interaction {interaction_id} was not found, or it has expired."
        is_fault = self.store.was_not_kept(interaction_id)
        raise RefusedError(Wrong(text), status=self._manners.lost_status, is_fault=is_fault)

    def _paused_by(self, body: Json) -> Paused | None:
        token = body.get("continuation_token")
        if token is None:
            return None
        paused = self._paused.get(token)
        if paused is None or not self._goes_on(body, paused):
            raise RefusedError(
                Wrong("The continuation_token is not valid for this request.", "continuation_token")
            )
        return paused

    def _goes_on(self, body: Json, paused: Paused) -> bool:
        previous = body.get("previous_interaction_id")
        if previous is not None:
            return self._found(previous) is paused.interaction
        return not paused.interaction.stored and digest(steps_in(body.get("input"))) == paused.sent

    def _judge_context(self, view: View) -> None:
        if any(self.rules.is_stale(step) for step in view.sent):
            raise RefusedError(Wrong(BAD_SIGNATURE), is_fault=False)
        found = [] if view.resumes else self.rules.faults(view.chain, view.sent)
        if found:
            raise RefusedError(*found)

    def _judge_size(self, view: View) -> None:
        limit = self._manners.max_context
        if limit is not None and view.tokens > limit:
            text = f"The input token count ({view.tokens}) exceeds the maximum number of tokens allowed ({limit})."
            raise RefusedError(Wrong(text))

    def _next(self, view: View, paused: Paused | None) -> Reply:
        """Choose the reply; a paused answer goes on unless the script refuses first."""
        if paused is not None and not (self.script and isinstance(self.script[0], PlainReply)):
            return paused.rest
        if self.script:
            return self.script.popleft()
        if self._handler is None:
            raise RefusedError(Wrong("no reply is left in the script", code="no_reply_left"))
        return self._handler(view)

    def _reply_plan(self, request: Request, view: View, reply: Reply) -> Plan:
        if isinstance(reply, PlainReply):
            return plain_plan(reply, NO_QUESTION)
        interaction = Interaction(
            id=new_id(),
            model=view.model,
            created=self.store.now(),
            previous=view.previous,
            stored=view.body.get("store") is not False,
            before=view.steps,
        )
        plan = plan_of(reply, self._asked(request, view, interaction))
        interaction.outcome, interaction.status = interaction.status, "in_progress"
        self.rules.remember(interaction.steps)
        self.store.keep(interaction)
        self.answers[request.number] = interaction
        if interaction.token is not None:
            rest = replace(reply, parts=spent(reply.parts))
            self._paused[interaction.token] = Paused(interaction, rest, self._sent_digest(view))
        return plan

    def _sent_digest(self, view: View) -> str:
        return digest(steps_in(view.body.get("input")))

    def _asked(self, request: Request, view: View, interaction: Interaction) -> Asked:
        before = list(view.steps)
        return Asked(
            number=request.number,
            interaction=interaction,
            stream=view.body.get("stream") is True,
            summaries=view.generation_config.get("thinking_summaries") != "none",
            input_tokens=view.tokens,
            cached_tokens=view.cached,
            sign=lambda made, summary: self.rules.signer.sign([*before, *made], summary),
        )

    def _refusal(self, request: Request, refused: RefusedError) -> Plan:
        if refused.is_fault:
            request.faults = [wrong.message for wrong in refused.found]
            self._faults.extend(f"request {request.number}: {fault}" for fault in request.faults)
        first = refused.found[0]
        body = error_body(first.message, code=first.code or _CODES.get(refused.status, "invalid_request"))
        return plain_plan(refusal_with(refused.status, body), NO_QUESTION)
