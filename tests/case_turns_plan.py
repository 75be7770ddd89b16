"""What the turns of a case do, as steps: those of its `request`, or those that make a chat of its `messages`.

A step is an object with `do`; its other keys are the arguments of that step in `case_turns_play.py`. A step with
`repeat` stands for so many, with `{n}` in its texts replaced by the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from case_files import Case, Json, Key

Step: TypeAlias = Mapping[str, Json]

CLOSING = {"status": 200, "text": "Noted."}
"""What the model answers where the messages of a case end before its answer."""
NO_ANSWER = {"status": 400, "error": {"message": "not now", "type": "invalid_request_error"}}
"""What it answers where a case has a turn without answer in the middle."""
_REQUEST_KEYS = frozenset({"provider", "chat", "steps"})


@dataclass(frozen=True)
class Plan:
    """A chat to be played.

    `system_key` is how the case names the system text; `told` are neutral messages that the chat begins with.
    """

    system: str | None
    steps: tuple[Step, ...]
    system_key: Key = "s"
    told: tuple[Json, ...] = ()

    @property
    def names(self) -> tuple[Key, ...]:
        """How the case names the messages that the chat begins with."""
        system = () if self.system is None else (self.system_key,)
        return (*system, *(str(message["id"]) for message in self.told))


def plan_of(case: Case) -> Plan:
    """Read what the turns of a case do. Raises KeyError for what is not understood."""
    if "request" not in case.data:
        return _plan_of_messages(case)
    request = case.data["request"]
    unread = (request.keys() - _REQUEST_KEYS) | (request["chat"].keys() - {"system", "messages"})
    if unread:
        raise KeyError(f"{case.file}: a request with {sorted(unread)}")
    steps = tuple(step for listed in request["steps"] for step in _repeated(listed))
    return Plan(request["chat"].get("system"), steps, told=tuple(request["chat"].get("messages", ())))


def _repeated(step: Step) -> Iterator[Step]:
    if "repeat" not in step:
        yield step
        return
    once = {key: value for key, value in step.items() if key != "repeat"}
    for number in range(1, step["repeat"] + 1):
        yield _numbered(once, str(number))


def _numbered(value: Json, number: str) -> Json:
    if isinstance(value, str):
        return value.replace("{n}", number)
    if isinstance(value, list):
        return [_numbered(one, number) for one in value]
    if isinstance(value, dict):
        return {key: _numbered(one, number) for key, one in value.items()}
    return value


def _plan_of_messages(case: Case) -> Plan:
    """Make turns of messages: what users say begins one, and what tools answer is what they are made to answer."""
    keyed = [(_key(case, at), message) for at, message in enumerate(case.messages)]
    system_key, system = keyed[0]
    assert system["role"] == "system", f"{case.file}: the first message is the system text"
    steps: list[dict[str, Json]] = []
    last = system_key
    for key, message in keyed[1:]:
        if message["role"] == "user":
            if message.get("parent", last) != last:
                steps.append({"do": "branch", "to": message["parent"]})
            steps.append(_turn(message))
        steps[-1]["called"].append(key)
        _say(steps[-1], message)
        last = key
    assert last == case.data.get("active_leaf", last), f"{case.file}: the active leaf is the last message"
    return Plan(system["content"], tuple(_closed(steps)), system_key)


def _key(case: Case, at: int) -> Key:
    return str(case.messages[at]["id"]) if case.format == "neutral" else at


def _turn(message: Json) -> dict[str, Json]:
    empty: dict[str, Json] = {"called": [], "provider_replies": [], "tool_runs": []}
    return {"do": "turn", "user": message["content"], **empty, **_time(message)}


def _say(turn: dict[str, Json], message: Json) -> None:
    if message["role"] == "assistant":
        turn["provider_replies"].append(_reply(message))
    elif message["role"] == "tool":
        run = {"call": message["tool_call_id"], "result": message["content"]}
        turn["tool_runs"].append(run | _time(message))


def _reply(message: Json) -> Json:
    said: dict[str, Json] = {"status": 200, "text": message["content"], **_time(message)}
    if message.get("reasoning_content"):
        said["reasoning"] = message["reasoning_content"]
    if message.get("tool_calls"):
        said["tool_calls"] = [{"id": one["id"], **_function(one)} for one in message["tool_calls"]]
    return said


def _function(call: Json) -> Json:
    function = call.get("function", call)
    return {"name": function["name"], "arguments": function["arguments"]}


def _time(message: Json) -> Json:
    return {"ts": message["ts"]} if "ts" in message else {}


def _closed(steps: Sequence[dict[str, Json]]) -> Iterator[Step]:
    """Give the steps with an answer at the end of each turn that the messages leave open."""
    for step in steps:
        replies = step.get("provider_replies", [])
        if step["do"] == "turn" and (not replies or "tool_calls" in replies[-1]):
            yield {**step, "provider_replies": [*replies, CLOSING if step is steps[-1] else NO_ANSWER]}
        else:
            yield step
