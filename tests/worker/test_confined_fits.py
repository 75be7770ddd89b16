"""Whole fits: a plugin gives the same fit in a worker as in the host's process, and its scope is its own."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import trimtab
from conversations import neutral_chats
from talks import codes, fit, talk, turn
from trimtab.config import Config
from trimtab.conversion import convert
from trimtab.loading.plugins import INTERCEPT, SHIFT, Plugin, make_plugin
from trimtab.loading.registry import INTERCEPTORS, STRATEGIES, ContextStrategyRegistry
from trimtab.loading.worker.calling import load_confined
from trimtab.loading.worker.pool import worker_pool
from trimtab.loading.worker.spec import WorkerSpec
from trimtab_sdk import InvalidRequestError, PluginCrashedError, TokenBudgetExceededError
from trimtab_sdk.errors import Origin
from worker.confined_plugins import REACH, bounds, module, plugin

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
# Tells in a note everything that it sees, so that two fits are equal only if it saw the same.
WITNESS = """
import hashlib
from trimtab_sdk import BEFORE_INPUT, AT_GAP, before, texts_of

SEEN = {
    "Text": ("text",), "Image": ("media_type", "width", "height"), "File": ("media_type",), "Audio": ("format",),
    "ToolCall": ("call_id", "name", "arguments"), "ToolResult": ("call_id", "is_error"), "Unknown": (),
    "ApprovalRequest": ("approval_id", "call_id"), "ApprovalResponse": ("approval_id", "approved"),
    "Reasoning": ("text", "tokens"), "Compaction": ("provider", "covers"), "Notice": ("kind",),
}

def part_seen(part):
    kind = type(part).__name__
    inner = getattr(part, "content", "")
    more = inner if isinstance(inner, str) else [part_seen(one) for one in inner]
    return [kind, [repr(getattr(part, name)) for name in SEEN[kind]], more]

def message_seen(one):
    flags = (one.name, one.source, one.pinned, one.required, one.ephemeral, one.relevance)
    return [one.id, one.role, *map(repr, flags), [part_seen(part) for part in one.parts]]

def witness(request, services):
    figures = (request.budget, request.target, request.total, request.overhead, request.query)
    texts = [text for one in request.messages for _, text in texts_of(one)][:3]
    seen = [
        figures, dict(request.settings), [message_seen(one) for one in request.messages],
        [tuple(group) for group in request.groups], dict(request.tokens), sorted(request.protected),
        [(services.count(text), request.cost_of_insert(text)) for text in texts],
        [services.can(name) for name in ("count", "embed", "complete")],
    ]
    return hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).hexdigest()
"""
SHIFTS = """
@hookimpl
def trimtab_shift(request, services):
    drop, shorten, total = {}, {}, request.total
    free = [group for group in request.groups if request.protected.isdisjoint(group.ids)]
    for at, group in enumerate(free):
        if total <= request.target:
            break
        if at % 3 == 2 or "r1" in group.ids:
            for name in group.ids:
                message = next(one for one in request.messages if one.id == name)
                for path, text in texts_of(message):
                    if len(text) > 20:
                        shorten[name, path] = [(0, 5), (9, len(text) // 2)]
            continue
        drop |= dict.fromkeys(group.ids, ["context-shift", "low-relevance", "my own word"][at % 3])
        total -= group.tokens
    inserts = [Insert(f"{len(drop)} left: 漢字 🙂", AT_GAP, sorted(drop))] if drop else []
    return Edit(
        drop, shorten, inserts, [group.ids[0] for group in free[-1:] if group.ids[0] not in drop],
        [witness(request, services)],
    )
"""
INTERCEPTS = """
@hookimpl
def trimtab_intercept(request, services):
    free = [one for one in request.messages if one.id not in request.protected]
    anchor = before(free[0].id) if free else BEFORE_INPUT
    return Edit(insert=[Insert(f"Stay with {request.query[:9]!r}.", anchor)], notes=[witness(request, services)])
"""


def as_module(spec: WorkerSpec) -> object:
    """The same source, imported here."""
    found = importlib.util.spec_from_file_location(spec.module, Path(spec.paths[0], f"{spec.module}.py"))
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def confined(spec: WorkerSpec, name: str) -> Plugin:
    spec = WorkerSpec(Origin(name, "trimtab-odd", "1.0"), spec.module, spec.attribute, spec.hook, spec.paths)
    return Plugin(spec.origin, {}, load_confined(worker_pool(), spec, bounds()).traits, spec)


def registry_of(*plugins: Plugin) -> ContextStrategyRegistry:
    registry = ContextStrategyRegistry()
    for one in plugins:
        hook = one.confined.hook if one.confined is not None else next(iter(one.hooks))
        group = STRATEGIES if hook == SHIFT else INTERCEPTORS
        registry._add(group, one.origin.plugin, one, replace=False)
    return registry


def both_ways(folder: Path) -> tuple[ContextStrategyRegistry, ContextStrategyRegistry]:
    """A registry in which the two plugins run here, and one in which they run confined."""
    shifts = module(folder, WITNESS + SHIFTS, name="shifts")
    intercepts = module(folder, WITNESS + INTERCEPTS, hook=INTERCEPT, name="intercepts")
    here = [
        make_plugin(as_module(spec), Origin(name, "trimtab-odd", "1.0"), hook=spec.hook)
        for spec, name in ((shifts, "shifter"), (intercepts, "reminder"))
    ]
    return registry_of(*here), registry_of(confined(shifts, "shifter"), confined(intercepts, "reminder"))


@pytest.fixture(scope="module")
def registries(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[ContextStrategyRegistry, ContextStrategyRegistry]:
    return both_ways(tmp_path_factory.mktemp("both"))


def outcome(data: object, registry: ContextStrategyRegistry, limit: int, **options: Any) -> object:
    """Everything a fit tells but its calls, or the error that it ends with."""
    try:
        result = trimtab.fit(
            data,
            model="gpt-4.1",
            context_limit=limit,
            reserve=0,
            strategy="shifter",
            registry=registry,
            scope="one conversation",
            **options,
        )
    except (TokenBudgetExceededError, InvalidRequestError) as error:
        return error.to_dict()
    told = result.to_dict()
    assert not [code for code in codes(result) if code.startswith("PLUGIN_")]
    calls = told.pop("calls")
    assert isinstance(calls, list)
    acts = [{key: one[key] for key in ("plugin", "hook", "dropped", "shortened", "inserted")} for one in calls]
    return told, acts, result.messages, result.request


def example(name: str) -> object:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def whole(data: object) -> int:
    return trimtab.fit(data, model="gpt-4.1", context_limit=10_000_000, reserve=0).tokens_before


@pytest.mark.parametrize(
    "name",
    ["agent-run.jsonl", "neutral-story.json", "request-body.json", "small-chat.json", "support-chat.json"],
)
def test_an_example_is_fitted_the_same_here_and_confined(
    registries: tuple[ContextStrategyRegistry, ContextStrategyRegistry], name: str
) -> None:
    here, apart = registries
    data = example(name)
    limit = whole(data) // 2

    fitted = outcome(data, here, limit)

    assert isinstance(fitted, tuple)
    assert [act["plugin"] for act in fitted[1]] == ["shifter", "reminder"]
    assert outcome(data, apart, limit) == fitted


@pytest.mark.parametrize(
    "form",
    [
        *["anthropic-messages", "chat-completions", "gemini-contents", "gemini-interactions"],
        *["neutral", "openai-responses"],
    ],
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(chat=neutral_chats(max_size=16), share=st.floats(0.3, 1.0))
def test_any_conversation_in_any_format_is_fitted_the_same_here_and_confined(
    registries: tuple[ContextStrategyRegistry, ContextStrategyRegistry],
    form: str,
    chat: list[dict[str, Any]],
    share: float,
) -> None:
    here, apart = registries
    converted = convert(chat, to=form, format="neutral", model="gpt-4.1")
    data = converted.request if converted.request is not None else converted.messages
    cost = outcome(data, here, 1_000_000, format=form)
    assume(isinstance(cost, tuple))
    assert isinstance(cost, tuple)
    limit = max(20, int(cost[0]["tokensBefore"] * share))

    assert outcome(data, apart, limit, format=form) == outcome(data, here, limit, format=form)


PICTURE = {"type": "image", "data": "iVBORw0KGgo="}


def rich() -> object:
    """Pictures between texts, in results too, names, pins, flags, an orphan, an open call."""
    words = "The quay clerk wrote down each crate, its mark and the hour. 船は港に着いた。🙂 " * 4
    return [
        turn("s", "system", "Be brief."),
        turn("p", "system", words, kind="persona"),
        turn("l", "system", words, kind="lorebook", relevance=0.25, ephemeral=True),
        turn("m", "system", words, kind="memory", relevance=0.75, meta={"shelf": 3}),
        {"id": "u1", "role": "user", "name": "Mia", "content": [{"type": "text", "text": words}, PICTURE]},
        turn("c1", "assistant", None, tool_calls=[{"id": "1", "name": "look", "arguments": {"at": "quay"}}]),
        {
            "id": "r1",
            "role": "tool",
            "tool_call_id": "1",
            "content": [{"type": "text", "text": words}, PICTURE, {"type": "text", "text": words}],
        },
        turn("r0", "tool", words, tool_call_id="nobody asked"),
        turn("a1", "assistant", words, pinned=True),
        *(turn(f"x{at}", "user" if at % 2 else "assistant", words) for at in range(6)),
        turn("c2", "assistant", None, tool_calls=[{"id": "2", "name": "look", "arguments": "{broken"}]),
        turn("u2", "user", "And now?"),
    ]


def test_a_rich_conversation_is_fitted_the_same_here_and_confined(
    registries: tuple[ContextStrategyRegistry, ContextStrategyRegistry],
) -> None:
    here, apart = registries
    data = rich()

    fitted = outcome(data, here, whole(data) * 2 // 3, format="neutral", pins=["x3"])

    assert isinstance(fitted, tuple)
    assert fitted[1][0]["dropped"] > 0
    assert "r1" in [entry["id"] for entry in fitted[0]["truncated"]]
    assert fitted[1][0]["inserted"] == fitted[1][1]["inserted"] == 1
    assert outcome(data, apart, whole(data) * 2 // 3, format="neutral", pins=["x3"]) == fitted


TAKES_WORDS = """
@hookimpl
def trimtab_traits():
    return Traits(
        settings_schema={"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]},
        per_turn=True, needs=("count",),
    )

@hookimpl
def trimtab_shift(request, services):
    return Edit(notes=[repr(dict(request.settings))])
"""


def test_traits_and_settings_work_the_same_confined(tmp_path: Path) -> None:
    registry = registry_of(confined(module(tmp_path, TAKES_WORDS), "worded"))

    result = fit(talk(), 10_000, strategy="worded", registry=registry, settings={"words": 5})

    assert [note.message for note in result.diagnostics] == ["{'words': 5}"]
    with pytest.raises(InvalidRequestError, match=r"settings\.words of worded: 'five' is not of type 'integer'"):
        fit(talk(), 10_000, strategy="worded", registry=registry, settings={"words": "five"})


def test_a_confined_call_is_told_in_the_report_with_what_it_asked_and_printed(tmp_path: Path) -> None:
    body = (
        r"print('\x1b[31mred', 'x' * 9000); services.count('a'); request.cost_of_insert('b'); os.write(2, b'end')"
    )
    registry = registry_of(confined(plugin(tmp_path, body, head=REACH), "chatty"))

    result = fit(talk(), 200, strategy="chatty", registry=registry)

    (call,) = result.calls
    assert (call.plugin, call.distribution, call.version) == ("chatty", "trimtab-odd", "1.0")
    assert call.confined
    assert call.asked == 2
    assert call.output.startswith("[31mred xxx")
    assert len(call.output) <= 500
    assert call.output.isprintable()


FAULTS = {
    "a crash": ("1 / 0", "PLUGIN_CRASHED"),
    "the end of its process": ("os._exit(1)", "PLUGIN_CRASHED"),
    "a loop": ("while True: pass", "PLUGIN_TIMEOUT"),
    "half a character": (r"return Edit(notes=['\ud800'])", "PLUGIN_REJECTED"),
    "an id of nobody": ("return Edit(drop={'nobody': 'context-shift'})", "PLUGIN_REJECTED"),
    "a span that is a bool": ("return Edit(shorten={('m0', (0,)): [(False, True)]})", "PLUGIN_REJECTED"),
    "a span without end": ("return Edit(shorten={('m0', (0,)): [(0, 10**299)]})", "PLUGIN_REJECTED"),
    "a reason that is a number": ("return Edit(drop={'m0': 1})", "PLUGIN_REJECTED"),
    "a giant text": ("return Edit(insert=[Insert('x' * 2_000_000)])", "PLUGIN_REJECTED"),
    "what must stay": ("return Edit(drop={'s': 'context-shift'})", "PROTECTED_CONTEXT_REMOVED"),
    "a giant question": ("send(kind='ask', service='cost', value='x' * 600_000)", "PLUGIN_REJECTED"),
    "a forged frame": ("send(kind='locked')", "PLUGIN_REJECTED"),
}


@pytest.mark.parametrize(("body", "code"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_confined_strategy_is_named_and_the_hosts_own_shift_answers(
    tmp_path: Path, body: str, code: str
) -> None:
    registry = registry_of(confined(plugin(tmp_path, body, head=REACH), "faulty"))
    config = Config(limits={"faulty": {"seconds": 1}})

    result = fit(talk(), 200, strategy="faulty", registry=registry, config=config)

    (remark,) = [one for one in result.diagnostics if one.code == code]
    assert (remark.plugin, remark.distribution, remark.version) == ("faulty", "trimtab-odd", "1.0")
    assert "the host's own shift answered in its place" in remark.message
    assert result.tokens_after <= 200
    assert [call.rejected for call in result.calls] == [code]


def test_a_faulty_confined_interceptor_is_skipped(tmp_path: Path) -> None:
    spec = plugin(tmp_path, "raise SystemExit", hook=INTERCEPT)
    registry = registry_of(confined(spec, "faulty"))

    result = fit(talk(), 10_000, registry=registry)

    assert codes(result) == ["PLUGIN_CRASHED"]
    assert "it was skipped" in result.diagnostics[0].message


def test_with_on_violation_error_the_fit_ends_with_the_authors_traceback(tmp_path: Path) -> None:
    registry = registry_of(confined(plugin(tmp_path, "{}['shelf']"), "faulty"))
    config = Config(on_violation="error")

    with pytest.raises(PluginCrashedError) as caught:
        fit(talk(), 200, strategy="faulty", registry=registry, config=config)

    assert "KeyError: 'shelf'" in caught.value.__notes__[0]


SPY = """
@hookimpl
def trimtab_intercept(request, services):
    seen.append(services.count("the word"))
    return Edit(notes=[f"{len(seen)} calls", f"{services.can('count')} {dict(request.messages[0].meta)}"])
"""


def notes(result: trimtab.Fit) -> list[str]:
    return [one.message for one in result.diagnostics if one.code == "note"]


def test_a_plugin_sees_nothing_of_another_scope_in_whole_fits(tmp_path: Path) -> None:
    registry = registry_of(confined(module(tmp_path, "seen = []" + SPY, hook=INTERCEPT), "spy"))
    scopes = ["a", "b", "a", None, None, "b"]

    seen = [notes(fit(talk(), 10_000, registry=registry, scope=scope))[0] for scope in scopes]

    assert seen == ["1 calls", "1 calls", "2 calls", "1 calls", "1 calls", "2 calls"]


def test_a_conversation_has_a_scope_of_its_own_which_ends_with_it(tmp_path: Path) -> None:
    registry = registry_of(confined(module(tmp_path, "seen = []" + SPY, hook=INTERCEPT), "spy"))
    first, second = (
        trimtab.Conversation(
            talk(), model="gpt-4.1", context_limit=10_000, registry=registry, format="neutral", target=1
        )
        for _ in range(2)
    )

    told = [notes(one.fit())[0] for one in (first, second, first)]

    assert told == ["1 calls", "1 calls", "2 calls"]
    first.close()
    second.close()


def test_what_is_granted_is_given_and_nothing_else(tmp_path: Path) -> None:
    registry = registry_of(confined(module(tmp_path, "seen = []" + SPY, hook=INTERCEPT), "spy"))
    chat = [turn("s", "system", "Be brief.", meta={"mood": "glad", "owner": "Mia"}), *talk()[1:]]
    grant = Config(grants={"spy": {"meta": ["mood"]}})
    nothing = Config(grants={"spy": {"services": []}})

    assert notes(fit(chat, 10_000, registry=registry, config=grant))[1] == "True {'mood': 'glad'}"
    assert codes(fit(chat, 10_000, registry=registry, config=nothing)) == ["PLUGIN_CRASHED"]


class Clerk:
    """A tokenizer that remembers what it was asked to count."""

    profile = "clerk"
    version = "1"
    approximate = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_no_plugin_learns_from_the_clock_what_was_counted_before(tmp_path: Path) -> None:
    source = """
@hookimpl
def trimtab_intercept(request, services):
    services.count("the word")
    request.cost_of_insert("an insert")
"""
    first, second = (confined(module(tmp_path, source, hook=INTERCEPT), name) for name in ("first", "second"))
    registry = registry_of(first, second)
    clerk = Clerk()
    registry.register_tokenizer("clerk", clerk)
    config = Config(models={"m": {"encoding": "clerk", "context_limit": 10_000}})
    chat = [turn("u", "user", "the word")]

    for scope in ("a", "b", "a", None):
        trimtab.fit(chat, model="m", registry=registry, config=config, format="neutral", scope=scope)

    # Once by the host, then anew for each plugin in each scope, and anew in a fit without one.
    assert clerk.asked.count("the word") == 1 + 2 * 3
    labelled = [text for text in clerk.asked if "an insert" in text]
    assert len(labelled) == 2 * 3
