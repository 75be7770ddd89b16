"""A fake of the server behind ChatGPT's own clients: Responses, stateless, and narrower.

It is scripted and watched as `fakes.responses_server` is; see there. Beyond that it takes a bearer token and an
account, only the keys of the official client, `store: false` and `stream: true`; system text as `instructions` or
from the developer; and inside a turn the reasoning that calls came from. Its last event has no items.

    with ChatGPTServer() as server:
        server.windows = rate_limits(primary=35.0)
        server.say(thought("Hm."), "Three.")
        server.reply(used_up(resets_at=1_790_003_600), detail(400, "Instructions are not valid"))
        ...  # ask server.base_url
        assert server.faults == []
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fakes.chat_answering import NO_QUESTION
from fakes.chat_plans import Plan, json_text, plan_of
from fakes.chat_refusals import error_body, refusal_with
from fakes.chat_replies import Json, PlainReply
from fakes.chat_requests import Request, body_of
from fakes.responses_answering import ResponsesAnswerer
from fakes.responses_items import items_of, type_of
from fakes.responses_server import ResponsesServer

ROOT = "/backend-api/codex"
ALLOWED = frozenset(
    {
        *("model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "store"),
        *("stream", "include", "prompt_cache_key", "text", "service_tier"),
    }
)


class ChatGPTServer(ResponsesServer):
    """The server; `with ChatGPTServer() as server` starts and ends it.

    - `token`, `account`: what a client must send; `token` may be changed at any time, as when one expires.
    - `instructions`: the only ones that are valid; None takes any.
    - `windows`: what each stream begins with to tell how far the plan is used; None tells nothing.
    """

    def __init__(
        self, *, token: str = "a-token", account: str | None = None, instructions: str | None = None
    ) -> None:
        super().__init__(may_repeat=True)
        self.switches.final_output = False
        self.switches.encrypts = False
        self.token = token
        self.account = account
        self.instructions = instructions
        self.windows: Mapping[str, Json] | None = None
        self._answerer = _Narrower(self, self._responses, self.faults)

    @property
    def base_url(self) -> str:
        """What a client is configured with."""
        return f"{self.origin}{ROOT}"


class _Narrower:
    """Judges a request by the rules that Responses does not have, and lets Responses answer the others."""

    def __init__(self, server: ChatGPTServer, inner: ResponsesAnswerer, faults: list[str]) -> None:
        self.script = inner.script
        self._server = server
        self._inner = inner
        self._faults = faults
        self._thoughts: dict[str, str] = {}

    def plan(self, request: Request) -> Plan:
        if request.headers.get("authorization") != f"Bearer {self._server.token}":
            return plan_of(detail(401, "Could not validate credentials"), NO_QUESTION)
        if refused := next(self._refusals(request), None):
            self._note(request, refused)
            return plan_of(refused, NO_QUESTION)
        path, request.path = request.path, "/v1/responses"
        plan = self._inner.plan(request)
        request.path = path
        self._learn(plan)
        return self._with_windows(plan)

    def _note(self, request: Request, refused: PlainReply) -> None:
        said = refused.body.decode()
        request.faults.append(said)
        self._faults.append(f"request {request.number}: {said}")

    def _refusals(self, request: Request) -> Iterator[PlainReply]:
        if (request.method, request.path) != ("POST", f"{ROOT}/responses"):
            yield detail(404, "Not Found")
        account = self._server.account
        if account is not None and request.headers.get("chatgpt-account-id") != account:
            yield detail(403, "The account is not that of the token")
        try:
            request.body = body_of(request)
        except ValueError as error:
            yield detail(400, str(error))
        yield from _body_refusals(request.body, self._server.instructions)
        yield from self._lost_thoughts(items_of(request.body))

    def _lost_thoughts(self, items: Sequence[Json]) -> Iterator[PlainReply]:
        """Find calls of the turn that runs without the reasoning that they came from."""
        present = {item.get("id") for item in items}
        start = max((at for at, item in enumerate(items) if item.get("role") == "user"), default=-1) + 1
        for item in items[start:]:
            thought = self._thoughts.get(str(item.get("call_id")))
            if type_of(item) == "function_call" and thought is not None and thought not in present:
                yield refusal_with(
                    400,
                    error_body(
                        f"Item '{item.get('id')}' of type 'function_call' was provided without its required "
                        f"'reasoning' item: '{thought}'.",
                        param="input",
                    ),
                )

    def _learn(self, plan: Plan) -> None:
        """Remember which reasoning the calls of an answer came from."""
        thought = None
        for item in _items_told(plan):
            if item["type"] == "reasoning":
                thought = item["id"]
            elif item["type"] == "function_call" and thought is not None:
                self._thoughts[item["call_id"]] = thought

    def _with_windows(self, plan: Plan) -> Plan:
        windows = self._server.windows
        if windows is None or not plan.headers.get("content-type", "").startswith("text/event-stream"):
            return plan
        event = {"type": "codex.rate_limits", **windows}
        frame = f"event: codex.rate_limits\ndata: {json_text(event)}\n\n".encode()
        return replace(plan, steps=[frame, *plan.steps])


def _body_refusals(body: Json, instructions: str | None) -> Iterator[PlainReply]:
    for key in body:
        if key not in ALLOWED:
            yield detail(400, f"Unsupported parameter: {key}")
    if body.get("store") is not False:
        yield detail(400, "Store must be set to false")
    if body.get("stream") is not True:
        yield detail(400, "Stream must be set to true")
    if not isinstance(body.get("input"), list):
        yield detail(400, "Input must be a list")
    if not body.get("instructions"):
        yield detail(400, "Instructions are required")
    if instructions is not None and body["instructions"] != instructions:
        yield detail(400, "Instructions are not valid")
    for item in items_of(body):
        if item.get("role") == "system":
            yield detail(400, "System messages are not allowed")


def _items_told(plan: Plan) -> Iterator[Json]:
    for step in plan.steps:
        if isinstance(step, bytes) and step.startswith(b"event: response.output_item.done\n"):
            yield json.loads(step.partition(b"data: ")[2])["item"]


def detail(status: int, text: str) -> PlainReply:
    """Make an error of the gateway."""
    return refusal_with(status, {"detail": text})


def used_up(*, resets_at: float, plan: str = "plus") -> PlainReply:
    """Make the error of a plan whose window is used up until `resets_at`, in seconds since 1970."""
    message = "The usage limit has been reached"
    error = {"type": "usage_limit_reached", "message": message, "plan_type": plan, "resets_at": resets_at}
    return refusal_with(429, {"error": error})


def not_included(plan: str = "free") -> PlainReply:
    """Make the error of a plan that does not have the model."""
    message = "To use this model, upgrade your plan"
    return refusal_with(429, {"error": {"type": "usage_not_included", "message": message, "plan_type": plan}})


def rate_limits(*, primary: float, secondary: float | None = None, resets_at: int = 1_790_003_600) -> Json:
    """Make what an event of rate limits holds; windows in percent."""
    windows: dict[str, Json] = {
        "primary": {"used_percent": primary, "window_minutes": 300, "reset_at": resets_at},
        "secondary": None,
    }
    if secondary is not None:
        windows["secondary"] = {"used_percent": secondary, "window_minutes": 10_080, "reset_at": resets_at}
    return {"plan_type": "plus", "rate_limits": windows, "credits": None}
