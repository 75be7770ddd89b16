from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.talking import DRY, LOCAL, Talker, row
from fakes.chat_server import ChatServer


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


def test_an_audit_tells_what_was_sent_and_what_left(talker: Talker) -> None:
    talker.chat(*DRY, "--limit", "200", lines="first\n" + "second " * 60 + "\nthird\n")
    ended = talker.audit(talker.the_chat()[:8])

    assert ended.code == 0
    assert ended.out.splitlines()[0].startswith("dry-run was given ")
    assert " left out (" in ended.out
    assert row(ended.out[ended.out.index("sent:") :], 5).startswith("5 user")
    assert row(ended.out[ended.out.index("left out: ") :], 1).endswith("context-shift first")
    assert "call 1: stop" in ended.out
    assert ended.out.splitlines()[-1] == "counted with o200k_base, exact"


def test_programs_get_the_record_itself(talker: Talker) -> None:
    talker.chat(*DRY, "-p", "hi")
    record = json.loads(talker.audit(talker.the_chat(), "--json").out)

    assert record["status"] == "completed"
    assert [block["reason"] for block in record["blocks"]] == ["current-input"]
    assert "messages" not in record


def test_the_messages_that_were_sent_are_made_again(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.say("Ho.")
        talker.chat(*LOCAL, "--system", "Be brief.", "-p", "hi")
        sent = server.requests[0].messages
    ended = talker.audit(talker.the_chat(), "--messages")
    record = json.loads(talker.audit(talker.the_chat(), "--messages", "--json").out)

    assert json.loads(ended.out) == sent == record["messages"]
    assert "the very messages that were sent" in ended.err
    assert (record["matches"], record["missing"]) == (True, [])


def test_an_edit_after_the_call_does_not_change_what_was_sent(talker: Talker) -> None:
    talker.chat(*DRY, lines="hi\n/edit 1 ho\n")
    ended = talker.audit(talker.the_chat(), "--messages")

    assert json.loads(ended.out) == [{"role": "user", "content": "hi"}]
    assert "the very messages" in ended.err


def test_a_failed_call_says_its_code(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.refuse("quota")
        talker.chat(*LOCAL, "-p", "hi")

    ended = talker.audit(talker.the_chat())
    assert "It failed: PROVIDER_QUOTA_EXHAUSTED." in " ".join(ended.out.split())


def test_a_chat_in_which_nothing_was_sent_has_no_record(talker: Talker, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text('[{"role": "user", "content": "hi"}]')
    talker.chat(*DRY, "--import", str(file), lines="/audit\n")

    assert talker.audit(talker.the_chat()).err == "Nothing was sent in this chat yet.\n"
    assert talker.audit(talker.the_chat(), "--json").out == "null\n"


def test_looking_makes_no_store(talker: Talker) -> None:
    ended = talker.audit("abc")

    assert ended.code == 2
    assert "[STORE_UNAVAILABLE]" in ended.err
    assert not talker.store.exists()


def test_a_chat_that_is_not_there_is_named(talker: Talker) -> None:
    talker.chat(*DRY, "-p", "hi")

    assert "[CHAT_NOT_FOUND] there is no chat 'xyz'" in " ".join(talker.audit("xyz").err.split()).replace(":", "")
