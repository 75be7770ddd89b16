from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import check_read_or_refused
from trimtab_plugins.codecs.chatgpt_export import ChatGPTExport
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import Decoded, InvalidRequestError, Message, Reasoning, Recognition, Text, plain_text

UNTIMED = settings(deadline=None)
CODEC = ChatGPTExport()
Json = dict[str, Any]


def said(role: str, *parts: object, **keys: object) -> Json:
    return {"author": {"role": role}, "content": {"content_type": "text", "parts": list(parts)}, **keys}


def held(role: str, kind: str, name: str | None = None, recipient: str = "all", **content: object) -> Json:
    author = {"role": role, "name": name}
    return {"author": author, "content": {"content_type": kind, **content}, "recipient": recipient}


def chat(*messages: Json | None, title: str = "A talk") -> Json:
    """A conversation of one branch; its nodes are n0, n1 and so on."""
    mapping: Json = {
        f"n{at}": {"id": f"n{at}", "message": message, "parent": f"n{at - 1}" if at else None, "children": []}
        for at, message in enumerate(messages)
    }
    return {"title": title, "mapping": mapping, "current_node": f"n{len(messages) - 1}"}


def notes(decoded: Decoded) -> list[str]:
    return [repair.text for repair in CODEC.adapt(decoded.messages, decoded.originals, protected=()).repairs]


def words(decoded: Decoded) -> list[str]:
    return [plain_text(message) for message in decoded.messages]


def test_the_way_to_the_current_node_is_the_talk() -> None:
    conversation = chat(None, said("user", "hi"), said("assistant", "hello"), said("user", "and now?"))
    conversation["mapping"]["other"] = {"message": said("assistant", "another try"), "parent": "n1"}
    decoded = CODEC.decode(conversation)
    assert decoded.messages == (
        Message("n1", "user", (Text("hi"),)),
        Message("n2", "assistant", (Text("hello"),)),
        Message("n3", "user", (Text("and now?"),), source="input"),
    )
    assert notes(decoded) == []
    assert words(CODEC.decode({**conversation, "current_node": "other"})) == ["hi", "another try"]


def test_hidden_empty_and_weightless_nodes_are_passed_over_and_named() -> None:
    hidden = said("system", "secret", metadata={"is_visually_hidden_from_conversation": True})
    decoded = CODEC.decode(
        chat(
            hidden,
            said("system", ""),
            said("user", "hi"),
            said("assistant", "draft", weight=0.0),
            said("assistant", "ho"),
        )
    )
    assert words(decoded) == ["hi", "ho"]
    assert notes(decoded) == [
        "not part of the talk, and passed over: "
        "1 hidden system nodes, 1 nodes without weight, 1 nodes without words"
    ]


def test_a_system_text_that_is_shown_is_read() -> None:
    (message,) = CODEC.decode(chat(said("system", "Be brief."))).messages
    assert (message.role, message.source) == ("system", "system")


def test_custom_instructions_are_a_system_text_though_they_are_hidden() -> None:
    instructions = held("user", "user_editable_context", user_profile="I sail.", user_instructions="Be brief.")
    instructions["metadata"] = {"is_visually_hidden_from_conversation": True}
    decoded = CODEC.decode(chat(instructions, said("user", "hi")))
    assert decoded.messages[0] == Message("n0", "system", (Text("I sail.\nBe brief."),), source="system")


def test_calls_and_results_of_tools_are_labelled_texts_of_the_assistant() -> None:
    decoded = CODEC.decode(
        chat(
            said("user", "what is 6 times 7?"),
            held("assistant", "code", recipient="python", text="print(6 * 7)"),
            held("tool", "execution_output", name="python", text="42"),
            held("tool", "tether_quote", title="Sums", url="https://x.test", text="six sevens"),
            said("assistant", "42"),
        )
    )
    assert words(decoded) == [
        "what is 6 times 7?",
        "[call of python]\nprint(6 * 7)",
        "[result of python]\n42",
        "[result of a tool]\nSums\nhttps://x.test\nsix sevens",
        "42",
    ]
    assert {message.role for message in decoded.messages[1:]} == {"assistant"}


def test_thoughts_are_reasoning_and_their_headline_is_not_read() -> None:
    decoded = CODEC.decode(
        chat(
            held(
                "assistant", "thoughts", thoughts=[{"summary": "Sums", "content": "six sevens"}, {"content": ""}]
            ),
            held("assistant", "reasoning_recap", content="Thought for 5 s"),
            said("assistant", "42"),
        )
    )
    assert decoded.messages[0].parts == (Reasoning("Sums\nsix sevens"),)
    assert "1 nodes for the screen alone" in notes(decoded)[0]


def test_what_the_export_only_points_to_is_a_text_and_named() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f", "width": 4}
    spoken = {"content_type": "audio_transcription", "text": "good morning"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://f"}
    decoded = CODEC.decode(chat(held("user", "multimodal_text", parts=[picture, spoken, sound, "look", None])))
    assert [part.text for part in decoded.messages[0].parts if isinstance(part, Text)] == [
        "[image left out]",
        "good morning",
        "[audio left out]",
        "look",
    ]
    assert notes(decoded) == ["not in the export, so a text says that it was left out: 1 audio, 1 image"]


@pytest.mark.parametrize(
    ("content", "text"),
    [({"text": "words of a new kind"}, "words of a new kind"), ({"blob": 4}, "[hologram left out]")],
)
def test_a_kind_nobody_knows_keeps_its_text_or_is_named(content: Json, text: str) -> None:
    assert words(CODEC.decode(chat(held("assistant", "hologram", **content)))) == [text]


def test_a_list_of_one_conversation_is_that_conversation() -> None:
    assert words(CODEC.decode([chat(said("user", "hi"))])) == ["hi"]


def test_of_many_conversations_one_must_be_picked() -> None:
    many = [chat(said("user", "hi"), title=f"Talk {at}") for at in range(1_200)]
    assert CODEC.recognize(many) is Recognition.SURE
    with pytest.raises(InvalidRequestError, match=r"1,200 conversations \(0 Talk 0, .*4 Talk 4 …\); pick one"):
        CODEC.decode(many)


def test_what_is_written_is_neutral() -> None:
    decoded = CODEC.decode(chat(said("system", "s"), said("user", "hi")))
    again = Neutral().decode(CODEC.encode(decoded.messages, decoded.originals).messages)
    assert again.messages == decoded.messages


def broken(**changes: object) -> Json:
    return {**chat(said("user", "hi")), **changes}


def node(message: object = None, parent: object = None) -> Json:
    return {"n0": {"message": message, "parent": parent}}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("hi", ""),
        ([], ""),
        (broken(mapping=[]), "mapping"),
        (broken(current_node=None), "current_node"),
        (broken(current_node="gone"), "current_node"),
        (broken(mapping={"n0": 4}), "mapping.n0"),
        (broken(mapping=node(parent=4)), "mapping.n0.parent"),
        (broken(mapping=node(parent="gone")), "mapping.n0.parent"),
        (broken(mapping=node(parent="n0")), "mapping.n0.parent"),
        (broken(mapping=node("hi")), "mapping.n0.message"),
        (broken(mapping=node({})), "mapping.n0.message.author"),
        (broken(mapping=node({"author": {"role": "model"}})), "mapping.n0.message.author.role"),
        (broken(mapping=node({"author": {"role": "user"}})), "mapping.n0.message.content"),
        (broken(mapping=node(said("user", 4))), "mapping.n0.message.content.parts[0]"),
        (broken(mapping=node(held("user", "code", text=4))), "mapping.n0.message.content.text"),
        (broken(mapping=node(held("user", "thoughts", thoughts=[4]))), "mapping.n0.message.content.thoughts[0]"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(data: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    assert caught.value.path == path


def test_only_exports_are_recognized() -> None:
    one = chat(said("user", "hi"))
    assert [CODEC.recognize(data) for data in (one, [one], [one, one])] == [Recognition.SURE] * 3
    others: list[object] = [None, [], "hi", {}, {"mapping": {}}, [one, {}], {"messages": []}, [{"role": "user"}]]
    assert [CODEC.recognize(other) for other in others] == [Recognition.NO] * len(others)


def test_a_long_talk_is_read_in_linear_time() -> None:
    conversation = chat(*(said("user", "hi") for _ in range(20_000)))
    started = time.process_time()
    assert len(CODEC.decode(conversation).messages) == 20_000
    assert time.process_time() - started < 5


NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(NAMES, st.none(), st.booleans(), st.integers(-2, 2))
PARTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["text", "content_type", "parts", "author", "role", "content"]), inner),
    ),
    max_leaves=10,
)
CONTENTS = st.builds(
    lambda kind, parts: {"content_type": kind, **parts},
    st.sampled_from(["text", "code", "thoughts", "multimodal_text", "x"]),
    st.dictionaries(st.sampled_from(["text", "parts", "thoughts"]), PARTS),
)
MESSAGES = st.builds(
    lambda role, content: {"author": {"role": role}, "content": content},
    st.sampled_from(["user", "assistant", "tool", "system"]),
    CONTENTS,
)
NODES = st.fixed_dictionaries({"message": st.one_of(MESSAGES, PARTS), "parent": st.one_of(NAMES, st.none())})
TREES = st.builds(
    lambda nodes, last: {"mapping": nodes, "current_node": last}, st.dictionaries(NAMES, NODES), NAMES
)


@UNTIMED
@given(st.one_of(TREES, PARTS))
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    check_read_or_refused(CODEC, data)
