"""Where a request is marked for the server's cache.

The server caches what stands in front of a mark: tools, then the system text, then messages. There are at most
four marks in a request, and each finds what an earlier request cached up to 20 blocks before it. The marks are:

- the last tool and the end of the system text;
- what came before the current input, for instructions that are told once may stand beside that input;
- the end of the request when it is behind the input, as the results of tools are.

Nothing of a request but the marks changes from one turn to the next. So an answer that is a mere text is always
written as a block, marked or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trimtab_plugins.codecs.reading import is_blank
from trimtab_plugins.providers.stream_json import JsonObject

_MARK = "cache_control"
_MARKED = frozenset(
    {"text", "image", "document", "search_result", "tool_use", "tool_result", "server_tool_use", "mcp_tool_use"}
)


def with_moving_mark(body: JsonObject, settings: Mapping[str, object]) -> JsonObject:
    """Give a body with one mark for the whole of it, which the server puts behind the last block.

    For a thread: what it holds was marked in requests before, and there are at most four marks in all.
    """
    if settings.get("cache", "auto") == "off" or _is_marked(body):
        return body
    messages = body.get("messages")
    written = list(map(_in_blocks, messages)) if isinstance(messages, list) else messages
    return {**body, "messages": written, _MARK: _mark(settings)}


def with_marks(body: JsonObject, settings: Mapping[str, object]) -> JsonObject:
    """Give a body with its marks. One that holds marks already was marked by somebody who knows, and stays."""
    if settings.get("cache", "auto") == "off" or _is_marked(body):
        return body
    mark = _mark(settings)
    marked = dict(body)
    tools, system, messages = body.get("tools"), body.get("system"), body.get("messages")
    if isinstance(tools, list) and tools and isinstance(tools[-1], Mapping):
        marked["tools"] = [*tools[:-1], {**tools[-1], _MARK: mark}]
    if isinstance(system, str | list):
        marked["system"] = _marked_content(system, mark)
    if isinstance(messages, list):
        marked["messages"] = _marked_messages(messages, mark)
    return marked


def _mark(settings: Mapping[str, object]) -> JsonObject:
    ttl = settings.get("cache_ttl")
    return {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}


def _marked_messages(messages: Sequence[object], mark: JsonObject) -> list[object]:
    written = [_in_blocks(message) for message in messages]
    for at in _ends(messages):
        message = written[at]
        if isinstance(message, dict):
            written[at] = {**message, "content": _marked_content(message.get("content"), mark)}
    return written


def _ends(messages: Sequence[object]) -> Iterator[int]:
    """Give the positions of the message before the current input, and of one that ends the request behind it."""
    stop = next((at + 1 for at in range(len(messages) - 1, -1, -1) if _is_input(messages[at])), 0)
    start = stop
    while start and _is_input(messages[start - 1]):
        start -= 1
    if start:
        yield start - 1
    if stop < len(messages):
        yield len(messages) - 1


def _is_input(message: object) -> bool:
    """Tell whether a message is what a user says, and not the results of a step."""
    if not isinstance(message, dict) or message.get("role") == "assistant":
        return False
    return not any(_kind(block) == "tool_result" for block in _blocks(message.get("content")))


def _in_blocks(message: object) -> object:
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return message
    content = message.get("content")
    return {**message, "content": [_text(content)]} if isinstance(content, str) else message


def _marked_content(content: object, mark: JsonObject) -> object:
    """Give a content whose last block that takes a mark has it; thinking and blank texts take none."""
    blocks = [_text(content)] if isinstance(content, str) else [*_blocks(content)]
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if isinstance(block, dict) and _takes_mark(block):
            blocks[at] = {**block, _MARK: mark}
            return blocks
    return content


def _takes_mark(block: JsonObject) -> bool:
    kind = _kind(block)
    if kind == "text":
        text = block.get("text")
        return isinstance(text, str) and not is_blank(text)
    return kind in _MARKED or kind.endswith("_tool_result")


def _is_marked(body: JsonObject) -> bool:
    messages = body.get("messages")
    contents = (message.get("content") for message in _blocks(messages) if isinstance(message, dict))
    holders = (*map(_blocks, (body.get("tools"), body.get("system"))), *map(_blocks, contents))
    return body.get(_MARK) is not None or any(map(_any_marked, holders))


def _any_marked(blocks: Iterable[object]) -> bool:
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        if block.get(_MARK) is not None:
            return True
        if block.get("type") == "tool_result" and _any_marked(_blocks(block.get("content"))):
            return True
    return False


def _blocks(content: object) -> Sequence[object]:
    return content if isinstance(content, list) else ()


def _kind(block: object) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
