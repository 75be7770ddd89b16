from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import check_read_or_refused
from trimtab_plugins.codecs.claude_code import ClaudeCode
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    Decoded,
    File,
    Image,
    InvalidRequestError,
    Message,
    Reasoning,
    Recognition,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    plain_text,
)

UNTIMED = settings(deadline=None)
CODEC = ClaudeCode()
Line = dict[str, Any]


def user(uuid: str, content: object, parent: str | None = None, **keys: object) -> Line:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": False, "message": message, **keys}


def answer(uuid: str, block: Line, parent: str | None = None, *, id: str = "msg_1", **keys: object) -> Line:
    message = {"id": id, "type": "message", "role": "assistant", "content": [block]}
    return {
        "type": "assistant",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "message": message,
        **keys,
    }


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Read", **arguments: object) -> Line:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: object = "found", **keys: object) -> Line:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **keys}


def ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def words(decoded: Decoded) -> list[str]:
    return [plain_text(message) for message in decoded.messages]


def notes(decoded: Decoded) -> str:
    repairs = CODEC.adapt(decoded.messages, decoded.originals, protected=()).repairs
    return "; ".join(repair.text for repair in repairs)


def fault_of(data: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    return caught.value


SESSION = [
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    user("u1", "read the log"),
    answer("a1", {"type": "thinking", "thinking": "hm", "signature": "sig"}, "u1"),
    answer("a2", text("I will look."), "a1"),
    answer("a3", call("t1", path="log"), "a2"),
    user("r1", [result("t1", [text("line one")])], "a3", toolUseResult={"stdout": "line one"}),
    answer("a4", text("One line."), "r1", id="msg_2"),
    {"type": "system", "subtype": "turn_duration", "content": "3 s", "uuid": "s1", "parentUuid": "a4"},
    user("u2", "thanks", "s1"),
]


def test_the_lines_of_an_answer_are_one_message_and_a_result_is_another() -> None:
    decoded = CODEC.decode(SESSION)
    assert decoded.messages == (
        Message("u1", "user", (Text("read the log"),)),
        Message(
            "a1",
            "assistant",
            (Reasoning("hm", "sig"), Text("I will look."), ToolCall("t1", "Read", '{"path":"log"}')),
        ),
        Message("r1", "tool", (ToolResult("t1", (Text("line one"),)),)),
        Message("a4", "assistant", (Text("One line."),)),
        Message("u2", "user", (Text("thanks"),), source="input"),
    )


def test_what_is_passed_over_is_named_with_its_number() -> None:
    session = [
        *SESSION,
        {"type": "summary", "summary": "Reading a log", "leafUuid": "a4"},
        {"type": "summary", "summary": "Thanks", "leafUuid": "u2"},
        user("c1", "Caveat: what follows was typed in a shell", isMeta=True),
        user("x1", "sub task", isSidechain=True),
        answer("e1", text("API Error"), "u2", isApiErrorMessage=True),
    ]
    told = notes(CODEC.decode(session))
    assert words(CODEC.decode(session)) == words(CODEC.decode(SESSION))
    for part in ("2 summary lines", "1 meta lines", "1 lines of sidechains", "1 error lines"):
        assert part in told
    for part in ("1 file-history-snapshot lines", "1 system lines"):
        assert part in told


def test_a_talk_alone_has_no_notes() -> None:
    assert notes(CODEC.decode([user("u", "hi")])) == ""


def test_the_branch_of_the_last_message_is_read() -> None:
    session = [
        user("u1", "first"),
        answer("a1", text("dead end"), "u1"),
        user("u2", "dead too", "a1"),
        answer("b1", text("second try"), "u1", id="msg_2"),
        user("u3", "go on", "b1"),
    ]
    decoded = CODEC.decode(session)
    assert words(decoded) == ["first", "second try", "go on"]
    assert "2 lines of other branches" in notes(decoded)


@pytest.mark.parametrize(
    "last", ["r1", "r2", "b"], ids=["by the first result", "by the second", "by a later line"]
)
def test_calls_made_at_the_same_time_keep_all_their_results(last: str) -> None:
    session = [
        user("u1", "both"),
        answer("a", call("t1"), "u1"),
        answer("b", call("t2"), "a"),
        user("r1", [result("t1", "one")], "a"),
        user("r2", [result("t2", "two")], "b"),
        answer("c", text("done"), last, id="msg_2"),
    ]
    decoded = CODEC.decode(session)
    assert [call.call_id for call in decoded.messages[1].parts if isinstance(call, ToolCall)] == ["t1", "t2"]
    assert words(decoded) == ["both", "", "one", "two", "done"]


def test_a_transcript_that_ends_in_results_at_the_same_time_has_both() -> None:
    session = [
        answer("a", call("t1")),
        answer("b", call("t2"), "a"),
        user("r2", [result("t2", "two")], "b"),
        user("r1", [result("t1", "one")], "a"),
    ]
    assert sorted(words(CODEC.decode(session))) == ["", "one", "two"]


def test_a_compacted_talk_begins_with_its_summary() -> None:
    session = [
        user("u1", "long ago"),
        answer("a1", text("yes"), "u1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": None, "content": "Compacted"},
        user("z", "This session goes on from an earlier one.", "k", isCompactSummary=True),
        answer("a2", text("ready"), "z", id="msg_2"),
        user("u2", "go on", "a2"),
    ]
    decoded = CODEC.decode(session)
    assert [(message.id, message.source) for message in decoded.messages] == [
        ("z", "summary"),
        ("a2", "history"),
        ("u2", "input"),
    ]


def test_a_file_of_a_subagent_is_read_though_all_of_it_is_a_sidechain() -> None:
    decoded = CODEC.decode([user("u", "task", isSidechain=True), answer("a", text("done"), "u", isSidechain=True)])
    assert words(decoded) == ["task", "done"]


def test_lines_without_links_are_read_in_their_order() -> None:
    lines = [{"type": "user", "message": {"content": "hi"}}, {"type": "assistant", "message": {"content": "ho"}}]
    decoded = CODEC.decode(lines)
    assert (ids(decoded.messages), words(decoded)) == (["m0", "m1"], ["hi", "ho"])


def test_results_in_one_line_become_messages_and_the_words_beside_them_one_more() -> None:
    session = [
        answer("a", call("t1")),
        answer("b", call("t2"), "a"),
        user("r", [result("t1", "one"), result("t2", None, is_error=True), text("stop")], "b"),
    ]
    decoded = CODEC.decode(session)
    assert decoded.messages[1:] == (
        Message("r", "tool", (ToolResult("t1", "one"),)),
        Message("r.2", "tool", (ToolResult("t2", "", is_error=True),)),
        Message("r.3", "user", (Text("stop"),), source="input"),
    )


def test_every_block_is_read() -> None:
    base64 = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    blocks = [
        "bare",
        {"type": "image", "source": base64},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "document", "title": "a.pdf", "source": {**base64, "media_type": "application/pdf"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "hologram"},
    ]
    assert CODEC.decode([user("u", blocks)]).messages[0].parts == (
        Text("bare"),
        Image(data="AAAA", media_type="image/png"),
        Image(url="https://x.test/a.png"),
        File("a.pdf", "application/pdf", data="AAAA"),
        File(media_type="text/plain", text="words"),
        File(url="https://x.test/a.pdf"),
        Unknown({"type": "image", "source": {"type": "file", "file_id": "f"}}),
        Unknown({"type": "hologram"}),
    )
    hidden = CODEC.decode([answer("a", {"type": "redacted_thinking", "data": "blob"})])
    assert hidden.messages[0].parts == (Reasoning(opaque="blob"),)


def test_a_line_of_a_forked_session_that_stands_there_twice_is_read_once() -> None:
    assert words(CODEC.decode([user("u", "hi"), user("u", "hi"), answer("a", text("ho"), "u")])) == ["hi", "ho"]


def test_what_is_written_is_neutral() -> None:
    decoded = CODEC.decode(SESSION)
    again = Neutral().decode(CODEC.encode(decoded.messages, decoded.originals).messages)
    assert again.messages == decoded.messages


def test_a_talk_goes_on_with_neutral_messages() -> None:
    decoded = CODEC.decode(SESSION)
    longer = CODEC.splice(decoded, 5, 5, [{"role": "assistant", "content": "bye"}, {"id": "n", "role": "user"}])
    assert ids(longer.messages)[4:] == ["u2", "m5", "n"]
    assert [message.source for message in longer.messages[4:]] == ["history", "history", "input"]
    changed = CODEC.splice(longer, 0, 1, [{"role": "user", "content": "read both"}], ids=("u1",))
    assert changed.messages[0] == Message("u1", "user", (Text("read both"),))
    with pytest.raises(InvalidRequestError, match="which another message has"):
        CODEC.splice(longer, 7, 7, [{"id": "n", "role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (["hi"], "messages[0]"),
        ([{"uuid": "u"}], "messages[0].type"),
        ([{"type": "user"}], "messages[0].message"),
        ([user("u", 4)], "messages[0].message.content"),
        ([user("u", [4])], "messages[0].message.content[0]"),
        ([{"type": "user", "message": {}}], "messages[0].message.content"),
        ([{"type": "user", "message": {"role": "model", "content": "hi"}}], "messages[0].message.role"),
        ([user("u", [{"type": "text"}])], "messages[0].message.content[0].text"),
        ([answer("a", {"type": "tool_use", "name": "Read"})], "messages[0].message.content[0].id"),
        (
            [answer("a", {"type": "tool_use", "id": "t", "name": "f", "input": "x"})],
            "messages[0].message.content[0].input",
        ),
        ([user("u", [result(7)])], "messages[0].message.content[0].tool_use_id"),  # type: ignore[arg-type]
        ([user("u", [result("t", 7)])], "messages[0].message.content[0].content"),
        ([user("u", "hi", 7)], "messages[0].parentUuid"),  # type: ignore[arg-type]
        ([user("", "hi")], "messages[0].uuid"),
        ([user("u", "hi", isSidechain="no")], "messages[0].isSidechain"),
        ([user("u", "hi"), {"type": "user", "message": {"content": "ho"}}], "messages[1].uuid"),
        ([user("u", "hi", "gone")], "messages[0].parentUuid"),
        ([user("u", "hi", "u")], "messages[0].parentUuid"),
        ([user("a", "1", "b"), user("b", "2", "a"), user("c", "3", "a")], "messages[1].parentUuid"),
    ],
)
def test_a_wrong_line_is_refused_with_its_path(data: object, path: str) -> None:
    assert fault_of(data).path == path


def test_only_transcripts_are_recognized() -> None:
    assert CODEC.recognize(SESSION) is Recognition.SURE
    assert CODEC.recognize(SESSION[1]) is Recognition.SURE
    others: list[object] = [
        [],
        None,
        "hi",
        [{"role": "user", "content": "hi"}],
        [{"type": "message", "role": "user", "content": []}],
        [{"type": "summary", "summary": "x"}],
        [*SESSION, {"role": "user"}],
        {"messages": SESSION},
    ]
    assert [CODEC.recognize(other) for other in others] == [Recognition.NO] * len(others)


def test_a_long_chain_is_read_in_linear_time() -> None:
    answers = (answer(f"u{at}", text("ho"), f"u{at - 1}", id=f"msg_{at}") for at in range(1, 20_000))
    lines = [user("u0", "hi"), *answers]
    started = time.process_time()
    assert len(CODEC.decode(lines).messages) == 20_000
    assert time.process_time() - started < 5


KEYS = st.sampled_from(["type", "uuid", "parentUuid", "message", "content", "role", "id", "isMeta", "text"])
VALUES = st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "a", "b", "", None, True, 4])
JSON = st.recursive(
    VALUES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=24,
)
UUIDS = st.sampled_from(["a", "b", "c", "d"])
BLOCKS = st.one_of(st.builds(text, UUIDS), st.builds(call, UUIDS), st.builds(result, UUIDS))
TREES = st.lists(
    st.one_of(
        st.builds(user, UUIDS, st.lists(BLOCKS, max_size=3), st.one_of(st.none(), UUIDS)),
        st.builds(answer, UUIDS, BLOCKS, st.one_of(st.none(), UUIDS), id=UUIDS),
    ),
    max_size=8,
)


@UNTIMED
@given(st.one_of(JSON, TREES))
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    check_read_or_refused(CODEC, data)
