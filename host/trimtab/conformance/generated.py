"""Conversations made by hypothesis: what nobody thought of. The same ones in every run."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from trimtab.conformance.corpus import Chat, called, said
from trimtab.conformance.requests import Case, case_at
from trimtab_sdk.messages import Image, Message, Reasoning, Role, Source, Text, ToolResult

MOST_MESSAGES = 14
_CALL_IDS = st.sampled_from(["a", "b", "c"])
_ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
_ASIDES: st.SearchStrategy[Source] = st.sampled_from(
    ["system", "persona", "lorebook", "memory", "summary", "plugin"]
)
_CHARACTERS = st.characters(exclude_categories=["Cs"])
_TEXTS = st.one_of(
    st.sampled_from(["", " ", "ok", "はい、そうです。", "👍🏽🏳️‍🌈", "e\u0301" * 20, "[plugin subject]"]),
    st.integers(1, 15).map(lambda times: "The clerk counted the crates twice. " * times),
    st.text(_CHARACTERS, max_size=30),
)


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """Conversations of up to 14 messages: groups, orphans, open calls, asides, pins, reasoning, empty texts."""
    size = draw(st.integers(0, MOST_MESSAGES))
    return Chat("generated", tuple(draw(_message(f"m{at}")) for at in range(size)))


@st.composite
def cases(draw: st.DrawFn, *, most: float) -> Case:
    """Cases whose budget has up to `most` of the tokens that may leave as room; under 1 all are over budget."""
    share = draw(st.sampled_from([0.6, 0.3, 0.0, most]))
    case = case_at(draw(chats()), share, target=draw(st.sampled_from([1.0, 0.75])))
    if most < 1:
        assume(case.is_over)
    return case


def check_generated(check: Callable[[Case], None], *, most: float, examples: int) -> None:
    """Call `check` with generated cases; the smallest one that makes it fail is told in its error."""

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(most=most))
    def holds(case: Case) -> None:
        __tracebackhide__ = True
        check(case)

    __tracebackhide__ = True
    holds()


@st.composite
def _message(draw: st.DrawFn, name: str) -> Message:
    kind = draw(st.sampled_from(["said", "said", "said", "calls", "result", "result", "aside", "other"]))
    if kind == "calls":
        return called(name, *draw(st.lists(_CALL_IDS, min_size=1, max_size=3)), text=draw(_TEXTS))
    if kind == "result":
        return draw(_result(name))
    if kind == "aside":
        source = draw(_ASIDES)
        return said(
            name, "system", draw(_TEXTS), source=source, required=source == "lorebook" and draw(st.booleans())
        )
    if kind == "other":
        return draw(st.sampled_from([_thought(name), _picture(name)]))
    return said(name, draw(_ROLES), draw(_TEXTS), pinned=draw(st.integers(0, 9)) == 0)


@st.composite
def _result(draw: st.DrawFn, name: str) -> Message:
    text = draw(_TEXTS)
    parts = (Text(text), Image(url="https://example.org/b.png"), Text("end"))
    return Message(name, "tool", (ToolResult(draw(_CALL_IDS), parts if draw(st.booleans()) else text),))


def _thought(name: str) -> Message:
    return Message(name, "assistant", (Reasoning("Let me think about it."),))


def _picture(name: str) -> Message:
    return Message(name, "user", (Image(url="https://example.org/a.png"),))
