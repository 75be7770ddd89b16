"""The example conversations are sound, and the commands of their page run."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ trimtab (fit .*)$", PAGE, re.MULTILINE)

Raw: TypeAlias = dict[str, Any]

COUNTS = {
    "small-chat.json": {"system": 1, "user": 5, "assistant": 5, "tool": 1},
    "support-chat.json": {"system": 1, "user": 81, "assistant": 153, "tool": 140},
    "agent-run.jsonl": {"system": 1, "user": 1, "assistant": 200, "tool": 327},
    "request-body.json": {"system": 1, "user": 9, "assistant": 14, "tool": 9},
    "neutral-story.json": {"system": 14, "user": 30, "assistant": 30},
}
every_file = pytest.mark.parametrize("name", COUNTS)


def read(name: str) -> Any:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def messages_of(name: str) -> list[Raw]:
    data = read(name)
    messages: list[Raw] = data["messages"] if isinstance(data, dict) else data
    return messages


def spoken(name: str) -> Iterator[str]:
    """What people and the model say; tools may repeat themselves."""
    for message in messages_of(name):
        content = message["content"]
        if message["role"] == "tool" or content is None:
            continue
        if isinstance(content, str):
            yield content
        else:
            yield from (part["text"] for part in content if part["type"] == "text")


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?。])\s+|\n", text) if len(part) > 20]


def fitted(*arguments: str) -> Raw:
    command = [sys.executable, "-m", "trimtab.cli", "fit", *arguments, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report: Raw = json.loads(done.stdout)
    return report


@every_file
def test_each_file_holds_the_messages_it_should(name: str) -> None:
    assert Counter(message["role"] for message in messages_of(name)) == COUNTS[name]


@every_file
def test_every_file_stands_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE
    assert any(f"examples/{name} " in command for command in COMMANDS)


@every_file
def test_results_follow_their_calls_one_to_one(name: str) -> None:
    waiting: set[str] = set()
    seen: set[str] = set()
    for message in messages_of(name):
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call has no result"
        calls = [call["id"] for call in message.get("tool_calls", [])]
        assert seen.isdisjoint(calls)
        assert len(set(calls)) == len(calls)
        waiting.update(calls)
        seen.update(calls)
    assert not waiting


@every_file
def test_arguments_are_json_objects(name: str) -> None:
    for message in messages_of(name):
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


@every_file
def test_nobody_says_the_same_thing_twice(name: str) -> None:
    assert [text for text, times in Counter(spoken(name)).items() if times > 1] == []
    said = Counter(sentence for text in spoken(name) for sentence in sentences(text))
    assert [sentence for sentence, times in said.items() if times > 3] == []


@every_file
def test_mail_addresses_belong_to_nobody(name: str) -> None:
    said = " ".join(spoken(name))
    hosts = re.findall(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)+)", said)
    assert set(hosts) <= {"example.com", "example.org"}


def test_some_results_come_in_another_order_than_their_calls() -> None:
    messages = messages_of("support-chat.json")
    swapped = 0
    for at, message in enumerate(messages):
        calls = [call["id"] for call in message.get("tool_calls", [])]
        results = [later["tool_call_id"] for later in messages[at + 1 : at + 1 + len(calls)]]
        swapped += calls != results
    assert swapped >= 5


def test_the_support_chat_has_its_pinned_message_early_and_asks_for_it_last() -> None:
    messages = messages_of("support-chat.json")
    places = [at for at, message in enumerate(messages) if "id" in message]
    assert len(places) == 1
    assert places[0] < 20
    promise = messages[places[0]]
    assert (promise["id"], promise["role"]) == ("promise", "user")
    assert messages[-1]["role"] == "user"
    assert "first chat" in messages[-1]["content"]


def test_the_agent_run_ends_in_an_open_step_after_200_steps() -> None:
    messages = messages_of("agent-run.jsonl")
    steps = [message for message in messages if message.get("tool_calls")]
    assert len(steps) == 200
    assert messages[-1]["role"] == "tool"


def test_the_request_body_has_nested_tools_and_a_picture() -> None:
    body = read("request-body.json")
    assert body["model"] == "gpt-4o"
    assert len(body["tools"]) == 4
    schemas = json.dumps(body["tools"])
    assert '"enum"' in schemas
    assert '"items": {"type": "object"' in schemas
    contents = [message["content"] for message in body["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    [url] = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    head, data = url.split(",", 1)
    assert head == "data:image/png;base64"
    assert base64.b64decode(data, validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_the_story_has_every_kind_and_two_turns_excluded_by_hand() -> None:
    messages = messages_of("neutral-story.json")
    assert len({message["id"] for message in messages}) == len(messages)
    assert {message.get("kind") for message in messages} == {None, "persona", "lorebook", "memory", "summary"}
    entries = [message for message in messages if message.get("kind") == "lorebook"]
    assert {entry.get("required", False) for entry in entries} == {True, False}
    excluded = [message["id"] for message in messages if message.get("meta", {}).get("manualExcluded")]
    assert excluded == ["h30", "h31"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_fit_and_leave_something_out(command: str) -> None:
    report = fitted(*command.split()[1:])
    assert report["excluded"]
    assert report["tokensAfter"] <= report["budget"]["available"] < report["tokensBefore"]
    assert report["diagnostics"] == []


def test_without_the_pin_the_promise_is_gone() -> None:
    report = fitted("examples/support-chat.json", "--model", "gpt-4o", "--limit", "16000")
    assert "promise" in {entry["id"] for entry in report["excluded"]}
