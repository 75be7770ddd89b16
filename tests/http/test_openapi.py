"""The description is complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from http_helpers import TOKENS, make_app
from trimtab.config import Server


def described(place: str, *, secured: bool = True) -> dict[str, Any]:
    server = Server(tokens=TOKENS) if secured else Server()
    told: dict[str, Any] = make_app(place, server=server).openapi()
    return told


def operations(told: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in told["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def test_every_operation_has_a_name_a_summary_a_tag_and_its_errors(place: str) -> None:
    told = described(place)
    names = [operation["operationId"] for _, _, operation in operations(told)]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in told["tags"]}
    for path, method, operation in operations(told):
        where = f"{method} {path}"
        assert operation.get("summary"), where
        assert operation.get("description"), where
        assert set(operation["tags"]) <= tags, where
        failing = {status: one for status, one in operation["responses"].items() if int(status) >= 400}
        assert {"400", "421", "500", "503"} <= failing.keys(), where
        for status, response in failing.items():
            assert response["description"], (where, status)
            kinds = set(response["content"])
            assert kinds == ({"application/json"} if path.startswith("/v1/") else {"application/problem+json"}), (
                where
            )


def test_what_needs_a_token_says_so(place: str) -> None:
    for path, _, operation in operations(described(place)):
        is_open = path in ("/api/v2/health", "/api/v2/readiness")
        assert ("security" in operation) is not is_open, path
        assert ("401" in operation["responses"]) is not is_open, path
    assert "securitySchemes" not in described(place, secured=False)["components"]


def test_every_body_has_an_example_that_is_taken(place: str) -> None:
    told = described(place)
    for path, method, operation in operations(told):
        body = operation.get("requestBody")
        if body is not None:
            schema = json.dumps(_resolved(told, body["content"]["application/json"]["schema"]))
            assert '"examples"' in schema, f"{method} {path}"


def _resolved(told: dict[str, Any], schema: dict[str, Any]) -> Any:
    found = [schema]
    for one in found:
        for ref in _references(one):
            target = told["components"]["schemas"][ref.rpartition("/")[2]]
            if target not in found:
                found.append(target)
    return found


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "$ref":
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


@pytest.mark.parametrize("secured", [True, False])
def test_nothing_of_the_framework_is_left_in_it(place: str, secured: bool) -> None:
    told = json.dumps(described(place, secured=secured))

    assert "HTTPValidationError" not in told
    assert "/components/schemas/Problem" in told
