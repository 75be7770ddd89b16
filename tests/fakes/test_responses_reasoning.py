"""Reasoning in the fake Responses API: bound to its prefix and its model, and to what came from it."""

from __future__ import annotations

import pytest

from fakes.responses_clients import LOOKUP, answer, error, events, output, user
from fakes.responses_server import Json, ResponsesServer, ask, reply, thought

FIRST = user("First")
FOLLOWING = user("Second")


def thinking(server: ResponsesServer, **keys: Json) -> list[Json]:
    """Ask once and give the output: reasoning and a message."""
    server.say(thought("Secretly."), "One.")
    items: list[Json] = answer(server.base_url, FIRST, **keys)["output"]
    return items


def without(value: Json, *keys: str) -> Json:
    return {name: inner for name, inner in value.items() if name not in keys}


def reasons(server: ResponsesServer, number: int) -> list[str]:
    return [one["reason"] for one in server.dropped(number)]


def test_replayed_reasoning_is_seen_by_the_model() -> None:
    with ResponsesServer() as server:
        said = thinking(server, store=False)
        server.say("Two.")
        whole = answer(server.base_url, FIRST, *said, FOLLOWING, store=False)
        assert whole["input_transformations"] == []
        assert "Secretly." in server.view(2).text
        assert server.faults == []


def test_a_replay_in_other_words_for_the_same_items_keeps_the_prefix() -> None:
    with ResponsesServer() as server:
        said = thinking(server, store=False)
        server.say("Two.")
        second = answer(server.base_url, FIRST, *said, FOLLOWING, store=False)["output"]
        server.say(thought("Still."), "Three.")
        easy = {"role": "assistant", "content": "One."}
        third = answer(server.base_url, FIRST, easy, FOLLOWING, *second, user("Third"), store=False)["output"]
        server.say("Four.")
        bare = {"role": "user", "content": [{"type": "input_text", "text": "First"}]}
        known = [without(second[0], "phase"), user("Third"), *third]
        answer(server.base_url, bare, easy, FOLLOWING, *known, user("Fourth"), store=False)
        assert server.dropped(4) == []
        assert server.faults == []


@pytest.mark.parametrize("change", ["edited", "inserted", "taken out"])
def test_reasoning_whose_prefix_has_changed_is_dropped_and_listed(change: str) -> None:
    before = {"edited": [user("Else")], "inserted": [FIRST, user("More")], "taken out": []}[change]
    with ResponsesServer() as server:
        said = thinking(server, store=False)
        server.say("Two.")
        whole = answer(server.base_url, *before, *said, FOLLOWING, store=False)
        assert whole["input_transformations"] == [
            {"id": said[0]["id"], "type": "reasoning", "action": "removed", "reason": "prefix_mismatch"}
        ]
        assert "Secretly." not in server.view(2).text
        assert server.faults == []


def test_reasoning_of_another_model_is_dropped_by_replay_and_by_cursor() -> None:
    with ResponsesServer() as server:
        said = thinking(server)
        server.reply(reply("Two."), reply("Three."))
        answer(server.base_url, FIRST, *said, FOLLOWING, model="n")
        answer(server.base_url, FOLLOWING, model="n", previous_response_id=server.kept[0])
        assert [reasons(server, number) for number in (2, 3)] == [["model_mismatch"], ["model_mismatch"]]


def test_reasoning_of_former_turns_is_dropped_where_that_is_asked_for() -> None:
    with ResponsesServer() as server:
        said = thinking(server)
        server.say("Two.")
        answer(server.base_url, FIRST, *said, FOLLOWING, reasoning={"context": "current_turn"})
        assert reasons(server, 2) == ["turn_boundary"]


def test_through_a_cursor_reasoning_always_fits() -> None:
    with ResponsesServer() as server:
        thinking(server)
        server.rotate_keys()
        server.say("Two.")
        answer(server.base_url, FOLLOWING, previous_response_id=server.last_id, instructions="Other.")
        assert server.dropped(2) == []
        assert "Secretly." in server.view(2).text


@pytest.mark.parametrize(("how", "faults"), [("rotated", 0), ("altered", 1), ("of nobody", 1)])
def test_encrypted_content_that_cannot_be_read_is_refused(how: str, faults: int) -> None:
    with ResponsesServer() as server:
        thinks, said = thinking(server)
        sealed = thinks["encrypted_content"]
        if how == "rotated":
            server.rotate_keys()
        texts = {"rotated": sealed, "altered": sealed[:40] + "AAAA" + sealed[44:], "of nobody": "opaque"}
        found = error(server.base_url, FIRST, {**thinks, "encrypted_content": texts[how]}, said, FOLLOWING)
        assert (found["status"], found["code"], found["param"]) == (400, "invalid_encrypted_content", None)
        assert len(server.faults) == faults


def test_another_server_cannot_read_it() -> None:
    with ResponsesServer() as one, ResponsesServer() as other:
        said = thinking(one)
        assert error(other.base_url, FIRST, *said, FOLLOWING)["code"] == "invalid_encrypted_content"


def test_only_what_is_done_holds_the_whole_encrypted_content() -> None:
    with ResponsesServer() as server:
        server.say(thought("Hm."), "One.")
        told = events(server.base_url, FIRST)
        added, done = [one["item"] for one in told if one.get("item", {}).get("type") == "reasoning"]
        found = error(server.base_url, FIRST, {**done, **added}, told[-1]["response"]["output"][1])
        assert found["code"] == "invalid_encrypted_content"


def test_encrypted_content_may_have_to_be_asked_for() -> None:
    with ResponsesServer() as server:
        server.switches.encrypts = False
        server.reply(*[reply(thought("Hm."), "One.")] * 2)
        bare = answer(server.base_url, FIRST)["output"][0]
        asked = answer(server.base_url, FIRST, include=["reasoning.encrypted_content"])["output"][0]
        assert "encrypted_content" not in bare
        assert asked["encrypted_content"]


def test_reasoning_by_its_id_needs_an_answer_that_was_kept() -> None:
    with ResponsesServer() as server:
        thinks, said = thinking(server)
        bare = without(thinks, "encrypted_content")
        server.say("Two.")
        answer(server.base_url, FIRST, bare, said, FOLLOWING)
        assert "Secretly." in server.view(2).text
        server.forget_all()
        found = error(server.base_url, FIRST, bare, said, FOLLOWING)
        assert found["status"] == 404
        assert found["message"].startswith(f"Item with id '{thinks['id']}' not found. Items are not persisted")
        assert server.faults == []
        unkept, text = thinking(server, store=False)
        error(server.base_url, FIRST, without(unkept, "encrypted_content"), text, FOLLOWING)
        assert len(server.faults) == 1


def test_items_are_named_by_references() -> None:
    with ResponsesServer() as server:
        said = thinking(server)
        server.say("Two.")
        names = [{"type": "item_reference", "id": said[0]["id"]}, {"id": said[1]["id"]}]
        answer(server.base_url, FIRST, *names, FOLLOWING)
        assert [one["type"] for one in server.view(2).items] == ["message", "reasoning", "message", "message"]
        assert server.faults == []


def test_reasoning_without_what_follows_it_is_refused() -> None:
    with ResponsesServer() as server:
        thinks, _ = thinking(server)
        for items in ([FIRST, thinks], [FIRST, thinks, FOLLOWING]):
            found = error(server.base_url, *items)
            assert found["message"] == (
                f"Item '{thinks['id']}' of type 'reasoning' was provided without its required following item."
            )
        assert len(server.faults) == 2


def test_an_item_of_a_kept_answer_is_refused_without_its_reasoning_unless_its_id_goes_too() -> None:
    with ResponsesServer() as server:
        server.say(thought("Hm."), "Looking.", ask("lookup", {"id": 1}))
        thinks, said, call = answer(server.base_url, FIRST, tools=[LOOKUP])["output"]
        found = error(server.base_url, FIRST, said, call, output(call["call_id"]))
        assert found["message"] == (
            f"Item '{said['id']}' of type 'message' was provided without its required 'reasoning' item: "
            f"'{thinks['id']}'."
        )
        server.say("Done.")
        easy = {"role": "assistant", "content": "Looking."}
        answer(server.base_url, FIRST, easy, without(call, "id"), output(call["call_id"]))
        assert len(server.faults) == 1


def test_an_answer_that_was_not_kept_is_replayed_without_its_reasoning() -> None:
    with ResponsesServer() as server:
        _, said = thinking(server, store=False)
        server.say("Two.")
        answer(server.base_url, FIRST, said, FOLLOWING)
        assert server.faults == []


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([output("call_a")], "No tool call found for function call output with call_id call_a."),
        (["call"], "No tool output found for function call call_a."),
        (["call", FOLLOWING], "No tool output found for function call call_a."),
        ([output("call_a"), "call"], "No tool call found for function call output with call_id call_a."),
    ],
    ids=["no call", "no output", "a user in its place", "the wrong order"],
)
def test_calls_and_outputs_stand_together_in_a_replay(items: list[Json], message: str) -> None:
    call = {"type": "function_call", "call_id": "call_a", "name": "lookup", "arguments": "{}"}
    with ResponsesServer() as server:
        found = error(server.base_url, FIRST, *(call if one == "call" else one for one in items))
        assert found["message"] == message
        assert (found["status"], found["param"], found["code"]) == (400, "input", None)
        assert server.faults == [f"request 1: {message}"]
