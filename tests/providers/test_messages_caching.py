from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from anthropic_wire import body_errors
from fakes.messages_server import PAUSE, MessagesServer, ask, found, search, thought
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_sdk import Answer, Encoded, Message, Part, ProviderCall, ServerEvent, Text, ToolResult, ToolSpec

DRIVER = Anthropic()
CODEC = AnthropicMessages()
MARK = {"type": "ephemeral"}
LOOK = DRIVER.write_tools([ToolSpec("find"), ToolSpec("look")], {})
ASK = {"role": "user", "content": "When?"}
CALLS = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "six"}]}
SAYS = {"role": "assistant", "content": [{"type": "text", "text": "Six."}]}
PLAIN = {"role": "assistant", "content": "Six."}


def body_of(
    *messages: object, tools: bool = True, system: object = "Be brief.", **settings: Any
) -> dict[str, Any]:
    said = list(messages)
    prompt = Encoded(said, {"system": system, "messages": said})
    tooled = tuple(LOOK) if tools else ()
    return dict(DRIVER.request(ProviderCall(model="m", prompt=prompt, tools=tooled, settings=settings)).body)


def marks_in(body: dict[str, Any]) -> list[str]:
    return list(_marks(body, ""))


def _marks(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        if "cache_control" in value:
            yield path
        for key, inner in value.items():
            yield from _marks(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _marks(inner, f"{path}.{at}")


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("messages", "marked"),
    [
        ([ASK], []),
        ([ASK, SAYS, ASK], ["messages.1.content.0"]),
        ([ASK, PLAIN, ASK, ASK], ["messages.1.content.0"]),
        ([ASK, SAYS, ASK, CALLS, RESULT], ["messages.1.content.0", "messages.4.content.0"]),
        ([ASK, CALLS, RESULT, ASK], ["messages.2.content.0"]),
        ([ASK, CALLS, RESULT], ["messages.2.content.0"]),
    ],
)
def test_the_end_of_what_stays_is_marked(messages: list[object], marked: list[str]) -> None:
    before = copy.deepcopy(messages)
    body = body_of(*messages)

    assert sorted(marks_in(body)) == sorted([*marked, "system.0", "tools.1"])
    assert body_errors(body) == []
    assert messages == before
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]


def test_thinking_and_blank_texts_take_no_mark() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    content = [{"type": "text", "text": "Six."}, {"type": "text", "text": "\n"}, thinking]
    body = body_of(ASK, {"role": "assistant", "content": content}, ASK, tools=False, system=" ")

    assert marks_in(body) == ["messages.1.content.0"]
    assert body["system"] == " "
    only = {"role": "assistant", "content": [thinking]}
    assert marks_in(body_of(ASK, only, ASK, tools=False, system=None)) == []


def test_marks_say_how_long_they_last_where_the_endpoint_says_so() -> None:
    assert body_of(ASK, cache_ttl="1h")["tools"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_nothing_is_marked_where_that_is_off() -> None:
    body = body_of(ASK, PLAIN, ASK, cache="off")

    assert marks_in(body) == []
    assert body["messages"] == [ASK, PLAIN, ASK]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": [{"type": "text", "text": "a", "cache_control": MARK}],
                }
            ],
        },
    ],
)
def test_marks_that_are_there_stay_alone(message: object) -> None:
    assert len(marks_in(body_of(ASK, CALLS, message, SAYS, ASK))) == 1
    assert marks_in(body_of(ASK, system=[{"type": "text", "text": "a", "cache_control": MARK}])) == ["system.0"]
    assert marks_in(body_of(ASK, extra_body={"cache_control": MARK})) == [""]


def test_a_request_begins_with_the_bytes_of_the_one_before_but_for_marks() -> None:
    talk: list[object] = [ASK]
    before = body_of(*talk)
    for turn in range(20):
        steps = [CALLS, RESULT, PLAIN if turn % 2 else SAYS]
        for step in steps:
            talk.append(step)
            if step is CALLS:
                continue
            after = body_of(*talk, *([ASK] if step is not RESULT else []))
            assert len(marks_in(after)) <= 4
            one, other = (json.dumps(unmarked(body)["messages"])[:-1] for body in (before, after))
            assert other.startswith(one)
            assert [json.dumps(before[key]) for key in ("tools", "system")] == [
                json.dumps(after[key]) for key in ("tools", "system")
            ]
            before = after
        talk.append(ASK)


class Talk:
    """A chat with the fake server: what is said, and what comes back, is sent again each time."""

    def __init__(self, server: MessagesServer, **options: object) -> None:
        self.server, self.options, self.client = server, options, httpx.Client(base_url=server.base_url)
        self.decoded = CODEC.decode({"system": "Be brief.", "messages": []})
        self.said = list(self.decoded.messages)

    def ask(self, *parts: Part, role: Any = "user") -> Answer:
        if parts:
            self.said.append(Message(f"u{len(self.said)}", role, parts))
        adapted = CODEC.adapt(self.said, self.decoded.originals, protected=())
        assert adapted.repairs == ()
        prompt = CODEC.encode(adapted.messages, self.decoded.originals)
        call = ProviderCall(model="m", prompt=prompt, tools=tuple(LOOK), options=self.options)
        request = DRIVER.request(call)
        headers = {**request.headers, "x-api-key": "k"}
        got = self.client.post(request.path, json=dict(request.body), headers=headers)
        assert got.status_code == 200, got.text
        reader = DRIVER.reader(call)
        answer = [
            one
            for line in got.text.splitlines()
            if line.startswith("data:")
            for one in reader.parse(ServerEvent(line[5:].strip()))
        ][-1]
        assert isinstance(answer, Answer)
        size = len(self.decoded.messages) - self.decoded.leading
        items = DRIVER.recall(answer.items, model="m", running=True, settings={})
        self.decoded = CODEC.splice(self.decoded, size, size, items, ids=[f"a{len(self.said)}"])
        self.said.append(self.decoded.messages[-1])
        return answer


def test_over_20_turns_with_tools_and_thinking_the_server_reads_from_its_cache_what_it_knows() -> None:
    with MessagesServer() as server:
        talk = Talk(server, thinking="adaptive")
        for turn in range(20):
            server.say(thought("I look."), ask("look", {"at": turn}, call_id=f"c{turn}"))
            server.say(thought("So."), f"At {turn}.")
            assert talk.ask(Text(f"When is {turn}?")).finish == "tool-calls"
            answer = talk.ask(ToolResult(f"c{turn}", "six"), role="tool")
            assert answer.finish == "stop"
        talk.client.close()
        assert server.faults == []
        views = [server.view(at) for at in range(1, 41)]
    assert all(len(view.breakpoints) <= 4 for view in views)
    known = 0
    for view in views:
        assert view.cached >= known
        known = max(known, view.cached + view.written)


def test_an_answer_that_paused_is_sent_back_with_a_mark_behind_it() -> None:
    with MessagesServer() as server:
        talk = Talk(server)
        server.say(search("tide", call_id="srvtoolu_1"), PAUSE, found("srvtoolu_1"), "Six.")
        assert talk.ask(Text("When?")).finish == "pause"
        assert talk.ask().finish == "stop"
        talk.client.close()
        assert server.faults == []
        assert server.view(2).resumes
        assert "messages.1.content.0" in server.view(2).breakpoints
