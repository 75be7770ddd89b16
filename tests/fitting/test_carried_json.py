"""The carried edit is stored as JSON, read back with nothing believed, and goes on where it left off."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from factories import Interceptor
from held_talks import hold, say
from talks import count, insert, talk, turn
from trimtab.fitting.account import Inserted
from trimtab.fitting.carried_json import CarriedFacts, dump_carried, load_carried
from trimtab.fitting.carrying import CARRIED_REASONS, NOTHING, Carried
from trimtab.fitting.held import HeldConversation
from trimtab.fitting.placing import insert_message
from trimtab_sdk import AT_GAP, BEFORE_INPUT, Edit, Origin, Request, Services, plain_text

FACTS = CarriedFacts("mine", {"depth": 2}, "gpt-4.1", "neutral", frozenset({"m7"}), as_of=5)
IDS = [f"m{at}" for at in range(20)]
CHANGED = dict.fromkeys(IDS, 3)
NOW = replace(FACTS, as_of=9)


def summary(text: str, *covers: str, number: int = 1, before: str = "m9") -> tuple[Inserted, str]:
    taken = [f"mine:{at}" for at in range(1, number)]
    made = insert_message(text, plugin="mine", summary=bool(covers), taken=taken)
    return Inserted(made, Origin("mine", "trimtab-mine", "1.0"), True, covers), before


EXAMPLE = Carried(
    drop={"m1": "summarized", "m2": "summarized", "m4": "context-shift", "m3": "summarized"},
    shorten={"m5": {(0,): ((0, 10), (20, 30)), (2, 0): ()}},
    inserts=(summary("Crates.", "m1", "m2", "mine:2", "m3"), summary("Dry.", number=2, before="")),
    until=11,
    known=frozenset({"m1", "m2", "m3", "m4", "m15"}),
)


def dumped(carried: Carried = EXAMPLE) -> dict[str, Any]:
    """The edit as it comes back from a store."""
    return json.loads(json.dumps(dump_carried(carried, facts=FACTS, ids=IDS)))  # type: ignore[no-any-return]


def load(value: object, *, facts: CarriedFacts = NOW, changed: Mapping[str, int] = CHANGED) -> Carried | None:
    return load_carried(value, facts=facts, messages=changed)


def test_what_was_stored_comes_back() -> None:
    assert load(dumped()) == EXAMPLE
    assert load(dumped(NOTHING)) == NOTHING


def test_ids_are_stored_in_runs_by_reason() -> None:
    stored = dumped()
    assert stored["drop"] == {"summarized": [["m1", 3]], "context-shift": [["m4", 1]]}
    assert stored["inserts"][0]["covers"] == [["m1", 2], "mine:2", ["m3", 1]]
    assert stored["known"] == ["m15"]
    many = [f"message-{at}" for at in range(10_000)]
    carried = Carried(dict.fromkeys(many[1:9_000], "context-shift"), known=frozenset(many[1:9_000]))
    stored = dump_carried(carried, facts=FACTS, ids=many)
    assert len(json.dumps(stored)) < 500
    assert load(stored, changed=dict.fromkeys(many, 1)) == carried


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), st.just("[plugin x]")
)


@st.composite
def edits(draw: st.DrawFn) -> Carried:
    """Edits of a conversation of twenty messages."""
    drop = draw(st.dictionaries(st.sampled_from(IDS), st.sampled_from(sorted(CARRIED_REASONS))))
    rest = [name for name in IDS if name not in drop]
    paths: st.SearchStrategy[tuple[int, ...]] = st.one_of(
        st.tuples(st.integers(0, 3)), st.tuples(st.integers(0, 3), st.integers(0, 3))
    )
    cuts = st.dictionaries(paths, spans(), min_size=1, max_size=3)
    shorten = draw(st.dictionaries(st.sampled_from(rest), cuts, max_size=3)) if rest else {}
    told = st.lists(st.sampled_from([*drop, "mine:7", "mine:8"]), unique=True, max_size=8)
    before = st.sampled_from(["", *IDS, "nobody"])
    inserts = tuple(
        summary(draw(TEXTS), *draw(told), number=at + 1, before=draw(before))
        for at in range(draw(st.integers(0, 3)))
    )
    known = frozenset(drop) | frozenset(draw(st.lists(st.sampled_from([*IDS, "nobody"]), max_size=4)))
    return Carried(drop, shorten, inserts, draw(st.integers(0, 30)), known)


def spans() -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
    ends = st.lists(st.integers(0, 100), unique=True, max_size=6).map(sorted)
    return ends.map(lambda found: tuple(zip(found[::2], found[1::2], strict=False)))


@given(edits())
def test_every_edit_comes_back_exactly(carried: Carried) -> None:
    assert load(dumped(carried)) == carried


@pytest.mark.parametrize(
    "other",
    [
        {"strategy": "other"},
        {"settings": {"depth": 3}},
        {"settings": {}},
        {"model": "gpt-4o"},
        {"codec": "chat-completions"},
        {"pins": frozenset()},
        {"pins": frozenset({"m7", "m8"})},
        {"as_of": 4},
    ],
    ids=lambda other: next(iter(other)),
)
def test_under_other_facts_it_is_void(other: dict[str, Any]) -> None:
    assert load(dumped(), facts=replace(NOW, **other)) is None


@pytest.mark.parametrize("name", ["m1", "m4", "m5"])
def test_it_is_void_when_a_message_it_speaks_of_is_gone_or_changed_since(name: str) -> None:
    assert load(dumped(), changed={**CHANGED, name: 5}) == EXAMPLE
    assert load(dumped(), changed={**CHANGED, name: 6}) is None
    assert load(dumped(), changed={one: at for one, at in CHANGED.items() if one != name}) is None


def test_it_holds_when_other_messages_came_went_or_changed() -> None:
    assert load(dumped(), changed={**CHANGED, "m15": 8, "m16": 9, "m20": 9}) == EXAMPLE
    assert load(dumped(), changed={one: at for one, at in CHANGED.items() if one not in ("m15", "m9")}) == EXAMPLE
    assert load(dumped(), changed={"s": 9, **CHANGED}) == EXAMPLE


def test_a_run_never_comes_to_mean_other_messages() -> None:
    carried = Carried({"m1": "context-shift", "m2": "context-shift"})
    swapped = ["m0", "m1", "m3", "m2", *IDS[4:]]
    without = [one for one in IDS if one != "m2"]
    for order in (swapped, without):
        assert load(dumped(carried), changed=dict.fromkeys(order, 1)) is None


def at(path: Sequence[object], value: object) -> Callable[[dict[str, Any]], None]:
    def put(stored: dict[str, Any]) -> None:
        inner: Any = stored
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value

    return put


WRONG = [
    at(["version"], 2),
    at(["version"], True),
    at(["asOf"], -1),
    at(["asOf"], "5"),
    at(["until"], 1.0),
    at(["ids"], ""),
    at(["known"], [1]),
    at(["more"], 1),
    at(["drop"], []),
    at(["drop", "current-input"], []),
    at(["drop", "context-shift"], [["m4", 2]]),
    at(["drop", "context-shift"], [["m4", 0]]),
    at(["drop", "context-shift"], [["m4", 10**30]]),
    at(["drop", "context-shift"], [["nobody", 1]]),
    at(["drop", "context-shift"], ["m4"]),
    at(["drop", "context-shift"], [["m4", 1], ["m1", 1]]),
    at(["drop", "context-shift"], [["m6", 1]]),
    at(["shorten", 0, 0], "m1"),
    at(["shorten", 0, 0], "nobody"),
    at(["shorten", 0, 0], ["m5"]),
    at(["shorten", 0, 1], []),
    at(["shorten", 0, 1, 0, 0], []),
    at(["shorten", 0, 1, 0, 0], [-1]),
    at(["shorten", 0, 1, 0, 0], [0, 0, 0]),
    at(["shorten", 0, 1, 0, 0], [2, 0]),
    at(["shorten", 0, 1, 0, 1], [[5, 5]]),
    at(["shorten", 0, 1, 0, 1], [[5, 9], [8, 12]]),
    at(["inserts", 0, "id"], "m9"),
    at(["inserts", 0, "id"], "other:1"),
    at(["inserts", 0, "id"], "mine:x"),
    at(["inserts", 0, "id"], "mine:2"),
    at(["inserts", 0, "text"], "Do as I say."),
    at(["inserts", 0, "text"], "[summary of earlier messages by plugin other]\nx\n[end of plugin other]"),
    at(["inserts", 0, "text"], "[summary of earlier messages by plugin mine]\n\ud83d\n[end of plugin mine]"),
    at(["inserts", 0, "summary"], False),
    at(["inserts", 0, "summary"], 1),
    at(["inserts", 0, "covers"], [["m1", 2], "m3"]),
    at(["inserts", 0, "covers"], [["m1", 3], ["m1", 1]]),
    at(["inserts", 0, "covers"], [["m9", 1]]),
    at(["inserts", 0, "before"], None),
    at(["inserts", 0, "role"], "user"),
]


@pytest.mark.parametrize("spoil", WRONG, ids=range(len(WRONG)))
def test_what_is_malformed_is_void(spoil: Callable[[dict[str, Any]], None]) -> None:
    stored = dumped()
    spoil(stored)
    assert load(stored) is None


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [["m1", 1]]])
def test_what_is_no_edit_at_all_is_void(value: object) -> None:
    assert load(value) is None


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(IDS)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def places_in(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The path of every value inside a JSON value."""
    items: Sequence[tuple[object, object]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    if isinstance(value, list):
        items = list(enumerate(value))
    return [path] * bool(path) + [found for key, inner in items for found in places_in(inner, (*path, key))]


@settings(max_examples=300)
@given(st.data())
def test_whatever_stands_in_its_place_it_is_void_or_an_edit_of_these_messages(data: st.DataObject) -> None:
    stored = deepcopy(dumped())
    at(data.draw(st.sampled_from(places_in(stored))), data.draw(JSON))(stored)
    carried = load(stored)
    if carried is None:
        return
    assert carried.drop == EXAMPLE.drop
    assert carried.shorten.keys() <= CHANGED.keys() - carried.drop.keys()
    for one, _ in carried.inserts:
        assert (one.message.role, one.origin.plugin) == ("system", "mine")
        assert plain_text(one.message).endswith("[end of plugin mine]")


def restored(held: HeldConversation, *, as_of: int) -> HeldConversation:
    """The same conversation in another process: the messages, and the edit as the store gives it back."""
    stored = json.loads(json.dumps(dump_carried(held.carried, facts=held.facts(as_of=as_of), ids=held.ids)))
    carried = load_carried(stored, facts=held.facts(as_of=as_of), messages=dict.fromkeys(held.ids, as_of))
    assert carried == held.carried
    return HeldConversation(held.setup, held.decoded, costs=held.new_costs(), carried=carried)


def drop_logs(request: Request, services: Services) -> Edit:
    free = [one.id for one in request.messages if one.id.endswith("5") and one.id not in request.protected]
    return Edit(drop=dict.fromkeys(free, "interceptor"))


def shorten_all(request: Request, services: Services) -> Edit:
    free = [one for one in request.messages if one.id not in request.protected and one.source == "history"]
    return Edit(shorten={(one.id, (0,)): [(0, 40)] for one in free if len(plain_text(one)) > 40})


def talk_of_the_gap(request: Request, services: Services) -> Edit:
    return insert(f"{len(request.messages)} messages so far.", AT_GAP)


def talk_at_the_input(request: Request, services: Services) -> Edit:
    return insert(f"{len(request.messages)} messages so far.", BEFORE_INPUT)


def exchange(number: int) -> list[dict[str, Any]]:
    """A turn with a tool call, its result and an answer."""
    call = {"id": f"call{number}", "name": "look", "arguments": {"crate": number}}
    return [
        {"id": f"c{number}", "role": "assistant", "content": "", "tool_calls": [call]},
        {
            "id": f"r{number}",
            "role": "tool",
            "tool_call_id": call["id"],
            "content": f"Crate {number} is dry. " * 12,
        },
        turn(f"a{number}", "assistant"),
        turn(f"u{number}", "user", f"And what of crate {number}?"),
    ]


def compare(straight: HeldConversation, turns: Sequence[Sequence[object]]) -> list[trimtab.Fit]:
    """Talk on with one conversation, and with one that is stored and read back after each turn."""
    resumed = straight.fork()
    fits = []
    for number, fresh in enumerate(turns):
        say(straight, *fresh)
        say(resumed, *fresh)
        wanted, found = straight.fit(), resumed.fit()
        assert json.dumps(found.encoded.messages) == json.dumps(wanted.encoded.messages)
        assert found.encoded.request == wanted.encoded.request
        assert found.fit == wanted.fit
        assert found.left == wanted.left
        fits.append(wanted.fit)
        resumed = restored(resumed, as_of=number)
    return fits


ANSWERS = [None, drop_logs, shorten_all, talk_of_the_gap, talk_at_the_input]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda one: getattr(one, "__name__", "none"))
@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [("truncate", {}), ("truncate", {"shorten_messages": True}), ("summarize", {}), ("vector-recall", {})],
    ids=str,
)
def test_a_conversation_that_was_stored_after_each_turn_goes_on_as_one_that_was_held(
    strategy: str, wanted: dict[str, Any], answer: Callable[[Request, Services], Edit] | None
) -> None:
    registry = trimtab.ContextStrategyRegistry()
    if answer is not None:
        registry.register_interceptor("tap", Interceptor(answer))
    chat = talk(60)
    straight = hold(chat, count(chat) * 2 // 3, strategy=strategy, settings=wanted, registry=registry)
    fits = compare(straight, [exchange(number) for number in range(24)])
    calls = sum(call.plugin == strategy for fit in fits for call in fit.calls)
    assert 2 <= calls < len(fits)


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
def test_reasoning_that_is_bound_to_its_prefix_is_treated_alike(strategy: str) -> None:
    def said(number: int) -> list[dict[str, Any]]:
        thought = {"type": "thinking", "thinking": f"thought {number}", "signature": f"c2ln{number}"}
        answer = {"type": "text", "text": f"answer {number}: " + "The quay clerk wrote down each crate. " * 6}
        alone = [{"role": "assistant", "content": [thought]}] if number % 3 == 0 else []
        return [
            *alone,
            {"role": "assistant", "content": [thought, answer]},
            {"role": "user", "content": f"question {number}"},
        ]

    body = {"system": "Be brief.", "messages": [{"role": "user", "content": "Hello."}]}
    straight = hold(body, 700, strategy=strategy, format="anthropic-messages")
    fits = compare(straight, [said(number) for number in range(24)])
    assert sum("thinking" in json.dumps(fit.messages) for fit in fits) > 5
    assert any(one.code == "wire-rule" for fit in fits for one in fit.diagnostics)
