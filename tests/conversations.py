"""Random conversations for property tests, in the neutral and the chat-completions shape."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Chat = list[dict[str, Any]]

TEXTS = st.one_of(
    st.sampled_from(["", " ", "ok", "Yes, of course.", "<|endoftext|>", "はい、そうです。", "🙂👍🏽", "x" * 90]),
    st.text(max_size=40),
    st.integers(1, 12).map(lambda n: "The harbour clerk counted the crates twice. " * n),
)
CALL_IDS = st.sampled_from(["call_a", "call_b", "call_c"])


@st.composite
def neutral_chats(draw: st.DrawFn, *, max_size: int = 24) -> Chat:
    """Neutral messages: parallel, interleaved and unanswered calls, repeated ids, kinds, flags."""
    return [draw(_neutral_message(f"m{at}")) for at in range(draw(st.integers(0, max_size)))]


@st.composite
def _neutral_message(draw: st.DrawFn, name: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(["user", "user", "assistant", "assistant", "calls", "result", "result", "aside"]))
    if kind == "calls":
        calls = draw(st.lists(CALL_IDS, min_size=1, max_size=3))
        return {
            "id": name,
            "role": "assistant",
            "content": draw(st.one_of(st.none(), TEXTS)),
            "tool_calls": [{"id": one, "name": "look", "arguments": draw(_arguments())} for one in calls],
        }
    if kind == "result":
        return {"id": name, "role": "tool", "tool_call_id": draw(CALL_IDS), "content": draw(TEXTS)}
    if kind == "aside":
        return draw(_aside(name))
    message: dict[str, Any] = {"id": name, "role": kind, "content": draw(TEXTS)}
    if draw(st.integers(0, 9)) == 0:
        message["meta"] = {"manualExcluded": True}
    return message


@st.composite
def _aside(draw: st.DrawFn, name: str) -> dict[str, Any]:
    message: dict[str, Any] = {"id": name, "role": draw(st.sampled_from(["system", "developer"]))}
    message["content"] = draw(TEXTS)
    source = draw(st.sampled_from(["", "persona", "lorebook", "memory", "summary"]))
    if source:
        message["kind"] = source
    if source == "lorebook" and draw(st.booleans()):
        message["required"] = True
    return message


def _arguments() -> st.SearchStrategy[object]:
    return st.one_of(st.just({}), st.just({"shelf": 9}), st.just("{broken"), st.none())


@st.composite
def openai_chats(draw: st.DrawFn, *, max_size: int = 24) -> Chat:
    """Messages as apps store them for chat-completions: mostly valid, with every fault that is seen."""
    return [_as_openai(one) for one in draw(neutral_chats(max_size=max_size))]


def _as_openai(neutral: dict[str, Any]) -> dict[str, Any]:
    message = {key: value for key, value in neutral.items() if key in {"role", "content", "tool_call_id", "meta"}}
    if "tool_calls" in neutral:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in neutral["tool_calls"]
        ]
    return message
