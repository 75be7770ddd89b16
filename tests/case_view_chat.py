"""The view of messages in `neutral` and `openai-chat`."""

from __future__ import annotations

from collections.abc import Iterator

from case_files import Json
from case_views import Call, View, compact

_ID_SPELLINGS = ("tool_call_id", "toolCallId", "callId", "call_id")


def chat_view(message: Json) -> View:
    """See a neutral message or one of chat-completions."""
    words = (*_content_texts(message.get("content")), *_filled(message, "refusal"))
    thoughts = (*_filled(message, "reasoning"), *_filled(message, "reasoning_content"), *_thinking(message))
    role = message["role"]
    return View(
        role="tool" if role == "function" else role,
        texts=(*words, *thoughts),
        words=words,
        calls=tuple(_calls(message)),
        answers=tuple(_answers(message)),
        asks=tuple((one["approval_id"], one["tool_call_id"]) for one in message.get("approval_requests") or ()),
        approves=tuple(one["approval_id"] for one in message.get("approval_responses") or ()),
        data=tuple(_data(message)),
        name=message.get("name") or "",
        thinks=bool(message.get("reasoning") or message.get("reasoning_content") or message.get("blocks")),
        other=any(not isinstance(part, str) and part["type"] not in _KNOWN for part in _parts(message)),
        is_priced=_is_priced(message),
    )


_KNOWN = frozenset({"text", "image", "image_url", "refusal"})


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _content_texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if isinstance(part, str):
            yield part
        elif "text" in part:
            yield part["text"]


def _filled(message: Json, key: str) -> Iterator[str]:
    if message.get(key):
        yield message[key]


def _thinking(message: Json) -> Iterator[str]:
    for block in message.get("blocks") or ():
        yield block.get("thinking", "")


def _calls(message: Json) -> Iterator[Call]:
    for call in message.get("tool_calls") or ():
        body = call.get("function") or call.get("custom") or call
        arguments = body.get("arguments", body.get("input"))
        yield Call(call["id"], body["name"], arguments if isinstance(arguments, str) else compact(arguments))
    legacy = message.get("function_call")
    if legacy:
        yield Call(_legacy_id(legacy["name"]), legacy["name"], legacy["arguments"])


def _legacy_id(name: str) -> str:
    return f"function:{name}"


def _answers(message: Json) -> Iterator[str]:
    if message["role"] == "function":
        yield _legacy_id(message["name"])
    elif message["role"] == "tool":
        yield from [message[key] for key in _ID_SPELLINGS if key in message][:1]


def _data(message: Json) -> Iterator[str]:
    for part in _parts(message):
        if isinstance(part, str):
            continue
        if part["type"] == "image":
            yield part.get("data") or part.get("url", "")
        elif part["type"] == "image_url":
            yield part["image_url"].get("url", "").partition(";base64,")[2] or part["image_url"].get("url", "")


def _is_priced(message: Json) -> bool:
    signed = any(block.get("signature") for block in message.get("blocks") or ())
    texts_only = all(isinstance(part, str) or part["type"] == "text" for part in _parts(message))
    return texts_only and not signed and message["role"] != "function"
