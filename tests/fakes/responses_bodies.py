"""What the Responses API refuses in a body by itself: the official SDK's types, closed, and rules of the wire.

What depends on the answers before, as the pairing of calls and outputs, is judged in `responses_context`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Literal, TypeAlias

from jsonschema import Draft202012Validator

from fakes.chat_judge import Wrong, closed
from fakes.chat_replies import Json
from fakes.responses_items import Item, items_of, type_of

Target: TypeAlias = Literal["create", "count", "compact"]
_MESSAGES = ("EasyInputMessageParam", "Message", "ResponseOutputMessageParam")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LEAST_OUTPUT = 16
_REMEMBERED = 50_000


class ResponsesJudge:
    """Judges bodies of POST /responses, /responses/input_tokens and /responses/compact.

    `extra_keys` are let through wherever they stand. Verdicts on items are kept by their text.
    """

    def __init__(self, *, extra_keys: Collection[str] = ()) -> None:
        self._validators = _validators(frozenset(extra_keys))
        self._verdicts: dict[str, tuple[Wrong, ...]] = {}

    def faults(self, body: Json, target: Target = "create") -> list[Wrong]:
        """Give what is wrong with a body; an empty list is one that the server reads on."""
        if not isinstance(body, dict):
            return [Wrong("the body is no JSON object")]
        return self._type_faults(body, target) or [*_rule_faults(body, target)]

    def _type_faults(self, body: Json, target: Target) -> list[Wrong]:
        kind = "stream" if target == "create" and body.get("stream") is True else target
        given = body.get("input")
        if not isinstance(given, list):
            return self._verdict(kind, body, "")
        faults = self._verdict(kind, {**body, "input": []}, "")
        for at, item in enumerate(given):
            faults += self._item_verdict(item, f"input[{at}]")
        return faults

    def _item_verdict(self, item: Json, place: str) -> list[Wrong]:
        if not isinstance(item, dict):
            return [Wrong(f"{place}: no object", place)]
        kind = f"item {_kind_of(item)}"
        if kind not in self._validators:
            return [Wrong(f"{place}.type: {item.get('type')!r} is no type of an item", f"{place}.type")]
        return self._verdict(kind, _without_given_id(item), place)

    def _verdict(self, kind: str, value: Json, place: str) -> list[Wrong]:
        key = f"{kind} {json.dumps(value)}"
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            errors = self._validators[kind].iter_errors(value)
            found = tuple(Wrong(error.message[:300], error.json_path[1:].lstrip(".")) for error in errors)
            self._verdicts[key] = found
        return [_placed(wrong, place) for wrong in found]


def _placed(wrong: Wrong, place: str) -> Wrong:
    param = ".".join(part for part in (place, wrong.param) if part)
    return Wrong(f"{param or 'body'}: {wrong.message}", param or None)


def _kind_of(item: Item) -> str:
    """Give the schema for an item; messages have three, by what they look like."""
    kind = type_of(item)
    if kind != "message":
        return kind
    if item.get("role") != "assistant":
        return "message with status" if "status" in item else "message"
    return "message exact" if "id" in item or not isinstance(item.get("content"), str) else "message"


def _without_given_id(item: Item) -> Item:
    """Users' messages have ids as the server gives them back, which it takes again though no type says so."""
    is_said = type_of(item) == "message" and item.get("role") != "assistant"
    return {key: value for key, value in item.items() if key != "id"} if is_said else item


@cache
def _validators(extra_keys: frozenset[str]) -> Mapping[str, Draft202012Validator]:
    from openai.types.responses import input_token_count_params, response_compact_params, response_create_params
    from pydantic import TypeAdapter

    types = {
        "stream": response_create_params.ResponseCreateParamsStreaming,
        "create": response_create_params.ResponseCreateParamsNonStreaming,
        "count": input_token_count_params.InputTokenCountParams,
        "compact": response_compact_params.ResponseCompactParams,
    }
    schemas = {kind: closed(TypeAdapter(one).json_schema(), extra_keys) for kind, one in types.items()}
    definitions = schemas["stream"]["$defs"]
    schemas |= {
        f"item {kind}": {"$ref": f"#/$defs/{name}", "$defs": definitions}
        for kind, name in _item_types(schemas["stream"]).items()
    }
    return {kind: Draft202012Validator(schema) for kind, schema in schemas.items()}


def _item_types(schema: Json) -> dict[str, str]:
    """Give the name of the definition for each type of item."""
    easy, with_status, exact = _MESSAGES
    named = {"message": easy, "message with status": with_status, "message exact": exact}
    for choice in schema["properties"]["input"]["anyOf"][1]["items"]["anyOf"]:
        name = choice["$ref"].rpartition("/")[2]
        if name not in _MESSAGES:
            named |= dict.fromkeys(_words_of(schema["$defs"][name]["properties"]["type"]), name)
    return named


def _words_of(schema: Json) -> list[str]:
    if "const" in schema:
        return [schema["const"]]
    return [word for inner in schema.get("anyOf", ()) for word in _words_of(inner)]


def _rule_faults(body: Json, target: Target) -> Iterator[Wrong]:
    if target != "count":
        yield from _presence_faults(body)
    if body.get("conversation") is not None and body.get("previous_response_id") is not None:
        yield Wrong(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            "previous_response_id",
            "mutually_exclusive_parameters",
        )
    if "stream_options" in body and not body.get("stream"):
        yield Wrong("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if (body.get("max_output_tokens") or _LEAST_OUTPUT) < _LEAST_OUTPUT:
        yield Wrong(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_LEAST_OUTPUT}.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    yield from _tool_faults(body)
    yield from _item_faults(items_of(body))


def _presence_faults(body: Json) -> Iterator[Wrong]:
    ways = ("input", "previous_response_id", "prompt", "conversation")
    if not body.get("model"):
        yield Wrong("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if all(body.get(way) is None for way in ways) or body.get("input") == "":
        yield Wrong(
            "One of 'input' or 'previous_response_id' or 'prompt' or 'conversation' must be provided.",
            "input",
            "missing_required_parameter",
        )


def _tool_faults(body: Json) -> Iterator[Wrong]:
    names = [tool["name"] for tool in body.get("tools") or () if tool["type"] in ("function", "custom")]
    for name, times in Counter(names).items():
        if not _NAME.fullmatch(name):
            yield Wrong(f"Invalid 'tools': the name {name!r}", "tools")
        if times > 1:
            yield Wrong(f"Invalid 'tools': the name {name!r} again", "tools")
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" and choice["name"] not in names:
        yield Wrong("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def _item_faults(items: list[Item]) -> Iterator[Wrong]:
    for item_id, times in Counter(item["id"] for item in items if item.get("id")).items():
        if times > 1:
            yield Wrong(
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again.",
                "input",
            )
    for at, item in enumerate(items):
        yield from _one_item_faults(item, f"input[{at}]", is_last=at == len(items) - 1)


def _one_item_faults(item: Item, place: str, *, is_last: bool) -> Iterator[Wrong]:
    kind = type_of(item)
    if kind == "compaction_trigger" and not is_last:
        yield Wrong(f"{place}: a compaction_trigger must be the last item", place)
    if kind == "message" and item["content"] == []:
        yield Wrong(f"{place}: empty content", f"{place}.content")
    if kind == "function_call" and not _NAME.fullmatch(item["name"]):
        yield Wrong(f"{place}: a call of {item['name']!r}", f"{place}.name")
    if kind == "function_call_output" and not item.get("call_id"):
        yield Wrong(f"Missing required parameter: '{place}.call_id'.", f"{place}.call_id")
    for part in item["content"] if kind == "message" and isinstance(item["content"], list) else ():
        if part["type"] == "input_image" and not part.get("image_url") and not part.get("file_id"):
            yield Wrong(f"{place}: a picture without image_url and file_id", f"{place}.content")
