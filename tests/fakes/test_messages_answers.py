"""The fake Messages server answers as the wire has it; the official client reads it."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from fakes.messages_clients import (
    MODEL,
    TOOL,
    ask_once,
    body_with,
    call_in,
    client_of,
    error_of,
    events_of,
    post,
    result_of,
    sent_back,
    user,
)
from fakes.messages_server import (
    PAUSE,
    REFUSALS,
    Json,
    MessagesServer,
    agent,
    ask,
    block,
    cited,
    declined,
    delta,
    echo,
    event,
    event_faults,
    found,
    message_faults,
    ping,
    redacted,
    search,
    stream_error,
    thought,
)

CITATION: Json = {
    "type": "char_location",
    "cited_text": "it",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 2,
    "file_id": None,
}
ADAPTIVE: Json = {"type": "adaptive"}


def asked(**keys: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [user("a")], **keys}


def test_the_official_client_streams_an_answer_with_thinking_and_a_call() -> None:
    with MessagesServer() as server, client_of(server.base_url) as client:
        server.say(thought("Hm, "), thought("yes."), "I ", "look.", ask("lookup", {"id": 3}))
        with client.messages.stream(**asked(tools=[TOOL], thinking=ADAPTIVE)) as stream:
            message = stream.get_final_message()
        assert [one.type for one in message.content] == ["thinking", "text", "tool_use"]
        assert message.stop_reason == "tool_use"
        assert message.model_dump(mode="json", exclude_none=True)["content"] == server.answer(1)["content"]
        assert server.answer(1)["content"][2]["input"] == {"id": 3}
        assert server.faults == []


def test_the_official_client_reads_json_and_counts() -> None:
    with MessagesServer(echo()) as server, client_of(server.base_url) as client:
        counted = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hello"}])
        message = client.messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "hello"}], stream=False
        )
        assert message.content[0].model_dump()["text"] == "1 messages; last: hello"
        assert message.usage.input_tokens == counted.input_tokens == server.view(1).tokens
        assert message._request_id == "req_fake_2"
        assert (len(server.requests), len(server.asks)) == (2, 1)
        assert server.faults == []


def test_every_event_and_every_message_has_the_types_of_the_official_package() -> None:
    with MessagesServer() as server:
        parts = (
            thought("Hm."),
            redacted(),
            "a",
            search("q", call_id="s1"),
            found("s1"),
            cited("it", CITATION),
            "b",
        )
        server.say(*parts, ask("lookup", {"id": 3}))
        server.say(*parts, ask("lookup", {"id": 3}))
        events = events_of(server.base_url, tools=[TOOL], thinking=ADAPTIVE)
        whole = ask_once(server.base_url, tools=[TOOL], thinking=ADAPTIVE)
        assert [fault for one in events for fault in event_faults(one)] == []
        assert message_faults(whole) == []
        kinds = [one["type"] for one in whole["content"]]
        assert kinds[:4] == ["thinking", "redacted_thinking", "text", "server_tool_use"]
        assert kinds[4:] == ["web_search_tool_result", "text", "text", "tool_use"]
        assert [one["type"] for one in server.answer(1)["content"]] == kinds


def test_the_events_come_in_the_order_of_the_wire() -> None:
    with MessagesServer() as server:
        server.say(thought("Hm."), ping(), ask("lookup", {}))
        events = events_of(server.base_url, tools=[TOOL])
        named = [f"{one['type']} {one.get('delta', {}).get('type', '')}".strip() for one in events]
        assert named == [
            "message_start",
            "content_block_start",
            "content_block_delta thinking_delta",
            "ping",
            "content_block_delta signature_delta",
            "content_block_stop",
            "content_block_start",
            *["content_block_delta input_json_delta"] * 3,
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        assert events[6]["content_block"]["input"] == {}
        assert events[0]["message"]["stop_reason"] is None


@pytest.mark.parametrize("reason", ["max_tokens", "stop_sequence", "refusal", "model_context_window_exceeded"])
def test_an_answer_ends_for_the_reason_of_the_script(reason: str) -> None:
    with MessagesServer() as server:
        server.say("a", finish=reason)
        told = events_of(server.base_url, stop_sequences=["###"])[-2]["delta"]
        assert told["stop_reason"] == reason
        assert told["stop_sequence"] == ("###" if reason == "stop_sequence" else None)
        assert server.faults == []


def test_a_refusal_tells_its_category() -> None:
    with MessagesServer() as server:
        server.say("I ", declined("cyber", "No."))
        answer = ask_once(server.base_url)
        assert answer["stop_reason"] == "refusal"
        assert answer["stop_details"] == {"type": "refusal", "category": "cyber", "explanation": "No."}
        assert message_faults(answer) == []


def test_a_paused_answer_goes_on_when_it_is_sent_back() -> None:
    with MessagesServer() as server:
        server.say("part one", PAUSE, "part two")
        first = ask_once(server.base_url, user("a"))
        assert first["stop_reason"] == "pause_turn"
        server.refuse("overloaded")
        again = body_with(user("a"), sent_back(first))
        assert post(server.base_url, again).status_code == 529
        second = post(server.base_url, again).json()
        assert (second["content"], second["stop_reason"]) == ([{"type": "text", "text": "part two"}], "end_turn")
        assert server.view(3).resumes
        assert not server.view(1).resumes
        assert server.faults == []


def test_a_pause_in_the_middle_of_a_search_is_no_open_call() -> None:
    with MessagesServer() as server:
        server.say(search("q", call_id="s1"), finish="pause_turn")
        server.say(found("s1"), "It is.")
        server.say("Yes.")
        first = ask_once(server.base_url, user("a"))
        second = ask_once(server.base_url, user("a"), sent_back(first))
        ask_once(server.base_url, user("a"), sent_back(first), sent_back(second), user("b"))
        assert [turn["role"] for turn in server.view(3).messages] == ["user", "assistant", "user"]
        assert server.faults == []


def test_an_answer_that_never_paused_is_no_place_to_go_on_from() -> None:
    with MessagesServer(echo()) as server:
        answer = ask_once(server.base_url, user("a"))
        _, _, message = error_of(server.base_url, body_with(user("a"), sent_back(answer)))
        assert "does not support assistant message prefill" in message
        assert len(server.faults) == 1


def test_a_model_that_takes_a_prefill_goes_on_from_it() -> None:
    with MessagesServer(echo(), prefill=True) as server:
        ask_once(server.base_url, user("a"), {"role": "assistant", "content": "I am"})
        _, _, message = error_of(server.base_url, body_with(user("a"), {"role": "assistant", "content": "I am "}))
        assert "trailing whitespace" in message


def test_an_error_in_a_stream_comes_with_status_200() -> None:
    with MessagesServer() as server, client_of(server.base_url) as client:
        server.say("Hel", stream_error("Overloaded", type="overloaded_error"))
        with pytest.raises(anthropic.APIStatusError) as caught, client.messages.stream(**asked()) as stream:
            stream.get_final_message()
        assert caught.value.status_code == 200
        assert caught.value.body == {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"},
            "request_id": "req_fake_1",
        }


@pytest.mark.parametrize("kind", REFUSALS)
def test_the_official_client_knows_every_refusal(kind: str) -> None:
    with MessagesServer() as server, client_of(server.base_url) as client:
        server.refuse(kind, retry_after=2, should_retry=False)
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(**asked())
        row, error = REFUSALS[kind], caught.value
        assert error.status_code == row.status
        assert error.response.headers["retry-after"] == "2"
        body: Any = error.body
        assert body["error"]["type"] == row.type
        assert body["error"].get("details", {}).get("error_code") == row.code
        assert body["request_id"] == "req_fake_1" == error.request_id
        assert server.faults == []


def test_a_prompt_that_is_too_long_is_refused_with_its_figures() -> None:
    with MessagesServer(echo(), max_context=50, max_output=200) as server:
        assert error_of(server.base_url, body_with(user("x" * 400)))[2].startswith("prompt is too long: ")
        assert " + 100 > 50, decrease" in error_of(server.base_url, body_with(user("a")))[2]
        assert "201 > 200, which is the maximum" in error_of(server.base_url, body_with(max_tokens=201))[2]
        assert len(server.faults) == 3


def test_a_newer_model_stops_where_its_window_ends() -> None:
    with MessagesServer(echo(), max_context=50, overflow="stop") as server:
        assert ask_once(server.base_url, user("a"))["stop_reason"] == "end_turn"
        server.say("x" * 400)
        assert ask_once(server.base_url, user("a"))["stop_reason"] == "model_context_window_exceeded"
        assert server.faults == []


def test_any_block_any_delta_and_any_event_can_be_sent() -> None:
    with MessagesServer() as server:
        server.say(block({"type": "new_kind", "x": 1}), delta({"type": "new_delta"}), event("new_event", y=2))
        events = events_of(server.base_url)
        assert {"type": "new_event", "y": 2} in events
        assert events[1]["content_block"] == {"type": "new_kind", "x": 1}
        assert [one for one in events if one.get("delta") == {"type": "new_delta"}] != []


def test_a_handler_that_works_with_tools_answers_in_the_end() -> None:
    with MessagesServer(agent(rounds=2)) as server:
        messages = [user("find it")]
        for _ in range(2):
            answer = ask_once(server.base_url, *messages, tools=[TOOL])
            messages += [sent_back(answer), user(result_of(call_in(answer)))]
        last = ask_once(server.base_url, *messages, tools=[TOOL])
        assert last["content"] == [{"type": "text", "text": "2 results. You said: find it"}]
        assert server.faults == []


def test_keys_come_in_either_header() -> None:
    with MessagesServer(echo(), api_key="secret") as server:
        assert error_of(server.base_url, body_with())[:2] == (401, "authentication_error")
        assert post(server.base_url, body_with(), x_api_key="secret").status_code == 200
        assert post(server.base_url, body_with(), authorization="Bearer secret").status_code == 200
        assert server.faults == []


def test_an_empty_script_and_an_unknown_place_are_faults() -> None:
    with MessagesServer() as server:
        assert error_of(server.base_url, body_with())[2] == "no reply is left in the script"
        assert post(server.base_url, body_with(), path="/v1/complete").status_code == 404
        assert len(server.faults) == 2
