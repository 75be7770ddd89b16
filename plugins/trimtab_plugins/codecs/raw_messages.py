"""What can be told of a list of messages before any of them is read: their ids, and where the input begins."""

from __future__ import annotations

from collections.abc import Container, Sequence

from trimtab_plugins.codecs.reading import JsonObject


def message_ids(items: Sequence[object]) -> list[str]:
    """Give each message its id: its own where that is a text nobody had before, else `m` and its position."""
    own = {item["id"] for item in items if isinstance(item, dict) and "id" in item and isinstance(item["id"], str)}
    if not own:
        return [f"m{position}" for position in range(len(items))]
    ids: list[str] = []
    given: set[str] = set()
    for position, item in enumerate(items):
        wanted = item.get("id") if isinstance(item, dict) else None
        if isinstance(wanted, str) and wanted and wanted not in given:
            given.add(wanted)
            ids.append(wanted)
        else:
            ids.append(free_id(f"m{position}", own))
    return ids


def free_id(wanted: str, taken: Container[str]) -> str:
    """Give an id that nobody has: the wanted one, else that with the first free number from 2 on."""
    candidate, number = wanted, 2
    while candidate in taken:
        candidate = f"{wanted}-{number}"
        number += 1
    return candidate


def input_start(items: Sequence[object]) -> int:
    """Give the index of the first of the user messages that the list ends in, its length when there are none."""
    start = len(items)
    while start and _role_of(items[start - 1]) == "user":
        start -= 1
    return start


def only_text(raw: JsonObject) -> str | None:
    """Give the content of a message that is a text with a role and perhaps an id, as most are; else None."""
    size = len(raw)
    if size > 3 or (size == 3 and "id" not in raw):
        return None
    content = raw.get("content")
    return content if isinstance(content, str) else None


def _role_of(item: object) -> object:
    return item.get("role") if isinstance(item, dict) else None
