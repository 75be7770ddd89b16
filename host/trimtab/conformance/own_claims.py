"""What is claimed for the plugins that come with Trimtab, where the caller of `trimtab conform` claims nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

_Claims: TypeAlias = Mapping[str, object]

_QUESTION = "How wide is the harbour?"
_ANSWER = "Ninety metres at the mouth."
_TALK = (("user", _QUESTION), ("assistant", _ANSWER), ("user", "And how deep?"))


def _export() -> dict[str, object]:
    """A conversation as the export of ChatGPT holds it: a tree, here of one branch."""
    nodes: dict[str, object] = {
        f"n{at}": {
            "id": f"n{at}",
            "parent": f"n{at - 1}" if at else None,
            "children": [],
            "message": {"author": {"role": role}, "content": {"content_type": "text", "parts": [words]}},
        }
        for at, (role, words) in enumerate(_TALK)
    }
    return {"title": "The harbour", "mapping": nodes, "current_node": f"n{len(_TALK) - 1}"}


def _transcript() -> list[object]:
    """A session as Claude Code writes it, a line each."""
    return [
        {
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "isSidechain": False,
            "message": {
                "role": role,
                "content": [{"type": "text", "text": words}],
                **({"id": f"msg_{at}"} if role == "assistant" else {}),
            },
        }
        for at, (role, words) in enumerate(_TALK)
    ]


def _sharegpt() -> dict[str, object]:
    names = {"user": "human", "assistant": "gpt"}
    return {"conversations": [{"from": names[role], "value": words} for role, words in _TALK]}


def _stream(*lines: str, text: str = "", calls: Sequence[tuple[str, str]] = ()) -> dict[str, object]:
    """An answer of a server that speaks Chat Completions; each line is the inside of a chunk's delta."""
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 21, "completion_tokens": 9}}
    chunks = [f'{{"id": "c1", "choices": [{{"index": 0, "delta": {line}}}]}}' for line in lines]
    return {"events": [*chunks, json.dumps(last), json.dumps(usage), "[DONE]"], "text": text, "calls": list(calls)}


_CHAT_STREAMS = (
    _stream('{"role": "assistant", "content": "Ninety metres "}', '{"content": "at the mouth."}', text=_ANSWER),
    _stream(
        '{"role": "assistant", "content": null, "reasoning_content": "I look it up."}',
        '{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": "{\\"at\\""}}]}',
        '{"tool_calls": [{"index": 1, "id": "b", "function": {"name": "find", "arguments": "{}"}}]}',
        '{"tool_calls": [{"index": 0, "function": {"arguments": ": 6}"}}]}',
        calls=[("look", '{"at": 6}'), ("find", "{}")],
    ),
)


def _interaction(status: str, *steps: str, text: str = "", calls: Sequence[tuple[str, str]] = ()) -> _Claims:
    """An answer of Gemini; each line is the inside of an event of a step, its name first."""
    ends = {"id": "v1_a", "status": status, "usage": {"total_input_tokens": 21, "total_output_tokens": 9}}
    created = '{"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress"}}'
    completed = json.dumps({"event_type": "interaction.completed", "interaction": ends})
    events = [created, *(f'{{"event_type": "step.{step}}}' for step in steps), completed, "[DONE]"]
    return {"events": events, "text": text, "calls": list(calls)}


_INTERACTIONS = (
    _interaction(
        "completed",
        'start", "index": 0, "step": {"type": "model_output"}',
        'delta", "index": 0, "delta": {"type": "text", "text": "Ninety metres "}',
        'delta", "index": 0, "delta": {"type": "text", "text": "at the mouth."}',
        'stop", "index": 0',
        text=_ANSWER,
    ),
    _interaction(
        "requires_action",
        'start", "index": 0, "step": {"type": "thought"}',
        'delta", "index": 0, "delta": {"type": "thought_summary", "content": {"type": "text", "text": "I look."}}',
        'delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2VhbA=="}',
        'stop", "index": 0',
        'start", "index": 1, "step": {"type": "function_call", "id": "a", "name": "look", "arguments": {}}',
        'delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": "{\\"at\\""}',
        'delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": ": 6}"}',
        'stop", "index": 1',
        'start", "index": 2, "step": {"type": "function_call", "id": "b", "name": "find", "arguments": {}}',
        'stop", "index": 2',
        calls=[("look", '{"at": 6}'), ("find", "{}")],
    ),
)


def _responses_stream(*items: Mapping[str, object], deltas: Sequence[str] = ()) -> dict[str, object]:
    """An answer of OpenAI's Responses: each item begins and is done; `deltas` belong to the last one."""
    last = len(items) - 1
    response: dict[str, object] = {"id": "resp_1", "object": "response", "model": "m", "status": "completed"}
    usage = {"input_tokens": 21, "input_tokens_details": {"cached_tokens": 16}, "output_tokens": 9}
    events: list[dict[str, object]] = [{"type": "response.created", "response": {"id": "resp_1"}}]
    for at, item in enumerate(items):
        place = {"output_index": at, "item_id": item["id"]}
        begun = {key: value for key, value in item.items() if key not in ("content", "encrypted_content")}
        events.append({"type": "response.output_item.added", **place, "item": {**begun, "status": "in_progress"}})
        if at == last:
            kind = "response.output_text.delta"
            events += [{"type": kind, **place, "content_index": 0, "delta": delta} for delta in deltas]
        events.append({"type": "response.output_item.done", **place, "item": dict(item)})
    events.append({"type": "response.completed", "response": {**response, "output": list(items), "usage": usage}})
    named = [{"event": str(event["type"]), "data": json.dumps(event)} for event in events]
    return {"events": named, "text": "".join(deltas), "calls": _responses_calls(items)}


def _responses_calls(items: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    calls = [item for item in items if item["type"] == "function_call"]
    return [(str(call["name"]), str(call["arguments"])) for call in calls]


_SEALED_THOUGHT: Mapping[str, object] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "I look it up."}],
    "encrypted_content": "c2VhbGVk",
}
_RESPONSES_STREAMS = (
    _responses_stream(
        _SEALED_THOUGHT,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": _ANSWER, "annotations": []}],
        },
        deltas=(_ANSWER[:14], _ANSWER[14:]),
    ),
    _responses_stream(
        _SEALED_THOUGHT,
        *(
            {
                "type": "function_call",
                "id": f"fc_{name}",
                "call_id": f"call_{name}",
                "name": name,
                "arguments": text,
            }
            for name, text in (("look", '{"at": 6}'), ("find", "{}"))
        ),
    ),
)


def _without_output(stream: _Claims) -> _Claims:
    """The same answer of a server whose last event does not repeat the items."""
    events = stream["events"]
    assert isinstance(events, list)
    *before, last = events
    told = json.loads(last["data"])
    del told["response"]["output"]
    return {**stream, "events": [*before, {**last, "data": json.dumps(told)}]}


def _message_stream(stop: str, *events: str, text: str = "", calls: Sequence[tuple[str, str]] = ()) -> _Claims:
    """An answer of Anthropic's Messages; each line is the inside of an event of a block, its name first."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    start = {"type": "message_start", "message": {**message, "usage": {"input_tokens": 21, "output_tokens": 1}}}
    ending = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}
    blocks = [json.loads(f'{{"type": "content_block_{event}}}') for event in events]
    told = [start, {"type": "ping"}, *blocks, ending, {"type": "message_stop"}]
    named = [{"event": event["type"], "data": json.dumps(event)} for event in told]
    return {"events": named, "text": text, "calls": list(calls)}


_MESSAGE_STREAMS = (
    _message_stream(
        "end_turn",
        'start", "index": 0, "content_block": {"type": "text", "text": ""}',
        'delta", "index": 0, "delta": {"type": "text_delta", "text": "Ninety metres "}',
        'delta", "index": 0, "delta": {"type": "text_delta", "text": "at the mouth."}',
        'stop", "index": 0',
        text=_ANSWER,
    ),
    _message_stream(
        "tool_use",
        'start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}',
        'delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I look it up."}',
        'delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2VhbGVk"}',
        'stop", "index": 0',
        'start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "look", "input": {}}',
        'delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\\"at\\""}',
        'delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ": 6}"}',
        'stop", "index": 1',
        'start", "index": 2, "content_block": {"type": "tool_use", "id": "b", "name": "find", "input": {}}',
        'stop", "index": 2',
        calls=[("look", '{"at": 6}'), ("find", "{}")],
    ),
)


OWN_CLAIMS: Mapping[tuple[str, str], _Claims] = {
    ("strategy", "summarize"): {"summarizes": True},
    ("strategy", "vector-recall"): {"names_relevant": True, "needs_services": ["embed"]},
    ("codec", "chatgpt-export"): {"reads_only": True, "samples": [_export()]},
    ("codec", "claude-code"): {"reads_only": True, "samples": [_transcript()]},
    ("provider", "chatgpt"): {
        "settings": {"accept_unofficial_api": True},
        "no_output_limit": True,
        "streams": tuple(map(_without_output, _RESPONSES_STREAMS)),
    },
    ("provider", "deepseek"): {"streams": _CHAT_STREAMS},
    ("provider", "anthropic"): {"streams": _MESSAGE_STREAMS},
    ("provider", "gemini"): {"streams": _INTERACTIONS},
    ("provider", "openai"): {"streams": _RESPONSES_STREAMS},
    ("provider", "openai-compatible"): {"streams": _CHAT_STREAMS},
    ("codec", "sharegpt"): {"reads_only": True, "samples": [_sharegpt()]},
}
"""Kind and name of a built-in → what is claimed for it."""
