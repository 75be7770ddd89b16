from __future__ import annotations

import httpx
import pytest

from http_helpers import Running, problem_of

pytestmark = pytest.mark.anyio


async def test_it_is_alive_and_ready(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v2/health")).json() == {"status": "ok"}
    assert (await client.get("/api/v2/readiness")).json() == {"status": "ready"}


async def test_a_path_that_is_not_there_is_told_as_a_problem(client: httpx.AsyncClient) -> None:
    problem_of(await client.get("/api/v2/nothing"), 404, "ROUTE_NOT_FOUND")
    assert problem_of(await client.put("/api/v2/health"), 405, "METHOD_NOT_ALLOWED")


async def test_errors_under_v1_have_the_shape_of_openai(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/nothing")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "ROUTE_NOT_FOUND"


def test_a_real_server_answers(server: Running) -> None:
    with server.client() as client:
        assert client.get("/api/v2/health").json() == {"status": "ok"}
