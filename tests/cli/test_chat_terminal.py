from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.keyboards import CTRL_C, CTRL_D, Keyboard
from cli.talking import DRY, LOCAL, Talker
from fakes.chat_server import ChatServer


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


def test_a_talk_in_a_narrow_terminal_goes_on_where_it_was_left(talker: Talker) -> None:
    with Keyboard("chat", *DRY, *talker.options(), columns=60) as keyboard:
        keyboard.wait_for("/help lists the")
        keyboard.wait_for("> ")
        keyboard.type("Hello there\n")
        keyboard.wait_for("plenty of room")
        keyboard.wait_for("> ")
        keyboard.type("/context\n")
        context = keyboard.wait_for("current-input")
        keyboard.type("/nix\n")
        keyboard.wait_for("[INVALID_REQUEST] there is no command /nix")
        keyboard.wait_for("\n> ")
        keyboard.type(CTRL_D)
        assert keyboard.end() == 0
    with Keyboard("chat", *talker.options()) as keyboard:
        keyboard.wait_for("#1 user: Hello there")
        keyboard.wait_for("> ")
        keyboard.type("one\\\ntwo\n/quit\n")
        keyboard.wait_for("“one two”")
        assert keyboard.end() == 0

    assert "protected" in context
    assert max(map(cell_len, context.splitlines())) <= 60


def test_ctrl_c_ends_the_answer_and_keeps_what_had_come(talker: Talker) -> None:
    with ChatServer() as server:
        gate = server.gate()
        server.say("Once upon", gate, " a time.")
        talker.provide("local", server.base_url)
        with Keyboard("chat", *LOCAL, *talker.options()) as keyboard:
            keyboard.wait_for("> ")
            keyboard.type("Tell me.\n")
            keyboard.wait_for("Once upon")
            keyboard.type(CTRL_C)
            keyboard.wait_for("Cancelled. What had come is kept")
            server.closed_early.wait()
            keyboard.type("/messages\n")
            keyboard.wait_for("incomplete  Once upon")
            keyboard.wait_for("> ")
            keyboard.press(CTRL_C, "Ctrl-C again leaves")
            keyboard.wait_for("> ")
            assert keyboard.end(CTRL_C) == 130
        gate.open()


def test_ctrl_c_in_a_single_turn_ends_with_130(talker: Talker) -> None:
    with ChatServer() as server:
        gate = server.gate()
        server.say("Once upon", gate, " a time.")
        talker.provide("local", server.base_url)
        with Keyboard("chat", *LOCAL, "-p", "Tell me.", *talker.options()) as keyboard:
            keyboard.wait_for("Once upon")
            keyboard.type(CTRL_C)
            assert keyboard.end() == 130
        gate.open()

    assert "The last turn was cancelled" not in talker.chat(lines="/messages\n").out
    assert "incomplete" in talker.chat(lines="/messages\n").err


def test_an_edit_begins_with_the_text_that_stands_there(talker: Talker) -> None:
    with Keyboard("chat", *DRY, *talker.options(), env={"NO_COLOR": "1"}) as keyboard:
        keyboard.wait_for("> ")
        keyboard.type("Hello\n")
        keyboard.wait_for("plenty of room")
        keyboard.wait_for("> ")
        keyboard.type("/edit 1\n")
        keyboard.wait_for("new text: Hello")
        keyboard.type(" you\n")
        keyboard.wait_for("#1 is changed")
        keyboard.type("/retry\n")
        keyboard.wait_for("“Hello you”")
        keyboard.type("/quit\n")
        assert keyboard.end() == 0


def test_a_failure_in_a_talk_is_told_and_the_talk_goes_on(talker: Talker) -> None:
    with ChatServer() as server:
        server.refuse("rate-limit", should_retry=False)
        server.say("Fine now.")
        talker.provide("local", server.base_url, "retries = 0")
        with Keyboard("chat", *LOCAL, *talker.options(), columns=120) as keyboard:
            keyboard.wait_for("> ")
            keyboard.type("hi\n")
            keyboard.wait_for("[PROVIDER_RATE_LIMITED]")
            keyboard.wait_for("/retry tries again")
            keyboard.type("/retry\n")
            keyboard.wait_for("Fine now.")
            keyboard.wait_for("\n> ")
            keyboard.type(CTRL_D)
            assert keyboard.end() == 0
