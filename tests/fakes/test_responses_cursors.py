"""Cursors of the fake Responses API: what they hold, where they fork, when they are gone, what comes twice."""

from __future__ import annotations

import httpx
import pytest

from fakes.chat_clients import client_of
from fakes.responses_clients import LOOKUP, answer, error, events, output, user
from fakes.responses_server import CUT, Json, ResponsesServer, agent, ask, echo, reply, thought


def texts_of(server: ResponsesServer, number: int) -> list[str]:
    items = server.view(number).items
    return [part.get("text", "") for one in items if one["type"] == "message" for part in one["content"]]


def test_a_cursor_holds_what_was_said_but_neither_instructions_nor_tools() -> None:
    with ResponsesServer() as server:
        server.say("One.")
        server.say("Two.")
        first = answer(server.base_url, user("First"), instructions="Be brief.", tools=[LOOKUP])
        answer(server.base_url, user("Second"), previous_response_id=first["id"])
        assert texts_of(server, 2) == ["First", "One.", "Second"]
        assert (server.view(1).instructions, server.view(1).tools) == ("Be brief.", [LOOKUP])
        assert (server.view(2).instructions, server.view(2).tools) == (None, [])
        assert "Be brief." not in server.view(2).text
        assert len(server.chain(server.last_id)) == 4
        assert server.faults == []


def test_a_chain_forks_from_any_answer() -> None:
    with ResponsesServer(echo()) as server:
        first = answer(server.base_url, user("First"))["id"]
        answer(server.base_url, user("Left"), previous_response_id=first)
        answer(server.base_url, user("Right"), previous_response_id=first)
        assert texts_of(server, 3) == ["First", "1 items; last: First", "Right"]
        assert len(server.kept) == 3
        assert server.faults == []


def test_tools_run_through_a_cursor_with_their_outputs_alone() -> None:
    with ResponsesServer(agent(calls=1, rounds=2)) as server:
        first = answer(server.base_url, user("Look"), tools=[LOOKUP])
        second = answer(
            server.base_url,
            output(first["output"][0]["call_id"]),
            previous_response_id=first["id"],
            tools=[LOOKUP],
        )
        third = answer(
            server.base_url,
            output(second["output"][0]["call_id"]),
            previous_response_id=second["id"],
            tools=[LOOKUP],
        )
        assert third["output"][0]["content"][0]["text"] == "2 results. You said: Look"
        assert server.faults == []


@pytest.mark.parametrize("ask_again", ["nothing", "a user's message", "one of two outputs"])
def test_a_call_without_its_output_is_refused_through_the_cursor(ask_again: str) -> None:
    with ResponsesServer() as server:
        server.call(("lookup", {"id": 1}), ("lookup", {"id": 2}))
        first = answer(server.base_url, user("Look"), tools=[LOOKUP])
        calls = [one["call_id"] for one in first["output"]]
        items: dict[str, Json] = {
            "nothing": [],
            "a user's message": [user("And?")],
            "one of two outputs": [output(calls[0])],
        }
        found = error(server.base_url, *items[ask_again], previous_response_id=first["id"])
        missing = calls[1] if ask_again == "one of two outputs" else calls[0]
        assert found["message"] == f"No tool output found for function call {missing}."
        assert (found["status"], found["param"], found["code"]) == (400, "input", None)
        assert len(server.faults) == 1


def test_an_answer_that_was_not_to_be_kept_has_no_cursor() -> None:
    with ResponsesServer(echo()) as server:
        first = answer(server.base_url, user("First"), store=False)
        assert server.kept == []
        found = error(server.base_url, user("Second"), previous_response_id=first["id"])
        assert (found["status"], found["code"]) == (400, "previous_response_not_found")
        assert found["param"] == "previous_response_id"
        assert len(server.faults) == 1


def test_a_cursor_that_was_forgotten_is_no_fault_and_those_behind_it_stay() -> None:
    with ResponsesServer(echo()) as server:
        first = answer(server.base_url, user("First"))["id"]
        second = answer(server.base_url, user("Second"), previous_response_id=first)["id"]
        server.forget(first)
        assert error(server.base_url, user("Third"), previous_response_id=first)["code"] == (
            "previous_response_not_found"
        )
        answer(server.base_url, user("Third"), previous_response_id=second)
        assert texts_of(server, 4)[0] == "First"
        server.forget_all()
        assert server.kept == []
        with pytest.raises(KeyError):
            server.forget(first)
        assert server.faults == []


def test_a_cursor_expires_by_the_clock() -> None:
    clock = [0.0]
    with ResponsesServer(echo(), now=lambda: clock[0], keep_seconds=60) as server:
        first = answer(server.base_url, user("First"))["id"]
        clock[0] = 59
        second = answer(server.base_url, user("Second"), previous_response_id=first)["id"]
        clock[0] = 60
        assert server.kept == [second]
        found = error(server.base_url, user("Third"), previous_response_id=first)
        assert found["code"] == "previous_response_not_found"


def test_the_error_of_a_lost_cursor_has_its_other_forms() -> None:
    with ResponsesServer() as server:
        server.switches.cursor_errors = "terse"
        found = error(server.base_url, user("Hello"), previous_response_id="resp_0")
        assert found["message"] == "Invalid `previous_response_id`."
        assert (found["status"], found["code"], found["param"]) == (400, "invalid_request_error", None)
        server.switches.cursor_errors = "usual"
        server.switches.cursor_status = 404
        assert error(server.base_url, user("Hello"), previous_response_id="resp_0")["status"] == 404
        assert server.faults == []


@pytest.mark.parametrize("cursor", ["", "abc", "msg_1", "resp_" + "x" * 60])
def test_a_malformed_cursor_is_a_fault(cursor: str) -> None:
    with ResponsesServer() as server:
        found = error(server.base_url, user("Hello"), previous_response_id=cursor)
        assert found["message"].startswith("Invalid 'previous_response_id': ")
        assert len(server.faults) == 1


def test_a_cursor_of_another_server_is_unknown_here() -> None:
    with ResponsesServer(echo()) as one, ResponsesServer(echo()) as other:
        first = answer(one.base_url, user("First"))["id"]
        found = error(other.base_url, user("Second"), previous_response_id=first)
        assert found["code"] == "previous_response_not_found"


def test_what_the_chain_holds_already_must_not_be_sent_again() -> None:
    with ResponsesServer() as server:
        server.say("Looking.", ask("lookup", {"id": 1}))
        server.reply(*[reply("Done.")] * 4)
        first = answer(server.base_url, user("Look"), tools=[LOOKUP])
        message, call = first["output"]
        for again in (message, call, {**call, "id": "fc_other"}):
            found = error(server.base_url, again, output(call["call_id"]), previous_response_id=first["id"])
            assert "sent twice" in found["message"]
        second = answer(server.base_url, output(call["call_id"]), previous_response_id=first["id"])
        assert server.faults == [f"request {n}: {server.requests[n - 1].faults[0]}" for n in (2, 3, 4)]
        found = error(server.base_url, output(call["call_id"]), previous_response_id=second["id"])
        assert "sent twice" in found["message"]
        answer(server.base_url, user("Look"), previous_response_id=second["id"])
        assert "sent twice" in server.faults[-1]
        assert server.requests[-1].fate == "answered"


def test_users_may_repeat_themselves_where_that_is_said() -> None:
    with ResponsesServer(echo(), may_repeat=True) as server:
        first = answer(server.base_url, user("Yes"))["id"]
        answer(server.base_url, user("Yes"), previous_response_id=first)
        assert server.faults == []


def test_answers_are_read_and_deleted_by_their_id() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        server.say(thought("Hm."), "Hello.")
        made = client.responses.create(model="m", input="Hi")
        assert client.responses.retrieve(made.id).output_text == "Hello."
        listed = client.responses.input_items.list(made.id)
        assert [one.type for one in listed.data] == ["message"]
        client.responses.delete(made.id)
        assert httpx.get(f"{server.base_url}/responses/{made.id}").status_code == 404
        assert server.kept == []
        assert server.faults == []


def test_a_cut_answer_can_be_asked_for_again_from_the_same_cursor() -> None:
    with ResponsesServer() as server:
        server.say("One.")
        server.say("Tw", CUT)
        server.say("Two.")
        first = answer(server.base_url, user("First"))["id"]
        events(server.base_url, user("Second"), previous_response_id=first)
        answer(server.base_url, user("Second"), previous_response_id=first)
        assert texts_of(server, 3) == ["First", "One.", "Second"]
        assert server.faults == []


def test_two_turns_at_once_from_one_cursor_do_not_see_each_other() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        gate = server.gate()
        server.say("One.")
        server.say("Sl", gate, "ow")
        server.say("Quick")
        first = answer(server.base_url, user("First"))["id"]
        slow = client.responses.create(model="m", input="Left", previous_response_id=first, stream=True)
        gate.reached.wait()
        answer(server.base_url, user("Right"), previous_response_id=first)
        gate.open()
        list(slow)
        assert texts_of(server, 3) == ["First", "One.", "Right"]
        assert len(server.kept) == 3


def test_conversations_are_not_kept_here() -> None:
    with ResponsesServer(echo()) as server:
        assert error(server.base_url, user("Hello"), conversation="conv_1")["status"] == 404
        first = answer(server.base_url, user("First"))["id"]
        both = error(server.base_url, user("Second"), conversation="conv_1", previous_response_id=first)
        assert "Mutually exclusive" in both["message"]
        assert len(server.faults) == 2


def test_the_same_chat_by_cursors_and_by_replay_shows_the_model_the_same() -> None:
    views = []
    for is_kept in (True, False):
        with ResponsesServer() as server:
            history: list[Json] = []
            cursor: Json = {}
            for question in ("First", "Second", "Third"):
                server.say(thought(f"On {question}."), f"About {question}.")
                history.append(user(question))
                items = history[-1:] if is_kept else history
                said = answer(server.base_url, *items, store=is_kept, **cursor)
                history += said["output"]
                cursor = {"previous_response_id": said["id"]} if is_kept else {}
            views.append([{**one, "id": ""} for one in server.view(3).items])
            assert server.faults == []
    assert views[0] == views[1]
    assert len(views[0]) == 7
