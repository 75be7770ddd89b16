"""What each field of `expect` means for a story of turns: of one of its turns, or of all.

A field of the case itself is checked of the last turn that ran; one of a step, of the turn of that step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from case_checks import LEEWAY, NEAREST_VOCABULARY
from case_counting import count_request
from case_files import Json, dump
from case_turns_cursors import decided, degradations, refused_as, replayed_once
from case_turns_fakes import Sent
from case_turns_story import KILLED, Story, Told, core, is_notice, says
from case_viewers import views_of
from case_views import View, strings_in
from trimtab_sdk import plain_text

StoryCheck: TypeAlias = Callable[[Story, Told, Json], None]

_ENDED_BADLY = frozenset({"turn_failed", "turn_cancelled", KILLED})


def check_story_fields(story: Story) -> None:
    """Check every field of the case and of its steps. A field without a check is a KeyError."""
    for field, value in story.expect.items():
        STORY_CHECKS[field](story, story.last, value)
    for told in story.told:
        for field, value in told.expect.items():
            STORY_CHECKS[field](story, told, value)


def _at(story: Story, told: Told) -> str:
    return f"{story.label} turn {told.name}"


def _outcome(story: Story, told: Told, value: Json) -> None:
    if value == "error_in_stream":
        assert any(one.outcome in _ENDED_BADLY for one in story.told), story.label
        assert all(one.error is None for one in story.told), story.label
        return
    assert value == "ok", f"{story.label}: no outcome of turns: {value}"
    assert told.outcome == "turn_completed", f"{_at(story, told)}: {told.outcome} {told.turn}"


def _provider(story: Story, told: Told, value: Json) -> None:
    assert told.the_audit.provider == value, _at(story, told)
    assert told.turn is not None
    assert told.turn.provider == value, _at(story, told)


def _turn_outcomes(story: Story, told: Told, value: Json) -> None:
    for name, outcome in value.items():
        assert story.turn(name).outcome == outcome, f"{_at(story, story.turn(name))}: {story.turn(name).outcome}"


def _error_codes(story: Story, told: Told, value: Json) -> None:
    for name, code in value.items():
        turn = story.turn(name)
        ended = turn.events[-1].to_dict()
        assert ended["code"] == code, f"{_at(story, turn)}: {ended}"
        assert turn.turn is not None
        assert turn.turn.error is not None
        assert turn.turn.error["code"] == code, _at(story, turn)


def _parallel_error_code(story: Story, told: Told, value: Json) -> None:
    codes = [one.outcome for one in story.told if one.error is not None]
    assert codes, f"{story.label}: no turn was refused"
    assert set(codes) == {value}, f"{story.label}: {codes}"


def _finish(story: Story, told: Told, value: Json) -> None:
    """Why the answers ended: in the last event and in the store."""
    for name, finish in value.items():
        turn = story.turn(name)
        assert turn.events[-1].to_dict()["finish"] == finish, _at(story, turn)
        assert turn.turn is not None
        assert turn.turn.finish == finish, _at(story, turn)


def _final_text(story: Story, told: Told, value: Json) -> None:
    for name, text in value.items():
        turn = story.turn(name)
        assert turn.text == text, f"{_at(story, turn)}: {turn.text!r}"
        if turn.outcome == "turn_completed":
            assert plain_text(turn.stored[-1].message) == text, _at(story, turn)


def _provider_calls(story: Story, told: Told, value: Json) -> None:
    """Requests of turns whose process died are counted too."""
    calls = sum(len(one.sent) for one in story.told)
    assert calls == value, f"{story.label}: {calls} requests"


def _requests_per_turn(story: Story, told: Told, value: Json) -> None:
    asked = {name: len(story.turn(name).sent) for name in value}
    assert asked == value, f"{story.label}: {asked}"


def _requests_at_most(story: Story, told: Told, value: Json) -> None:
    asked = {name: len(story.turn(name).sent) for name in value}
    assert all(asked[name] <= value[name] for name in value), f"{story.label}: {asked}"


def _tool_runs(story: Story, told: Told, value: Json) -> None:
    """A number for all tools, or one for each."""
    ran = [name for one in story.told for name in one.tool_runs]
    if isinstance(value, int):
        assert len(ran) == value, f"{story.label}: {ran}"
    else:
        assert {name: ran.count(name) for name in {*ran, *value}} == value, f"{story.label}: {ran}"


def _provider_requests(story: Story, told: Told, value: Json) -> None:
    for wanted in value:
        turn = story.turn(wanted["turn"])
        assert len(turn.sent) >= wanted["n"], f"{_at(story, turn)}: {len(turn.sent)} requests"
        sent = turn.sent[wanted["n"] - 1]
        for key, inner in wanted.items():
            if key not in ("turn", "n"):
                _REQUEST_CHECKS[key](story, sent, inner)


def _sent_at(story: Story, where: Json) -> Sent:
    sent: tuple[Sent, ...] = story.turn(where["turn"]).sent
    at: int = where["n"]
    return sent[at - 1]


def _has(story: Story, sent: Sent, value: Json) -> None:
    assert {key: sent.body.get(key) for key in value} == value, story.label


def _has_keys(story: Story, sent: Sent, value: Json) -> None:
    assert set(value) <= sent.body.keys(), f"{story.label}: {sorted(sent.body)}"


def _has_not(story: Story, sent: Sent, value: Json) -> None:
    assert not set(value) & sent.body.keys(), f"{story.label}: {sorted(sent.body)}"


def _contains_text(story: Story, sent: Sent, value: Json) -> None:
    for text in value:
        assert holds(sent, text), f"{story.label}: {text!r} is not sent"


def _lacks_text(story: Story, sent: Sent, value: Json) -> None:
    for text in value:
        assert not holds(sent, text), f"{story.label}: {text!r} is sent"


def _begins_with(story: Story, sent: Sent, value: Json) -> None:
    """The messages are those of another request, or so many of them, with more behind them; byte for byte."""
    before = _sent_at(story, value).messages
    before = before[: value.get("messages", len(before))]
    assert dump(sent.messages[: len(before)]) == dump(before), f"{story.label}: not the messages of {value}"
    assert len(sent.messages) > len(before), f"{story.label}: nothing was added to {value}"


def _sees(story: Story, sent: Sent, value: Json) -> None:
    for text in value:
        assert _shows(sent, text), f"{story.label}: the model does not see {text!r}"


def _sees_not(story: Story, sent: Sent, value: Json) -> None:
    for text in value:
        assert not _shows(sent, text), f"{story.label}: the model sees {text!r}"


def _shows(sent: Sent, text: str) -> bool:
    """Tell whether a text stands anywhere in what the model sees, held by the server or sent."""
    return any(text in one for one in strings_in([sent.head, sent.whole]))


def _same_as(story: Story, sent: Sent, value: Json) -> None:
    assert sent.raw == _sent_at(story, value).raw, f"{story.label}: not the request of {value}"


_REQUEST_CHECKS: Mapping[str, Callable[[Story, Sent, Json], None]] = {
    "must_have": _has,
    "must_have_keys": _has_keys,
    "must_not_have": _has_not,
    "must_contain_text": _contains_text,
    "must_not_contain_text": _lacks_text,
    "model_sees": _sees,
    "model_sees_not": _sees_not,
    "begins_with": _begins_with,
    "same_as": _same_as,
}


def holds(sent: Sent, text: str) -> bool:
    """Tell whether a text stands anywhere in what a request says."""
    return any(text in one for one in strings_in([sent.head, sent.messages]))


def _must_have(story: Story, told: Told, value: Json) -> None:
    _has(story, told.last_sent, value)


def _must_contain(story: Story, told: Told, value: Json) -> None:
    _contains_text(story, told.last_sent, value)


def _must_lack(story: Story, told: Told, value: Json) -> None:
    _lacks_text(story, told.last_sent, value)


def _must_keep(story: Story, told: Told, value: Json) -> None:
    """The audit has the message, and the request says what the store has of it, and what the case gave."""
    sent = [core(view) for view in told.last_sent.views]
    for name in value:
        stored = story.stored(name)
        block = told.block(stored.message.id)
        assert block is not None, f"{_at(story, told)}: {name} is not in the audit"
        assert block.change is None or block.change.kind == "repaired", (
            f"{_at(story, told)}: {name}: {block.change}"
        )
        assert sent.count(core(says(stored.message))) >= 1, f"{_at(story, told)}: {name} is not sent, or changed"
        for given in _given(story, name):
            assert core(given) in sent, f"{_at(story, told)}: {name} is not sent as it was given"


def _given(story: Story, name: Json) -> list[View]:
    """Give the view of a message as the case gives it; none in a scenario."""
    case = story.case
    if "messages" not in case.data:
        return []
    keys = [one["id"] if case.format == "neutral" else at for at, one in enumerate(case.messages)]
    return views_of([case.messages[keys.index(case.key(name))]], case.format)


def _must_exclude(story: Story, told: Told, value: Json) -> None:
    sent = [core(view) for view in told.last_sent.views]
    twins = [core(says(one.message)) for one in told.stored if told.block(one.message.id) is not None]
    for name in value:
        stored = story.stored(name)
        assert told.block(stored.message.id) is None, f"{_at(story, told)}: {name} is in the audit"
        said = core(says(stored.message))
        assert sent.count(said) == twins.count(said), f"{_at(story, told)}: {name} is sent"


def _order(story: Story, told: Told, value: Json) -> None:
    """The order of the request; `input order` is that of the case's messages."""
    if value == "input order":
        case = story.case
        value = [one["id"] if case.format == "neutral" else at for at, one in enumerate(case.messages)]
    wanted = [story.ids[story.key(name)] for name in value]
    blocks = [block.id for block in told.the_audit.blocks if block.id in wanted]
    assert blocks == wanted, f"{_at(story, told)}: {blocks}"
    said = [core(says(story.known[one].message)) for one in wanted]
    assert [one for one in map(core, told.last_sent.views) if one in said] == said, _at(story, told)


def _reasons(story: Story, told: Told, value: Json) -> None:
    left = {one.id: one.reason for one in told.the_audit.left_out}
    for name, allowed in value.items():
        assert left.get(story.ids[story.key(name)]) in allowed, f"{_at(story, told)}: {name}: {left}"


def _because(story: Story, told: Told, value: Json) -> None:
    for name, reason in value.items():
        block = told.block(story.ids[story.key(name)])
        assert block is not None
        assert block.reason == reason, f"{_at(story, told)}: {name}: {block.reason}"


def _inserted(story: Story, told: Told, value: Json) -> None:
    changes = [block.change for block in told.the_audit.blocks]
    names = sorted(one.plugin for one in changes if one is not None and one.kind == "inserted")
    assert names == sorted(value), f"{_at(story, told)}: {names}"


def _needs_trim(story: Story, told: Told, value: Json) -> None:
    assert value is True
    audit = told.the_audit
    assert audit.tokens_before > audit.budget.available, f"{_at(story, told)}: not over the budget"
    assert audit.left_out, f"{_at(story, told)}: nothing was left out"


def _max_tokens(story: Story, told: Told, value: Json) -> None:
    audit = told.the_audit
    assert audit.recount <= value, f"{_at(story, told)}: {audit.recount}"
    profile, leeway = (
        (NEAREST_VOCABULARY, LEEWAY) if audit.tokenizer.approximate else (audit.tokenizer.profile, 1.0)
    )
    assert count_request(told.last_sent.views, profile).tokens <= value * leeway, _at(story, told)


def _first_role_in(story: Story, told: Told, value: Json) -> None:
    assert told.last_sent.views[0].role in value, _at(story, told)


def _audit(story: Story, told: Told, value: Json) -> None:
    """Turn → sentences about its audit, each of a form that is known here."""
    for name, sentences in value.items():
        for sentence in sentences:
            _check_sentence(story.turn(name), sentence)


def _check_sentence(told: Told, sentence: str) -> None:
    for pattern, check in _SENTENCES.items():
        found = pattern.fullmatch(sentence)
        if found:
            assert check(told, found), f"turn {told.name}: {sentence!r} does not hold: {told.audit}"
            return
    raise ValueError(f"no sentence about an audit: {sentence!r}")


_SENTENCES: Mapping[re.Pattern[str], Callable[[Told, re.Match[str]], bool]] = {
    re.compile(r"decision (\w+)"): lambda told, found: found[1] in decided(told),
    re.compile(r"reason (\w+)"): lambda told, found: told.the_audit.continuation.get("reason") == found[1],
    re.compile(r"cause (\w+)"): lambda told, found: told.the_audit.continuation.get("cause") == found[1],
    re.compile(r"cursor refused: (\w+) or (\w+)"): lambda told, found: refused_as(told, found[1], found[2]),
    re.compile(r"cursor refused: (\w+)"): lambda told, found: refused_as(told, found[1]),
    re.compile(r"one full replay"): lambda told, _: replayed_once(told),
    re.compile(r"status (\w+)"): lambda told, found: told.the_audit.status == found[1],
    re.compile(r"(\d+) calls?"): lambda told, found: len(told.the_audit.calls) == int(found[1]),
}
"""A sentence about an audit → whether it holds."""


def _stored_after(story: Story, told: Told, value: Json) -> None:
    """What the active branch holds in the end: see the keys."""
    texts = {role: [plain_text(one.message) for one in told.stored if one.message.role == role] for role in _ROLES}
    names = {message_id: name for name, message_id in story.ids.items()}
    found: Mapping[str, Callable[[Json], bool]] = {
        "user": lambda text: text in texts["user"],
        "assistant_starts_with": lambda text: any(one.startswith(text) for one in texts["assistant"]),
        "order": lambda order: [names[one.message.id] for one in told.stored if not is_notice(one)] == order,
        "incomplete": lambda listed: (
            [names[one.message.id] for one in told.stored if one.status == "incomplete"] == listed
        ),
    }
    for key, inner in value.items():
        held = [(names[one.message.id], one.status) for one in told.stored]
        assert found[key](inner), f"{story.label}: {key} {inner}: {held}"


def _degraded(story: Story, told: Told, value: Json) -> None:
    """Turn → the reasons why a cursor was not used, in their order; all other turns have none."""
    found = {one.name: degradations(one) for one in story.told if degradations(one)}
    assert found == value, f"{story.label}: {found}"


def _cursors(story: Story, told: Told, value: Json) -> None:
    """Turn → the answer whose cursor is stored after it, null for none."""
    found = {name: story.cursor(story.turn(name)) for name in value}
    assert found == value, f"{story.label}: {found}"


_ROLES = ("system", "user", "assistant", "tool")

STORY_CHECKS: Mapping[str, StoryCheck] = {
    "outcome": _outcome,
    "provider": _provider,
    "turn_outcomes": _turn_outcomes,
    "error_codes": _error_codes,
    "parallel_error_code": _parallel_error_code,
    "finish": _finish,
    "final_text": _final_text,
    "provider_calls": _provider_calls,
    "requests_per_turn": _requests_per_turn,
    "requests_per_turn_at_most": _requests_at_most,
    "tool_runs": _tool_runs,
    "provider_requests": _provider_requests,
    "must_have": _must_have,
    "must_contain": _must_contain,
    "must_lack": _must_lack,
    "must_keep": _must_keep,
    "must_exclude": _must_exclude,
    "order": _order,
    "reasons": _reasons,
    "because": _because,
    "inserted": _inserted,
    "needs_trim": _needs_trim,
    "max_tokens": _max_tokens,
    "first_role_in": _first_role_in,
    "audit": _audit,
    "stored_after": _stored_after,
    "degraded": _degraded,
    "cursors": _cursors,
}
"""Field of `expect` → its check of a story."""
