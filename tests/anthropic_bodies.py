"""Small makers of Anthropic messages, and random ones for property tests: mostly valid, with every fault."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Wire = dict[str, Any]


def say(role: str, content: object) -> Wire:
    return {"role": role, "content": content}


def text(words: str) -> Wire:
    return {"type": "text", "text": words}


def use(call_id: str) -> Wire:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {"shelf": 9}}


def found(call_id: str, content: object = "found") -> Wire:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def thought(words: str = "hm", signature: str = "c2ln") -> Wire:
    return {"type": "thinking", "thinking": words, "signature": signature}


def asks(*call_ids: str) -> Wire:
    return say("assistant", [use(one) for one in call_ids])


def answers(*call_ids: str) -> Wire:
    return say("user", [found(one) for one in call_ids])


WORDS = st.sampled_from(["", " ", "ok", "Yes, of course.", "はい"])
CALL_IDS = st.sampled_from(["a", "b", "c", "d.1"])
RESULTS = st.builds(found, CALL_IDS, st.one_of(WORDS, st.lists(st.builds(text, WORDS), max_size=2)))
PICTURES = st.just({"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}})
USER_BLOCKS = st.one_of(RESULTS, RESULTS, st.builds(text, WORDS), PICTURES)
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
ANSWER_BLOCKS = st.one_of(
    st.builds(use, CALL_IDS),
    st.builds(text, WORDS),
    st.builds(thought, WORDS, st.sampled_from(["", "c2ln", "c2ln"])),
    st.just({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
    st.just(SEARCH),
)
MESSAGES = st.one_of(
    st.builds(say, st.just("user"), st.one_of(WORDS, st.lists(USER_BLOCKS, max_size=3))),
    st.builds(say, st.just("user"), st.lists(RESULTS, min_size=1, max_size=3)),
    st.builds(say, st.just("assistant"), st.one_of(WORDS, st.lists(ANSWER_BLOCKS, max_size=3))),
    st.builds(say, st.just("assistant"), st.lists(st.builds(use, CALL_IDS), min_size=1, max_size=2)),
    st.builds(say, st.just("system"), st.one_of(WORDS, st.lists(st.builds(text, WORDS), max_size=2))),
)


@st.composite
def steps(draw: st.DrawFn) -> list[Wire]:
    """A step with all its results, in messages of several shapes, with others somewhere between."""
    called = draw(st.lists(CALL_IDS, min_size=1, max_size=3))
    answered = draw(st.permutations(called))
    cut = draw(st.integers(0, len(called)))
    words = draw(st.sampled_from([[], [text("And?")]]))
    around = [*words, *(found(one) for one in answered[cut:])]
    shapes = [asks(*called), answers(*answered[:cut]), say("user", draw(st.permutations(around)))]
    made = [one for one in shapes if one["content"]]
    for between in draw(st.lists(MESSAGES, max_size=2)):
        made.insert(draw(st.integers(0, len(made))), between)
    return made


CHATS = st.lists(st.one_of(steps(), st.lists(MESSAGES, max_size=2)), max_size=5).map(
    lambda pieces: [one for piece in pieces for one in piece]
)
SYSTEMS = st.one_of(st.none(), WORDS, st.lists(st.builds(text, WORDS), max_size=2))
