from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.reading import Form, read_conversation, read_json
from trimtab.cli.source import UnreadableInputError
from trimtab.cli.writing import json_pieces, write_file

HELLO = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "good day"}


def file_of(folder: Path, content: str | bytes) -> str:
    path = folder / "chat"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def refused(folder: Path, content: str | bytes) -> UnreadableInputError:
    with pytest.raises(UnreadableInputError) as caught:
        read_conversation(file_of(folder, content))
    return caught.value


def test_a_json_list_is_a_list_of_messages(tmp_path: Path) -> None:
    conversation = read_conversation(file_of(tmp_path, json.dumps([HELLO, ANSWER])))

    assert conversation.data == [HELLO, ANSWER]
    assert conversation.messages == [HELLO, ANSWER]
    assert conversation.form == Form("list", indented=False, spaced=True)


def test_a_request_body_names_its_model_and_its_messages(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "messages": [HELLO], "temperature": 0.5}

    conversation = read_conversation(file_of(tmp_path, json.dumps(body, indent=4)))

    assert conversation.data == body
    assert conversation.model == "gpt-4o"
    assert conversation.messages == [HELLO]
    assert conversation.form == Form("body", indented=True, spaced=True)


def test_lines_of_json_are_messages_whatever_the_file_is_called(tmp_path: Path) -> None:
    text = '\n  {"role":"user","content":"hello"}\r\n\n \t\r\n{"role":"assistant","content":"good day"}'

    conversation = read_conversation(file_of(tmp_path, text))

    assert conversation.data == [HELLO, ANSWER]
    assert conversation.form == Form("lines", spaced=False)


def test_a_lone_message_on_one_line_is_a_conversation_line_by_line(tmp_path: Path) -> None:
    conversation = read_conversation(file_of(tmp_path, json.dumps(HELLO) + "\n"))

    assert conversation.data == [HELLO]
    assert conversation.form.kind == "lines"


def test_a_lone_body_on_one_line_is_a_body(tmp_path: Path) -> None:
    assert read_conversation(file_of(tmp_path, '{"messages": []}\n')).form.kind == "body"


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    message = {"role": "user", "content": "one\u2028two\x85three"}
    lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in (message, ANSWER))

    assert read_conversation(file_of(tmp_path, lines)).data == [message, ANSWER]


@pytest.mark.parametrize("text", ['[{"role": "user", "content": "hé"}]', '{"role": "user", "content": "hé"}\n'])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, text: str) -> None:
    conversation = read_conversation(file_of(tmp_path, b"\xef\xbb\xbf" + text.encode()))

    assert conversation.data == [{"role": "user", "content": "hé"}]


def test_the_last_of_equal_keys_counts(tmp_path: Path) -> None:
    conversation = read_conversation(file_of(tmp_path, '[{"role": "user", "content": "a", "content": "b"}]'))

    assert conversation.data == [{"role": "user", "content": "b"}]


def test_stdin_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps([HELLO]).encode())))

    assert read_conversation("-").data == [HELLO]


def test_a_process_without_stdin_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(UnreadableInputError, match="stdin: it cannot be read: it is closed"):
        read_conversation("-")


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ('[{"role": "user",\n "content": }]', 2, 13),
        ('[{"role": "user"}', 1, 18),
        ('{"role": "user", "content": "a"}\n{"role": }\n', 2, 10),
        ('{"role": "user", "content": "a"}\n\n  {"role": "user"\n', 3, 18),
        ('[{"role": "user", "content": "tab\there"}]', 1, 34),
        ("hello", 1, 1),
        ("[{}] []", 1, 6),
        ('{"role": "user"}\n{\n"role": "user"}', 2, 2),
        ('{\n"role": "user"\n}\n{"role": "user"}', 4, 1),
        ('{"role": "user"} {"role": "user"}', 1, 18),
        ('{"role": "user"}\n{"role": "user"} 1', 2, 18),
    ],
)
def test_broken_json_is_told_with_line_and_column(tmp_path: Path, content: str, line: int, column: int) -> None:
    error = refused(tmp_path, content)

    assert error.code == "INVALID_REQUEST"
    assert (error.line, error.column) == (line, column)
    assert f"line {line}, column {column}" in str(error)
    assert error.details == {"file": str(tmp_path / "chat"), "line": line, "column": column}


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_a_number_that_is_none_is_refused_where_it_stands(tmp_path: Path, token: str) -> None:
    error = refused(tmp_path, f'[{{"content": "NaN -Infinity 1e999 \\" {token}"}},\n {{"score": {token}}}]')

    assert (error.line, error.column) == (2, 12)
    assert token[:20] in str(error)
    assert len(str(error)) < 300


def test_a_number_that_is_none_is_refused_in_its_line(tmp_path: Path) -> None:
    error = refused(tmp_path, '{"role": "user"}\n\n{"score": NaN}\n')

    assert (error.line, error.column) == (3, 11)


def test_figures_come_as_they_were(tmp_path: Path) -> None:
    message = {"role": "user", "meta": {"score": 0.1, "big": 2**80, "none": None}}

    assert read_conversation(file_of(tmp_path, json.dumps([message]))).data == [message]


@pytest.mark.parametrize(
    "content",
    [
        '{"messages": []}\n{"messages": []}\n',
        '{"role": "user"}\n{"messages": []}\n',
        '[{"messages": []}]',
    ],
)
def test_several_whole_conversations_are_refused(tmp_path: Path, content: str) -> None:
    error = refused(tmp_path, content)

    assert "is a whole conversation" in str(error)
    assert "one conversation is fitted at a time" in str(error)


@pytest.mark.parametrize(
    ("content", "kind"), [("null", "null"), ("true", "true or false"), ('"hi"', "a text"), ("3", "a number")]
)
def test_json_that_is_no_conversation_is_refused(tmp_path: Path, content: str, kind: str) -> None:
    assert f"holds {kind}, not a list of messages" in str(refused(tmp_path, content))
    assert f"line 2: this line is {kind}, not a message" in str(refused(tmp_path, '{"role": "user"}\n' + content))


@pytest.mark.parametrize("content", [b"", b"  \n\t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "is empty" in str(refused(tmp_path, content))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_not_utf8_are_told_with_their_offset(tmp_path: Path, mark: bytes) -> None:
    error = refused(tmp_path, mark + b'["caf\xe9"]')

    assert f"is not UTF-8 at byte {len(mark) + 5}" in str(error)


def test_utf16_is_called_by_its_name(tmp_path: Path) -> None:
    assert "is UTF-16, not UTF-8" in str(refused(tmp_path, json.dumps([HELLO]).encode("utf-16")))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"role": "user"}\n' + "[" * 100_000])
def test_json_nested_too_deeply_is_refused(tmp_path: Path, text: str) -> None:
    assert "nested too deeply" in str(refused(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="there is no such file"):
        read_conversation(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_what_never_ends_and_is_no_text_is_refused_at_once(device: str) -> None:
    with pytest.raises(UnreadableInputError, match=r"it is no text: byte [0-9]+ is 0"):
        read_conversation(device)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="is a directory"):
        read_conversation(str(tmp_path))


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="it cannot be read: Not a directory"):
        read_conversation(file_of(tmp_path, "[]") + os.sep + "inside")


def test_any_single_json_value_is_read(tmp_path: Path) -> None:
    assert read_json(file_of(tmp_path, ' [{"type": "function"}]\n')) == [{"type": "function"}]
    with pytest.raises(UnreadableInputError, match="more after the end"):
        read_json(file_of(tmp_path, "[] []"))


def has_no_pair(text: str) -> bool:
    """Whether no two halves of a character stand side by side: JSON reads those as a whole one."""
    return not re.search("[\ud800-\udbff][\udc00-\udfff]", text)


texts = st.text(st.characters(codec=None), max_size=20).filter(has_no_pair)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
messages = st.dictionaries(texts, values, max_size=4).filter(lambda message: "messages" not in message)


@given(conversation=st.lists(messages, max_size=4), indented=st.booleans(), spaced=st.booleans())
def test_a_list_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, conversation: list[object], indented: bool, spaced: bool
) -> None:
    path = str(tmp_path_factory.mktemp("list") / "chat.json")
    write_file(path, json_pieces(conversation, Form("list", indented=indented, spaced=spaced)))

    assert read_conversation(path).data == conversation


@given(conversation=st.lists(messages, min_size=2, max_size=4), spaced=st.booleans())
def test_lines_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, conversation: list[object], spaced: bool
) -> None:
    path = str(tmp_path_factory.mktemp("lines") / "chat.jsonl")
    write_file(path, json_pieces(conversation, Form("lines", spaced=spaced)))

    assert read_conversation(path).data == conversation
