"""What the fields and the facts of a case mean over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from case_counting import count_request
from case_covers import ByField, Waits, check_named, check_waits
from case_files import Json
from case_http_play import HttpStory
from http_turns import LAST, events_in

HttpCheck: TypeAlias = Callable[[HttpStory, Json], None]
HttpFact: TypeAlias = Callable[[HttpStory], None]
HttpCover: TypeAlias = HttpFact | ByField | Waits

_SECONDS = 2.0
_SEVERITIES = ((0.70, "normal"), (0.85, "info"), (0.92, "warning"), (0.97, "danger"), (float("inf"), "critical"))
_PLAYED = {"steps"}
"""Fields that say in words what `case_http_play.py` does."""


def check_http_fields(story: HttpStory) -> None:
    """Check every field of the case, and what holds for every story. A field without a check is a KeyError."""
    assert story.faults == (), story.label
    assert story.left == 0, f"{story.label}: {story.left} replies were not asked for"
    for name, value in story.expect.items():
        if name not in _PLAYED:
            HTTP_CHECKS[name](story, value)


def check_http_fact(cover: HttpCover, stories: Sequence[HttpStory]) -> None:
    """Check a fact over all stories of its case."""
    if isinstance(cover, ByField):
        check_named(cover, stories)
    elif isinstance(cover, Waits):
        check_waits(cover, stories[0].label)
    else:
        for story in stories:
            cover(story)


def _outcome(story: HttpStory, value: Json) -> None:
    if value == "one_of":
        assert all(one.status < 500 for one in story.raw), story.raw
    elif value == "error_in_stream":
        assert any(one.outcome == "turn_failed" for one in story.asked), story.label
    else:
        assert value == "ok", value
        assert story.last.outcome == "turn_completed", f"{story.label}: {story.last.turn}"


def _options(story: HttpStory, value: Json) -> None:
    """Each request is refused with the code and stores nothing; the other way, replacing, is not ours."""
    refusal = next(one for one in value if one["outcome"] == "error")
    for one in story.raw:
        assert 400 <= one.status < 500, one
        assert one.code == refusal["error_code"], one


def _no_lone_surrogates(story: HttpStory, value: Json) -> None:
    assert value is True
    for asked in story.asked:
        for sent in asked.sent:
            json.dumps(sent.body, ensure_ascii=False).encode("utf-8")


def _turn_outcomes(story: HttpStory, value: Json) -> None:
    assert {one.name: one.outcome for one in story.asked} == value, story.label


def _stored_after(story: HttpStory, value: Json) -> None:
    texts = [(one["role"], one["text"]) for one in story.asked[0].messages]
    assert ("user", value["user"]) in texts, story.label
    answers = [text for role, text in texts if role == "assistant"]
    assert any(text.startswith(value["assistant_starts_with"]) for text in answers), story.label


def _max_tokens(story: HttpStory, value: Json) -> None:
    audit = story.last.audit
    assert audit["recount"] <= value, audit["recount"]
    assert count_request(story.last.sent[-1].views, audit["tokenizer"]["profile"]).tokens <= value, story.label


def _needs_trim(story: HttpStory, value: Json) -> None:
    assert value is True
    ready = next(one for one in story.last.events if one.kind == "context_ready").data
    assert ready["excluded"] > 0, ready
    assert ready["inserted"] > 0, ready


HTTP_CHECKS: Mapping[str, HttpCheck] = {
    "outcome": _outcome,
    "options": _options,
    "no_lone_surrogates": _no_lone_surrogates,
    "turn_outcomes": _turn_outcomes,
    "stored_after": _stored_after,
    "max_tokens": _max_tokens,
    "needs_trim": _needs_trim,
}
"""Field of `expect` → its check."""


def nothing_is_a_500(story: HttpStory) -> None:
    assert len(story.raw) == 15
    assert [one for one in story.raw if one.status >= 500] == []


def the_chat_is_not_poisoned(story: HttpStory) -> None:
    """The next turn works, and the chat is listed and audited; of what was refused nothing is stored."""
    taken = sum(one.status == 201 for one in story.raw)
    before, after = story.chats
    assert after == before + taken
    assert story.last.outcome == "turn_completed"
    assert [one["text"] for one in story.last.messages] == ["Be brief.", "Go on.", "Still here."]
    assert story.last.audit["status"] == "completed"


def each_fault_alone_is_treated_the_same(story: HttpStory) -> None:
    of_faults = [one for one in story.raw if not one.name.startswith("whole")]
    assert {one.name.partition(",")[0] for one in of_faults} >= {
        "half in a text",
        "NUL in a result",
        "half in arguments",
        "half in an input",
        "NUL in an input",
    }
    _options(story, story.expect["options"])


def the_answer_is_stored_whole_or_marked(story: HttpStory) -> None:
    """Whole when the provider ended well, cut and marked when the turn was stopped; never lost with its input."""
    first = story.asked[0]
    _, user, *answers = first.messages
    chunks = story.case.data["request"]["steps"][0]["provider_replies"][0]["stream"]
    assert user["text"] == story.case.data["request"]["steps"][0]["user"]
    assert len(answers) == 1, story.label
    if first.turn["state"] == "completed":
        assert (answers[0]["text"], answers[0]["status"]) == ("".join(chunks), "complete")
    else:
        assert first.turn["state"] == "cancelled"
        assert (answers[0]["text"], answers[0]["status"]) == ("".join(chunks[:2]), "incomplete")
    assert (first.turn["state"] == "cancelled") == ("cancelled" in story.label)


def there_is_one_answer(story: HttpStory) -> None:
    roles = [one["role"] for one in story.last.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant"], story.label


def another_connection_reads_the_turn(story: HttpStory) -> None:
    first = story.asked[0]
    assert first.left
    assert first.met["state"] in ("running", "completed", "cancelled")
    assert first.met["text"].startswith("The order was placed in May, ")
    assert first.turn["text"].startswith(first.met["text"])


def the_audit_is_not_left_prepared(story: HttpStory) -> None:
    for asked in story.asked:
        assert asked.audit["status"] == asked.turn["state"], story.label


def the_next_turn_sees_the_stored_text(story: HttpStory) -> None:
    stored = story.asked[0].messages[-1]["text"]
    assert stored in json.dumps(story.last.sent[-1].messages, ensure_ascii=False), story.label


def the_stream_ends_with_one_error_event(story: HttpStory) -> None:
    first = story.turn("1")
    assert [one.kind for one in events_in(first.stream) if one.kind in LAST] == ["turn_failed"]
    assert first.stream.endswith("\n\n")


def it_comes_soon_and_is_not_repeated(story: HttpStory) -> None:
    first = story.turn("1")
    assert first.seconds < _SECONDS
    assert len(first.sent) == 1
    assert any(one.kind == "text_delta" for one in first.events)


def it_is_tried_again_without_a_second_input(story: HttpStory) -> None:
    said = [(one["role"], one["text"]) for one in story.last.messages]
    assert said[1:] == [("user", "Hello"), ("assistant", "Hello.")]
    assert [one["text"] for one in story.turn("1").messages][1:] == ["Hello"]


def the_meter_shows_the_fitted_context(story: HttpStory) -> None:
    state, audit = story.chat["lastContextState"], story.last.audit
    assert state == story.last.events[-1].data["snapshot"]
    assert state["estimatedInputTokens"] == audit["recount"] <= story.expect["max_tokens"]
    assert audit["tokensBefore"] > story.expect["max_tokens"]
    assert story.preview["snapshot"]["estimatedInputTokens"] <= story.expect["max_tokens"]
    assert story.preview["snapshot"]["estimatedInputTokens"] == story.preview["recount"]


def the_figures_belong_together(story: HttpStory) -> None:
    for state in (story.chat["lastContextState"], story.preview["snapshot"]):
        used = state.get("reportedInputTokens", state["estimatedInputTokens"])
        ratio = used / state["contextLimit"]
        assert state["contextLimit"] == story.case.settings["budget"]["max_input"]
        assert abs(state["estimatedUsageRatio"] - ratio) < 0.001
        assert state["severity"] == next(name for top, name in _SEVERITIES if ratio < top)


def a_figure_says_where_it_is_from(story: HttpStory) -> None:
    """What the provider said of the call is marked as reported; a preview knows nothing but our own count."""
    [usage] = [one.data for one in story.last.events if one.kind == "usage"]
    state = story.chat["lastContextState"]
    assert state["reportedInputTokens"] == usage["inputTokens"]
    assert "reportedInputTokens" not in story.preview["snapshot"]
    assert state["approximate"] is story.preview["snapshot"]["approximate"] is False
    assert story.last.audit["tokenizer"]["approximate"] is False


HTTP_FACTS: Mapping[str, Sequence[HttpCover]] = {
    "68": (nothing_is_a_500, the_chat_is_not_poisoned, each_fault_alone_is_treated_the_same),
    "69": (
        the_answer_is_stored_whole_or_marked,
        there_is_one_answer,
        another_connection_reads_the_turn,
        the_audit_is_not_left_prepared,
        the_next_turn_sees_the_stored_text,
    ),
    "73": (
        the_stream_ends_with_one_error_event,
        it_comes_soon_and_is_not_repeated,
        it_is_tried_again_without_a_second_input,
    ),
    "88": (
        the_meter_shows_the_fitted_context,
        the_figures_belong_together,
        a_figure_says_where_it_is_from,
        Waits("complete"),
        Waits("page"),
    ),
}
"""Case id → what covers each of its facts, in their order."""
