"""Whatever a client sends and whatever plugins do: never a 500, never over the budget, upstream always valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import Interceptor, Strategy
from gateway_helpers import STOCK, Gate, gateway_to, long_talk
from http_helpers import make_app, running
from judge import request_tokens
from trimtab.config import Config, Server
from trimtab.config_server import Gateway
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab_sdk import Edit, Insert, Request, Services
from turns.six_helpers import KINDS, PIXEL, SIX

URL = "/v1/chat/completions"
BUDGET = 700
CONTEXT: dict[str, object] = {"context_limit": 800, "reserve": 100}


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, dict[str, Any]]]:
    """One gateway before the fakes of all providers, each with an alias of its name; none found a fault."""
    place = tmp_path_factory.mktemp("six") / "chats.db"
    with ExitStack() as stack:
        fakes: dict[str, Any] = {name: stack.enter_context(KINDS[name].make()) for name in SIX}
        endpoints = {
            name: {
                "driver": name,
                "base_url": fake.base_url,
                "key_variable": "TOKEN",
                "retries": 0,
                "settings": dict(KINDS[name].settings),
            }
            for name, fake in fakes.items()
        }
        aliases: Any = {name: {"provider": name, "model": KINDS[name].model} for name in SIX}
        server = Server(gateway=Gateway(models=aliases, context=CONTEXT))
        config = Config(providers=endpoints, server=server)
        app = make_app(str(place), config=config, environ={"TOKEN": "a-token"})
        gate = stack.enter_context(running(app))
        yield stack.enter_context(gate.client()), fakes
        assert {name: fake.faults for name, fake in fakes.items() if fake.faults} == {}


_WORDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40),
    st.integers(1, 300).map(lambda size: "kettle " * size),
)
_PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, _WORDS),
        st.just({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}),
    ),
    max_size=3,
)
_IDS = st.sampled_from(["c1", "c2", "call one"])
_CALL = st.builds(
    lambda name, arguments: {
        "id": name,
        "type": "function",
        "function": {"name": "stock", "arguments": arguments},
    },
    _IDS,
    st.sampled_from(["{}", '{"article": "kettle"}', "{oops", ""]),
)
_MESSAGE = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["system", "developer"]), _WORDS
    ),
    st.builds(lambda content: {"role": "user", "content": content}, st.one_of(_WORDS, _PARTS)),
    st.builds(lambda text: {"role": "assistant", "content": text}, _WORDS),
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls},
        st.one_of(st.none(), _WORDS),
        st.lists(_CALL, min_size=1, max_size=3),
    ),
    st.builds(lambda name, text: {"role": "tool", "tool_call_id": name, "content": text}, _IDS, _WORDS),
    st.builds(lambda text: {"role": "assistant", "content": text, "reasoning_content": "Hm."}, _WORDS),
)
_BODIES = st.fixed_dictionaries(
    {"messages": st.lists(_MESSAGE, min_size=1, max_size=12)},
    optional={
        "stream": st.booleans(),
        "temperature": st.floats(0, 1, width=16),
        "top_p": st.floats(0, 1, width=16),
        "max_tokens": st.integers(1, 50),
        "stop": st.sampled_from(["x", ["x", "y"]]),
        "seed": st.integers(0, 99),
        "user": st.just("ann"),
        "tools": st.just([STOCK]),
        "tool_choice": st.sampled_from(
            ["auto", "none", "required", {"type": "function", "function": {"name": "stock"}}]
        ),
        "parallel_tool_calls": st.booleans(),
        "reasoning_effort": st.sampled_from(["low", "high"]),
        "response_format": st.sampled_from([{"type": "text"}, {"type": "json_object"}]),
    },
)


@pytest.mark.parametrize("name", SIX)
def test_any_body_is_answered_within_the_budget_or_refused(
    name: str, six: tuple[httpx.Client, dict[str, Any]]
) -> None:
    client, fakes = six
    fake = fakes[name]
    scripted = 0

    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(_BODIES)
    def ask(body: dict[str, Any]) -> None:
        nonlocal scripted
        if not scripted:
            fake.say("Fine.")
            scripted = 1
        fake.faults.clear()
        before = len(fake.requests)
        answer = client.post(URL, json={**body, "model": name})
        assert answer.status_code in (200, 400), answer.text
        assert fake.faults == []
        asked = len(fake.requests) - before
        scripted -= asked
        if answer.status_code == 400:
            assert asked == 0, answer.text
            return
        assert asked == 1
        after = int(answer.headers["x-trimtab-tokens-after"])
        assert after <= BUDGET
        if name == "openai-compatible":
            check_count(json.loads(fake.requests[-1].raw), after)

    ask()


def check_count(sent: dict[str, Any], after: int) -> None:
    """The own recount of what was sent; tools, formats and pictures have no published price."""
    messages = sent["messages"]
    unpriced = {"tool_calls", "reasoning_content"}
    plain = all(isinstance(one.get("content"), str) and not unpriced & one.keys() for one in messages)
    if plain and not {"tools", "response_format"} & sent.keys():
        assert request_tokens(messages) == after


@pytest.mark.parametrize("name", SIX)
def test_a_long_conversation_is_cut_for_every_provider(
    name: str, six: tuple[httpx.Client, dict[str, Any]]
) -> None:
    client, fakes = six
    fakes[name].say("Fine.")
    answer = client.post(URL, json={"model": name, "messages": long_talk(200)})
    assert answer.status_code == 200, answer.text
    assert int(answer.headers["x-trimtab-tokens-after"]) <= BUDGET < int(answer.headers["x-trimtab-tokens-before"])
    sent = fakes[name].requests[-1].raw.decode()
    assert "And now?" in sent
    assert "Be brief." in sent


def _drops_all(request: Request, services: Services) -> Edit:
    return Edit(drop={one.id: "context-shift" for one in request.messages})


def _floods(request: Request, services: Services) -> Edit:
    return Edit(insert=[Insert("kettle " * 5000, "before_input")])


def _lies(request: Request, services: Services) -> Any:
    return {"drop": "everything"}


def _raises(request: Request, services: Services) -> Edit:
    raise RuntimeError("no")


HOSTILE = {"drops": _drops_all, "floods": _floods, "lies": _lies, "raises": _raises}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_strategy_and_interceptor_cannot_cheat_here_either(kind: str, place: str) -> None:
    registry = ContextStrategyRegistry()
    registry.register("hostile", Strategy(HOSTILE[kind]))
    registry.register_interceptor("hostile-too", Interceptor(HOSTILE[kind]))
    gateway = {"context": CONTEXT, "strategy": "hostile"}
    with gateway_to(place, gateway=gateway, registry=registry) as gate, gate.running.client() as client:
        gate.fake.say("Fine.")
        answer = client.post(URL, json={"model": "gpt-4o", "messages": long_talk(30), "stream": True})
        check_hostile(gate, answer)


def check_hostile(gate: Gate, answer: httpx.Response) -> None:
    assert answer.status_code == 200, answer.text
    account = json.loads(answer.text.strip().split("\n\n")[-2].removeprefix(": trimtab "))
    assert any(note.get("plugin") == "hostile" for note in account["notes"]), account["notes"]
    sent = gate.asked["messages"]
    assert request_tokens(sent) == account["tokensAfter"] <= BUDGET
    assert (sent[0]["content"], sent[-1]["content"]) == ("Be brief.", "And now?")
