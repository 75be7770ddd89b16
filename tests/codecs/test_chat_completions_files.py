"""Bodies written after the types of OpenAI's SDK: they come back equal, and what a fit makes of them is valid."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openai.types.chat import completion_create_params as params
from pydantic import TypeAdapter

import trimtab
from case_wire_chat import chat_faults
from trimtab_sdk import TokenBudgetExceededError

FILES = sorted((Path(__file__).parent / "chat_files").glob("*.json"))


def body_in(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text())
    return body


@cache
def validator(streaming: bool) -> Draft202012Validator:
    """The SDK's type as a JSON schema that allows no key it does not name."""
    kind: Any = params.CompletionCreateParamsStreaming if streaming else params.CompletionCreateParamsNonStreaming
    schema = TypeAdapter(kind).json_schema()
    close(schema)
    return Draft202012Validator(schema)


def close(schema: object) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            close(value)
    elif isinstance(schema, list):
        for value in schema:
            close(value)


def type_faults(body: dict[str, Any]) -> list[str]:
    return [error.message[:200] for error in validator(bool(body.get("stream"))).iter_errors(body)]


def fit(body: dict[str, Any], limit: int, strategy: str = "truncate") -> trimtab.Fit:
    return trimtab.fit(body, model="gpt-4o", strategy=strategy, context_limit=limit, reserve=0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_valid_and_comes_back_equal_and_as_the_same_objects(path: Path) -> None:
    body = body_in(path)
    assert type_faults(body) == []
    result = fit(body, 100_000)
    assert result.request == body
    assert json.dumps(result.request) == json.dumps(body)
    assert all(one is other for one, other in zip(result.messages, body["messages"], strict=True))


@pytest.mark.parametrize("strategy", ["truncate", "manual", "summarize", "vector-recall"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_at_every_budget_what_is_sent_is_valid(path: Path, strategy: str) -> None:
    body = body_in(path)
    whole = fit(body, 100_000).tokens_after
    fitted = 0
    for limit in range(20, whole + 10, max(1, whole // 60)):
        try:
            result = fit(body, limit, strategy)
        except TokenBudgetExceededError:
            continue
        fitted += 1
        assert result.request is not None
        assert result.tokens_after <= limit
        assert type_faults(result.request) == []
        assert chat_faults(result.messages) == []
    assert fitted > 5


def test_the_judge_finds_an_unknown_key_and_a_missing_name() -> None:
    body = body_in(FILES[0])
    body["messages"][-1]["mood"] = "calm"
    assert type_faults(body)
    body = body_in(FILES[-1])
    del body["tools"][0]["function"]["name"]
    assert type_faults(body)
