"""What a Responses server refuses, written down apart from the codec and from its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from case_files import Json

_PARTS_OF = {
    "assistant": frozenset({"output_text", "refusal"}),
    "user": frozenset({"input_text", "input_image", "input_file", "input_audio"}),
}
_TEXTS = frozenset({"input_text", "output_text"})
_CALL_TEXTS = {"function_call": ("call_id", "name", "arguments"), "custom_tool_call": ("call_id", "name", "input")}
_ANSWER_TO = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}


def responses_faults(items: Sequence[Json]) -> list[str]:
    """Give one sentence for each fault of a list of items; none means a server takes it."""
    faults = [f"{at}: {fault}" for at, item in enumerate(items) for fault in _item_faults(item)]
    return faults or [*_pairing_faults(items), *_reasoning_faults(items)]


def _item_faults(item: Json) -> Iterator[str]:
    kind = item.get("type", "message")
    if kind == "message":
        yield from _message_faults(item)
    elif kind in _CALL_TEXTS:
        yield from (f"{kind} without {key}" for key in _CALL_TEXTS[kind] if not isinstance(item.get(key), str))
    elif kind in _ANSWER_TO:
        if not isinstance(item.get("call_id"), str) or not isinstance(item.get("output"), str | list):
            yield f"{kind} without call_id or output"
    elif kind == "reasoning" and not isinstance(item.get("summary"), list):
        yield "reasoning without summary"


def _message_faults(item: Json) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        yield f"role {role!r}"
    elif not isinstance(content, str | list) or not content:
        yield "empty content"
    elif isinstance(content, list):
        for part in content:
            if part.get("type") not in _PARTS_OF.get(role, frozenset({"input_text"})):
                yield f"{part.get('type')} said by the {role}"
            elif part["type"] in _TEXTS and not isinstance(part.get("text"), str):
                yield f"{part['type']} without text"


def _pairing_faults(items: Sequence[Json]) -> Iterator[str]:
    waiting: list[tuple[str, str]] = []
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in _CALL_TEXTS:
            waiting.append((kind, item["call_id"]))
        elif kind in _ANSWER_TO:
            wanted = (_ANSWER_TO[kind], item["call_id"])
            if wanted in waiting:
                waiting.remove(wanted)
            else:
                yield f"{at}: no call for {item['call_id']}"
    yield from (f"no output for {call_id}" for _, call_id in waiting)


def _reasoning_faults(items: Sequence[Json]) -> Iterator[str]:
    for at, item in enumerate(items):
        if item.get("type") == "reasoning":
            behind = items[at + 1] if at + 1 < len(items) else {"type": "nothing"}
            kind = behind.get("type", "message")
            if kind in ("nothing", *_ANSWER_TO) or behind.get("role", "assistant") != "assistant":
                yield f"{at}: reasoning without the item it led to"
