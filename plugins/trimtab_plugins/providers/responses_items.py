"""Items of Responses that go to a server once more: answers of its own, as it takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab_plugins.codecs.openai_responses_kinds import kind_of, role_of
from trimtab_plugins.codecs.openai_responses_writing import without_id
from trimtab_plugins.providers.stream_json import JsonObject

_OUTPUT_ONLY = frozenset({"created_by"})
_NEVER_NULL = frozenset({"message", "reasoning", "function_call", "custom_tool_call", "compaction"})


def recalled(items: Sequence[object]) -> list[object]:
    """Give the items of an earlier answer as they are sent again, one for one.

    The types of answers have keys that those of requests do not have, and the server refuses them: `created_by`,
    the `status` of reasoning, and nulls where a request may only leave a key out.
    """
    return [_recalled(item) if isinstance(item, dict) else item for item in items]


def _recalled(item: JsonObject) -> JsonObject:
    kind = kind_of(item)
    unwanted = {key for key in item if key in _OUTPUT_ONLY or (kind == "reasoning" and key == "status")}
    if kind in _NEVER_NULL:
        unwanted |= {key for key, value in item.items() if value is None}
    return {key: value for key, value in item.items() if key not in unwanted} if unwanted else item


def readable_without_store(items: list[object]) -> list[object]:
    """Give items without reasoning that is a mere id to a server which has stored nothing.

    Such a server refuses the whole request for it. What that reasoning led to goes without an id, for by its id a
    server that did store it would ask for the reasoning.
    """
    if not any(_is_mere_id(item) for item in items):
        return items
    return list(_readable(items))


def _readable(items: Sequence[object]) -> Iterator[object]:
    bare = False
    for item in items:
        if _is_mere_id(item):
            bare = True
            continue
        bare = bare and _is_of_answer(item)
        if bare and isinstance(item, dict):
            yield from without_id(item)
        else:
            yield item


def _is_mere_id(item: object) -> bool:
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return False
    return not item.get("encrypted_content") and not item.get("content")


def _is_of_answer(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    kind = kind_of(item)
    return item.get("role") == "assistant" if kind == "message" else role_of(str(kind)) == "assistant"
