from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import environment, run
from cli.talking import DRY, LOCAL, Talker, row, wait_for
from fakes.chat_server import ChatServer, echo
from trimtab.store.protocol import NewChat
from trimtab.turns.events import TurnPaused
from trimtab_sdk.provider import ToolSpec


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


def test_an_answer_goes_to_stdout_and_the_state_of_the_window_to_stderr(talker: Talker) -> None:
    ended = talker.chat(*DRY, "-p", "Hello there")

    assert ended.code == 0
    assert ended.out.endswith("Last text of the user: “Hello there”\n")
    assert "of 128,000 tokens, under 1 %: plenty of room" in ended.err
    assert "░" in ended.err


def test_the_last_chat_goes_on(talker: Talker) -> None:
    talker.chat(*DRY, "--system", "Be brief.", "-p", "Hello")

    assert "Messages: 1 assistant, 1 system, 2 user." in talker.chat("-p", "And now?").out
    assert len(talker.chats()) == 1


def test_a_chat_is_named_by_the_beginning_of_its_id(talker: Talker) -> None:
    talker.chat(*DRY, "-p", "the first")
    first = talker.the_chat()
    talker.chat(*DRY, "--new", "-p", "the second")

    assert "Messages: 1 assistant, 2 user." in talker.chat(first[:6], "-p", "go on").out
    assert [chat["title"] for chat in talker.chats()] == ["the first", "the second"]


def test_a_beginning_that_several_chats_share_is_refused_with_their_names(talker: Talker) -> None:
    async def make() -> None:
        async with talker.host() as host:
            for name in ("abc-1", "abc-2"):
                settings = {"provider": "dry-run", "model": "gpt-4o"}
                await host.store.create_chat(NewChat(id=name, owner="local", settings=settings), now=1.0)

    wait_for(make())
    ended = talker.chat("abc", "-p", "hi")

    assert ended.code == 2
    assert "abc-1" in ended.err
    assert "abc-2" in ended.err
    assert "CHAT_NOT_FOUND" in talker.chat("abd", "-p", "hi").err


def test_chats_of_another_owner_are_not_there(talker: Talker) -> None:
    talker.chat(*DRY, "-p", "mine", "--owner", "ann")

    assert talker.chats() == []
    assert talker.chat("-p", "hi").code == 2


def test_each_line_of_a_pipe_is_a_turn_or_a_command(talker: Talker) -> None:
    ended = talker.chat(*DRY, lines="one\n\n/messages\n//etc is a folder\n/quit\nnever said\n")

    assert ended.code == 0
    assert "Last text of the user: “one”" in ended.out
    assert "Last text of the user: “/etc is a folder”" in ended.out
    assert "never said" not in ended.out
    assert row(ended.err, 1) == "1 user one"


def test_programs_get_one_event_a_line(talker: Talker) -> None:
    ended = talker.chat(*DRY, "--json", lines="one\n/two\n")

    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["kind"] for event in events if event["kind"].startswith("turn_")] == [
        "turn_started",
        "turn_completed",
    ] * 2
    assert "“/two”" in "".join(event.get("text", "") for event in events)
    assert ended.err == ""


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--provider", "nix", "--model", "gpt-4o"), "UNKNOWN_PROVIDER"),
        (("--provider", "dry-run", "--model", "nix"), "UNKNOWN_MODEL"),
        ((*DRY, "--strategy", "nix"), "UNKNOWN_STRATEGY"),
        ((*DRY, "--system", "@nowhere.txt"), "INVALID_REQUEST"),
        ((), "USAGE"),
    ],
)
def test_what_cannot_be_asked_stores_nothing_and_ends_with_2(
    talker: Talker, args: tuple[str, ...], code: str
) -> None:
    ended = talker.chat(*args, "-p", "hi")

    assert ended.code == 2
    assert ended.err.startswith(f"error [{code}]")
    assert talker.chats() == []


def test_an_unknown_provider_is_told_to_programs_as_json(talker: Talker) -> None:
    ended = talker.chat("--provider", "nix", "--model", "gpt-4o", "--json", "-p", "hi")

    assert ended.code == 2
    assert json.loads(ended.out)["code"] == "UNKNOWN_PROVIDER"


def test_a_chat_in_which_nothing_was_said_is_not_kept(talker: Talker) -> None:
    assert talker.chat(*DRY, lines="/help\n").code == 0
    assert talker.chat(*DRY, "-p", "  ").code == 2
    assert talker.chats() == []


def test_what_must_stay_over_the_budget_ends_with_3_and_is_kept(talker: Talker) -> None:
    ended = talker.chat(*DRY, "--limit", "40", "-p", "word " * 200)

    assert ended.code == 3
    assert "[TOKEN_BUDGET_EXCEEDED]" in ended.err
    again = talker.chat("--limit", "4000", lines="/retry\n")
    assert again.code == 0
    assert "Messages: 1 user." in again.out


def test_the_first_turn_that_fails_is_the_last_and_can_be_tried_again(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.refuse("auth")
        ended = talker.chat(*LOCAL, lines="one\ntwo\n")
        server.say("Now it works.")
        again = talker.chat(lines="/retry\n")

        assert ended.code == 1
        assert "[PROVIDER_AUTHENTICATION]" in ended.err
        assert "/retry tries again" in ended.err
        assert (again.code, again.out) == (0, "Now it works.\n")
        assert [request.messages for request in server.requests] == [[{"role": "user", "content": "one"}]] * 2
        assert server.faults == []


def test_retry_asks_again_for_another_answer_in_place_of_the_old_one(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.say("A.")
        server.say("B.")
        ended = talker.chat(*LOCAL, lines="Which?\n/retry\n/messages\n")

        assert ended.out == "A.\nB.\n"
        assert server.requests[1].messages == [{"role": "user", "content": "Which?"}]
        assert row(ended.err, 4) == "4 assistant B."
        assert "A." not in ended.err


def test_an_edited_question_is_asked_again(talker: Talker) -> None:
    with ChatServer(echo()) as server:
        talker.provide("local", server.base_url)
        ended = talker.chat(*LOCAL, lines="Whihc?\n/edit 1 Which?\n/retry\n")

        assert ended.code == 0
        assert server.requests[1].messages == [{"role": "user", "content": "Which?"}]


def test_messages_are_pinned_and_left_out_by_number(talker: Talker) -> None:
    lines = "one\ntwo\n/pin #1\n/exclude 2\n/pin\n/context\n/include 2\n/unpin 1\n/exclude\n"
    ended = talker.chat(*DRY, "--system", "Be brief.", lines="hi\n/exclude 2 3\n" + lines)

    assert ended.code == 0
    assert "pinned: #1\n" in ended.err
    assert row(ended.err, 3).startswith("3 out assistant")
    assert " manual " in row(ended.err, 3)
    assert row(ended.err, 4).startswith("4 in user")
    assert "excluded: #3\n" in ended.err


def test_a_branch_goes_on_behind_an_earlier_message_and_the_rest_is_kept(talker: Talker) -> None:
    ended = talker.chat(*DRY, lines="one\ntwo\n/branch 2\nother\n/branch 4\n/messages\n")

    assert "Messages: 1 assistant, 2 user." in ended.out
    assert "“other”" in ended.out
    assert row(ended.err[ended.err.rindex("#") :], 3) == "3 user two"


def test_the_model_and_the_strategy_are_changed_only_to_what_works(talker: Talker) -> None:
    ended = talker.chat(*DRY, lines="one\n/model gpt-4o-mini\n/strategy summarize\nok\n")
    refused = talker.chat(lines="/model nix\n")

    assert "gpt-4o-mini by dry-run, strategy summarize" in ended.err
    assert "Dry run for the model gpt-4o-mini" in ended.out
    assert refused.code == 2
    assert talker.chats()[0]["settings"] == {
        "provider": "dry-run",
        "model": "gpt-4o-mini",
        "contextStrategy": "summarize",
    }


def test_an_unknown_command_names_the_nearest_one(talker: Talker) -> None:
    ended = talker.chat(*DRY, lines="/retyr\n")

    assert ended.code == 2
    assert "there is no command /retyr; did you mean /retry?" in ended.err


def test_the_last_chat_goes_to_another_provider_only_when_that_is_said(talker: Talker) -> None:
    with ChatServer(echo()) as server:
        talker.provide("local", server.base_url)
        talker.chat(*DRY, "-p", "a secret")
        refused = talker.chat("--provider", "local", "-p", "hi")
        assert server.requests == []
        agreed = talker.chat("--provider", "local", "-p", "hi", "--yes")

        assert refused.code == 2
        assert "--yes" in refused.err
        assert agreed.code == 0
        assert "a secret" in json.dumps(server.requests[0].body)


def test_a_conversation_from_elsewhere_goes_on(talker: Talker, tmp_path: Path) -> None:
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}],
    }
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body))
    ended = talker.chat("--provider", "dry-run", "--import", str(file), "-p", "go on")

    assert ended.code == 0
    assert "Messages: 1 assistant, 2 user." in ended.out
    assert talker.chats()[0]["settings"] == {"provider": "dry-run", "model": "gpt-4o"}


def test_the_system_text_comes_from_a_file_and_is_changed(talker: Talker, tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("Be brief.\n")
    talker.chat(*DRY, "--system", f"@{file}", "-p", "hi")

    assert talker.chat(lines="/system\n").err == "Be brief.\n"
    assert talker.chat("--system", "Be kind.", lines="/system\n").err == "Be kind.\n"
    assert talker.chat(*DRY, "--new", "-p", "hi").code == 0
    assert "--new" in talker.chat("--system", "Be kind.", "-p", "hi").err


def test_a_turn_that_waits_for_results_is_named_and_can_be_cancelled(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.call(("look", {}))

        async def pause() -> object:
            async with talker.host() as host:
                chat = await host.create_chat(owner="local", provider="local", model="gpt-4o")
                look = ToolSpec("look", "", {"type": "object", "properties": {}})
                stream = host.turn(chat.id, "Look.", owner="local", tools=[look])
                return [event async for event in stream][-1]

        assert isinstance(wait_for(pause()), TurnPaused)
        busy = talker.chat("-p", "hi")
        server.say("Fine.")
        ended = talker.chat(lines="/cancel\nGo on.\n")

    assert busy.code == 2
    assert "[TURN_IN_PROGRESS]" in busy.err
    assert "The turn is ended." in ended.err
    assert (ended.code, ended.out) == (0, "Fine.\n")


def test_an_answer_does_not_steer_the_terminal(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.say("\x1b[2J\x1b]0;owned\x07", "a\u202eb\tc\n", "d")
        ended = talker.chat(*LOCAL, "-p", "hi")

    assert ended.out == "[2J]0;ownedab\tc\nd\n"


def test_a_cut_answer_says_so(talker: Talker) -> None:
    with ChatServer() as server:
        talker.provide("local", server.base_url)
        server.say("Once upon", finish="length")
        ended = talker.chat(*LOCAL, lines="Tell.\n/messages\n")

    assert ended.code == 0
    assert "cut at its longest length" in ended.err
    assert row(ended.err, 2) == "2 assistant incomplete Once upon"


def test_lines_that_are_no_utf_8_are_refused_with_their_number(talker: Talker) -> None:
    ended = talker.chat(*DRY, lines=b"one\n\xff\xfe\n")

    assert ended.code == 2
    assert "stdin, line 2: it is not UTF-8" in ended.err


def test_options_that_contradict_each_other_are_refused(talker: Talker) -> None:
    assert "leave out CHAT" in talker.chat("abc", "--new", *DRY).err
    assert "--prompt" in talker.chat("--import", "-", *DRY).err


def test_chats_are_kept_in_the_user_s_data_folder_for_the_user_alone(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    assert run("chat", *DRY, "-p", "hi", env=env).code == 0

    assert (tmp_path / "trimtab/chats.db").stat().st_mode & 0o077 == 0
    assert (tmp_path / "trimtab").stat().st_mode & 0o077 == 0


def test_a_list_without_chats_makes_no_store(talker: Talker) -> None:
    ended = talker.chat("--list")

    assert ended.code == 0
    assert "no chats yet" in ended.err
    assert not talker.store.exists()


def test_without_the_extra_the_line_that_installs_it_is_named() -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; from trimtab.cli import main; sys.exit(main(['chat']))"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )

    assert ended.returncode == 2
    assert "pip install 'trimtab[turns]'" in ended.stderr


@pytest.mark.parametrize("command", ["chat", "audit"])
def test_help_of_chats_imports_nothing_heavy(command: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trimtab.cli", command, "--help"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )

    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert not imported & {"rich", "pydantic", "sqlalchemy", "alembic", "httpx", "trimtab_sdk", "trimtab_plugins"}
