"""Talks with providers that keep the chat: what is sent, and what people read when it cannot go on like that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.talking import Talker
from fakes.chat_server import ChatServer
from fakes.interactions_server import InteractionsServer
from fakes.responses_server import ResponsesServer
from trimtab.continuation.notices import SENTENCES

GUIDE = (Path(__file__).parents[2] / "docs/turns.md").read_text()
Server = ResponsesServer | InteractionsServer
KEPT = ("--provider", "kept", "--model", "gpt-4o")


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


@pytest.fixture(params=["openai", "gemini"])
def server(request: pytest.FixtureRequest, talker: Talker) -> Iterator[Server]:
    """A server that keeps chats, configured as the provider `kept`; whatever was asked of it was right."""
    opened: Server = ResponsesServer() if request.param == "openai" else InteractionsServer()
    with opened as server:
        talker.provide("kept", server.base_url, driver=request.param)
        yield server
        assert server.faults == []


def previous(server: Server, number: int) -> object:
    """Give the cursor of a request, None where it has none."""
    body = server.requests[number - 1].body
    return body.get("previous_response_id", body.get("previous_interaction_id"))


def test_the_next_line_sends_only_what_is_new(talker: Talker, server: Server) -> None:
    server.say("Seven.")
    server.say("None.")
    ended = talker.chat(*KEPT, lines="How many kettles?\nAnd pots?\n")

    assert (ended.code, ended.out) == (0, "Seven.\nNone.\n")
    assert previous(server, 2) is not None
    assert "How many kettles?" not in server.requests[1].raw.decode()
    assert "How many kettles?" in server.view(2).text


def test_another_process_goes_on_by_the_cursor(talker: Talker, server: Server) -> None:
    server.say("Seven.")
    talker.chat(*KEPT, "-p", "How many kettles?")
    server.say("None.")
    ended = talker.chat("-p", "And pots?")

    assert (ended.code, ended.out) == (0, "None.\n")
    assert previous(server, 2) == server.kept[0]


def test_a_chat_that_the_provider_forgot_is_sent_again_with_a_plain_sentence(
    talker: Talker, server: Server
) -> None:
    server.say("Seven.")
    talker.chat(*KEPT, "-p", "How many kettles?")
    server.forget_all()
    server.say("None.")
    ended = talker.chat("-p", "And pots?")

    assert (ended.code, ended.out) == (0, "None.\n")
    assert SENTENCES["cursor_expired"] in ended.err
    assert "cursor" not in ended.err
    assert "How many kettles?" in server.view(3).text


def test_an_edit_is_followed_by_a_plain_sentence_and_the_old_text_is_gone(talker: Talker, server: Server) -> None:
    server.say("Seven.")
    server.say("Nine.")
    ended = talker.chat(*KEPT, lines="How many kettles?\n/edit 1 How many whisks?\nSure?\n")

    assert ended.code == 0
    assert SENTENCES["history_changed"] in ended.err
    assert previous(server, 2) is None
    assert "kettles" not in server.view(2).text


def test_a_notice_is_in_the_events_for_programs(talker: Talker, server: Server) -> None:
    server.say("Seven.")
    talker.chat(*KEPT, "--system", "Be kind.", "-p", "How many kettles?")
    server.say("None.")
    ended = talker.chat("--system", "Be brief.", "--json", "-p", "And pots?")

    events = [json.loads(line) for line in ended.out.splitlines()]
    told = [event for event in events if event["kind"] in ("continuation_degraded", "fallback_notice")]
    assert [event["reason"] for event in told] == ["system_prompt_changed"] * 2
    assert told[1]["message"] == SENTENCES["system_prompt_changed"]


def test_notices_are_no_part_of_what_is_sent_or_listed_as_said(talker: Talker, server: Server) -> None:
    server.say("Seven.")
    talker.chat(*KEPT, "-p", "How many kettles?")
    server.forget_all()
    server.say("None.")
    server.say("Quite.")
    ended = talker.chat(lines="And pots?\nSure?\n/context\n")

    assert ended.code == 0
    assert SENTENCES["cursor_expired"] not in server.view(4).text
    assert ended.err.count(SENTENCES["cursor_expired"]) == 1


def test_a_chat_goes_from_a_provider_that_keeps_it_to_one_that_does_not_and_back(
    talker: Talker, server: Server
) -> None:
    with ChatServer() as local:
        talker.provide("local", local.base_url)
        server.say("Seven.")
        talker.chat(*KEPT, "-p", "How many kettles?")
        local.say("None.")
        away = talker.chat("--provider", "local", "--model", "gpt-4o", "--yes", "-p", "And pots?")
        server.say("Three.")
        back = talker.chat(*KEPT, "--yes", "-p", "And lids?")
        server.say("Sure.")
        again = talker.chat("-p", "Sure?")

        assert local.faults == []
    assert [one.code for one in (away, back, again)] == [0, 0, 0]
    assert SENTENCES["provider_changed"] in away.err
    assert not any(sentence in back.err + again.err for sentence in SENTENCES.values())
    assert [previous(server, number) is None for number in (2, 3)] == [True, False]
    assert "And pots?" in server.view(2).text


def test_the_line_of_the_guide_begins_a_chat_with_openai(talker: Talker) -> None:
    found = re.search(r"^trimtab chat (.*--provider openai.*?) +#", GUIDE, re.MULTILINE)
    assert found is not None
    with ResponsesServer() as server:
        talker.provide("openai", server.base_url, driver="openai")
        server.say("Seven.")
        ended = talker.chat(*found[1].split(), "-p", "How many kettles?")

        assert (ended.code, ended.out) == (0, "Seven.\n")
        assert server.faults == []
