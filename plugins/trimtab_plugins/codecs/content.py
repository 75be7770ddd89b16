"""The `content` of a message: a text, null, or a list of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trimtab_plugins.codecs.reading import JsonObject, wrong
from trimtab_sdk import ContentPart, Part, Text, ToolResult, Unknown

ReadPart: TypeAlias = Callable[[JsonObject, str], ContentPart]
WritePart: TypeAlias = Callable[[ContentPart], object]


def read_content(value: object, path: str, read_part: ReadPart) -> tuple[ContentPart, ...]:
    """Read a content; null gives no parts. A bare text in a list counts as a text part."""
    if isinstance(value, str):
        return (Text(value),)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong(path, "a text, a list of parts or null", value)
    return tuple(_read_item(item, f"{path}[{index}]", read_part) for index, item in enumerate(value))


def _read_item(item: object, path: str, read_part: ReadPart) -> ContentPart:
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        raise wrong(path, "a part (an object) or a text", item)
    return read_part(item, path)


def content_of(parts: Sequence[Part]) -> tuple[ContentPart, ...]:
    """Give the parts that stand in a content."""
    return tuple(part for part in parts if isinstance(part, ContentPart))


def result_parts(result: ToolResult) -> tuple[ContentPart, ...]:
    """Give the content of a tool result as parts, a text as one part."""
    return (Text(result.content),) if isinstance(result.content, str) else result.content


def write_content(parts: Sequence[ContentPart], write_part: WritePart) -> object:
    """Write parts as a content: one text as a text, everything else as a list."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [write_part(part) for part in parts]


def patch_content(
    raw: object,
    old: Sequence[ContentPart],
    new: Sequence[ContentPart],
    write_part: WritePart,
) -> object:
    """Give `raw`, which was read as `old`, changed so that it reads as `new`.

    Items that did not change are the very objects of `raw`, and a text that did keeps the other keys of its
    item.
    """
    if tuple(old) == tuple(new):
        return raw
    if not new:
        return None if raw is None else ""
    if not isinstance(raw, list):
        return write_content(new, write_part)
    if len(old) == len(new):
        return [
            _patch_item(item, before, after, write_part) for item, before, after in zip(raw, old, new, strict=True)
        ]
    # An unknown part is written as it came anyway, and all of them hash alike.
    known = {part: item for part, item in zip(old, raw, strict=True) if not isinstance(part, Unknown)}
    return [known[part] if part in known else write_part(part) for part in new]


def _patch_item(item: object, before: ContentPart, after: ContentPart, write_part: WritePart) -> object:
    if before == after:
        return item
    if isinstance(before, Text) and isinstance(after, Text):
        return {**item, "text": after.text} if isinstance(item, dict) else after.text
    return write_part(after)
