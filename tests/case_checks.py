"""What each field of `expect` means, as a check of one run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from case_budgets import recount
from case_counting import count_request
from case_files import Json, Key, dump
from case_formats import HEAD
from case_run import Run
from case_views import strings_in
from case_wires import empty_contents
from trimtab import Fit
from trimtab_sdk import TrimtabError

Check: TypeAlias = Callable[[Run, Json], None]

_OUTCOMES: Mapping[str, tuple[type, ...]] = {
    "ok": (Fit,),
    "error": (TrimtabError,),
    "ok_or_error": (Fit, TrimtabError),
    "error_or_fallback": (Fit, TrimtabError),
}
NEAREST_VOCABULARY = "o200k_base"
LEEWAY = 1.1
"""How far over the budget an independent count may be when the profile is approximate."""
_BIGGER = "greater than the same message without the image"


def check_fields(run: Run) -> None:
    """Check every field that the run's `expect` has. A field without a check is a KeyError."""
    for field, value in run.expect.items():
        CHECKS[field](run, value)


def _outcome(run: Run, value: Json) -> None:
    assert isinstance(run.result, _OUTCOMES[value]), f"{run.label}: {value} expected, {run.result!r} came"


def _must_not_raise(run: Run, value: Json) -> None:
    """Anything but a TrimtabError ends the run itself; where the outcome is ok, that is no way out either."""
    assert value is True
    _outcome(run, run.expect["outcome"])


def _error_code(run: Run, value: Json) -> None:
    assert run.error.code == value, f"{run.label}: {run.error.code}: {run.error}"


def _error_code_any_of(run: Run, value: Json) -> None:
    assert run.error.code in value, f"{run.label}: {run.error.code}: {run.error}"


def _must_name(run: Run, value: Json) -> None:
    named = set(_strings(run.error.details))
    for name in value:
        assert report_id(run, run.case.key(name)) in named, f"{run.label}: {name} is not in {run.error.details}"


def report_id(run: Run, key: Key) -> str:
    """Give the id that the product's report has for a message."""
    if key == HEAD and run.setup.head is not None:
        return run.setup.wire.head_id
    if isinstance(key, str):
        return key
    has_id = not run.case.format.startswith(("gemini", "interactions"))
    return str((has_id and run.given(key).get("id")) or f"m{key}")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _provider_calls(run: Run, value: Json) -> None:
    assert run.connections == value, run.label


def _input_unchanged(run: Run, value: Json) -> None:
    assert value is True
    assert dump(run.setup.given) == run.before, f"{run.label}: the input was changed"


def _must_keep(run: Run, value: Json) -> None:
    kept, sent = run.keys(run.fit.kept), run.sent()
    for key in map(run.case.key, value):
        assert key in kept, f"{run.label}: {key} is {run.entry(key)}"
        assert sent.count(key) == 1, f"{run.label}: {key} is sent {sent.count(key)} times, or changed"
        if run.case.format == "neutral":
            assert dump(run.messages[sent.index(key)]) == dump(run.given(key)), f"{run.label}: {key} was changed"


def _must_exclude(run: Run, value: Json) -> None:
    excluded, sent = run.keys(run.fit.excluded), run.sent()
    for key in map(run.case.key, value):
        assert key in excluded, f"{run.label}: {key} is {run.entry(key)}"
        assert key not in sent, f"{run.label}: {key} is sent"


def _must_exclude_any_of(run: Run, value: Json) -> None:
    excluded = run.keys(run.fit.excluded)
    assert any(run.case.key(name) in excluded for name in value), f"{run.label}: {excluded}"


def _must_exclude_or_truncate(run: Run, value: Json) -> None:
    changed = run.keys((*run.fit.excluded, *run.fit.truncated))
    assert all(run.case.key(name) in changed for name in value), f"{run.label}: {changed}"


def _excluded(run: Run, value: Json) -> None:
    assert _sorted(run.keys(run.fit.excluded)) == _sorted(map(run.case.key, value)), run.label


def _truncated(run: Run, value: Json) -> None:
    assert _sorted(run.keys(run.fit.truncated)) == _sorted(map(run.case.key, value)), run.label


def _inserted(run: Run, value: Json) -> None:
    assert sorted(entry.plugin for entry in run.fit.inserted) == sorted(value), run.label


def _sorted(keys: object) -> list[Key]:
    return sorted(keys, key=str)  # type: ignore[call-overload,no-any-return]


def _reasons(run: Run, value: Json) -> None:
    for name, allowed in value.items():
        entry = run.entry(run.case.key(name))
        if entry in run.fit.excluded:
            assert entry.reason in allowed, f"{run.label}: {name} left as {entry.reason}"


def _must_not_split(run: Run, value: Json) -> None:
    excluded, sent = run.keys(run.fit.excluded), run.sent()
    for group in value:
        members = [run.case.key(name) for name in group]
        gone = [key for key in members if key in excluded]
        assert not gone or gone == members, f"{run.label}: of {members} only {gone} left"
        places = [sent.index(key) for key in members if key in sent]
        assert places == sorted(places), f"{run.label}: {members} are sent in the order {places}"


def _byte_identical(run: Run, value: Json) -> None:
    assert value is True
    assert dump(run.messages) == dump(run.setup.messages), run.label
    assert run.head == run.setup.head, run.label


def _byte_identical_blocks(run: Run, value: Json) -> None:
    for path in value:
        assert _count_of(_at(run.setup.messages, path), run.messages) == 1, f"{run.label}: {path}"


def _must_not_split_blocks(run: Run, value: Json) -> None:
    for group in value:
        there = {path: _count_of(_at(run.setup.messages, path), run.messages) for path in group}
        assert len(set(there.values())) == 1, f"{run.label}: {there}"


def _at(messages: Sequence[Json], path: str) -> Json:
    """Give the value at a path such as `messages[2].content[0]`."""
    found: Json = {"messages": messages}
    for step in re.findall(r"[^.\[\]]+", path):
        found = found[int(step) if step.isdigit() else step]
    return found


def _count_of(wanted: Json, value: Json) -> int:
    """Tell how often a JSON value stands in another, byte for byte."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (dump(wanted) == dump(value)) + sum(_count_of(wanted, one) for one in inner)


def _must_contain(run: Run, value: Json) -> None:
    for text in value:
        assert _holds(run, text), f"{run.label}: {text!r} is not sent"


def _must_lack(run: Run, value: Json) -> None:
    for text in value:
        assert not _holds(run, text), f"{run.label}: {text!r} is sent"


def _holds(run: Run, text: str) -> bool:
    return any(text in one for one in strings_in([run.head, run.messages]))


def _because(run: Run, value: Json) -> None:
    for name, reason in value.items():
        assert run.entry(run.case.key(name)).reason == reason, f"{run.label}: {run.entry(run.case.key(name))}"


def _named(run: Run, value: Json) -> None:
    for code, names in value.items():
        for name in names:
            key = run.case.key(name)
            assert report_id(run, key) in run.named(code), f"{run.label}: {key}: {run.fit.diagnostics}"


def _images(run: Run, value: Json) -> None:
    assert run.fit.tokenizer.images == value, run.label


def _max_tokens(run: Run, value: Json) -> None:
    assert run.fit.tokens_after <= value, run.label
    tokenizer = run.fit.tokenizer
    if tokenizer.approximate:
        assert count_request(run.views, NEAREST_VOCABULARY).tokens <= value * LEEWAY, run.label
    else:
        assert count_request(run.views, tokenizer.profile).tokens <= value, run.label


def _max_tokens_rule(run: Run, value: Json) -> None:
    assert value == "<= max_input"
    _max_tokens(run, run.setup.limit)


def _needs_trim(run: Run, value: Json) -> None:
    assert value is True
    assert run.fit.tokens_before > run.fit.budget.available, f"{run.label}: the input is not over the budget"
    assert run.fit.excluded or run.fit.truncated, f"{run.label}: nothing was left out"


def _idempotent(run: Run, value: Json) -> None:
    assert value is True
    places = {key: at for at, key in enumerate(run.sent())}
    second = run.again(
        messages=run.messages,
        pins=tuple(_moved(key, places) for key in run.setup.pins),
        excluded=tuple(_moved(key, places) for key in run.setup.excluded if key in places),
    )
    assert dump(second.messages) == dump(run.messages), f"{run.label}: a second fit changes the result"
    assert not second.excluded, run.label


def _moved(key: Key, places: Mapping[Key | None, int]) -> Key:
    return places[key] if isinstance(key, int) else key


def _report_partition(run: Run, value: Json) -> None:
    assert value is True
    entries = (*run.fit.kept, *run.fit.excluded, *run.fit.truncated)
    reported = {run.key(entry): entry.role for entry in entries}
    head = [] if run.setup.head is None else ["system"]
    roles = [*head, *(view.role for view in run.given_views)]
    assert len(reported) == len(entries), run.label
    assert reported == dict(zip(run.setup.keys, roles, strict=True)), run.label


def _no_lone_surrogates(run: Run, value: Json) -> None:
    assert value is True
    json.dumps([run.head, run.messages], ensure_ascii=False).encode("utf-8")


def _no_empty_content(run: Run, value: Json) -> None:
    assert value is True
    assert empty_contents(run.messages, run.case.format) == [], run.label


def _first_message(run: Run, value: Json) -> None:
    assert run.sent()[0] == run.case.key(value), run.label


def _first_role_in(run: Run, value: Json) -> None:
    assert run.views[0].role in value, run.label


def _last_role_in(run: Run, value: Json) -> None:
    assert run.views[-1].role in value, run.label


def _order(run: Run, value: Json) -> None:
    wanted = [run.case.key(name) for name in value]
    assert [key for key in run.sent() if key in wanted] == wanted, f"{run.label}: sent as {run.sent()}"


def _count_of_role(run: Run, value: Json) -> None:
    """Besides roles: `system_original` are the system messages that were given."""
    sent = run.sent()
    originals = [run.setup.key_of(at) for at, view in enumerate(run.given_views) if view.role == "system"]
    roles = [*(view.role for view in run.views), *("system_original" for key in sent if key in originals)]
    assert {role: roles.count(role) for role in value} == value, f"{run.label}: {roles}"


def _max_seconds(run: Run, value: Json) -> None:
    assert run.seconds <= value, f"{run.label}: {run.seconds:.2f} s"


def _count_rule(run: Run, value: Json) -> None:
    assert value.keys() <= {"message", "between", "also"}, f"{run.label}: {sorted(value)}"
    key = run.case.key(value["message"])
    low, high = value["between"]
    assert low <= run.entry(key).tokens <= high, f"{run.label}: {run.entry(key)}"
    if "also" in value:
        assert value["also"] == _BIGGER
        message = run.given(key)
        texts = [part for part in message["content"] if part["type"] == "text"]
        assert recount(run.setup, [message]) > recount(run.setup, [{**message, "content": texts}]), run.label


CHECKS: Mapping[str, Check] = {
    "outcome": _outcome,
    "must_not_raise": _must_not_raise,
    "error_code": _error_code,
    "error_code_any_of": _error_code_any_of,
    "must_name": _must_name,
    "provider_calls": _provider_calls,
    "input_unchanged": _input_unchanged,
    "must_keep": _must_keep,
    "byte_identical_ids": _must_keep,
    "must_exclude": _must_exclude,
    "must_exclude_any_of": _must_exclude_any_of,
    "must_exclude_or_truncate": _must_exclude_or_truncate,
    "excluded": _excluded,
    "truncated": _truncated,
    "inserted": _inserted,
    "reasons": _reasons,
    "must_not_split": _must_not_split,
    "byte_identical": _byte_identical,
    "byte_identical_blocks": _byte_identical_blocks,
    "must_not_split_blocks": _must_not_split_blocks,
    "must_contain": _must_contain,
    "must_lack": _must_lack,
    "because": _because,
    "named": _named,
    "images": _images,
    "max_tokens": _max_tokens,
    "max_tokens_rule": _max_tokens_rule,
    "needs_trim": _needs_trim,
    "idempotent": _idempotent,
    "report_partition": _report_partition,
    "no_lone_surrogates": _no_lone_surrogates,
    "no_empty_content": _no_empty_content,
    "first_message": _first_message,
    "first_role_in": _first_role_in,
    "last_role_in": _last_role_in,
    "order": _order,
    "count_of_role": _count_of_role,
    "max_seconds": _max_seconds,
    "count_rule": _count_rule,
}
"""Field of `expect` → its check."""
