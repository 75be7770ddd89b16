"""A plugin's settings are checked against its own schema, which is outside data itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

import trimtab
from talks import fit, talk
from trimtab_sdk import Edit, InvalidRequestError, PluginLoadError, Traits, hookimpl


class Settled:
    """A strategy with a settings schema."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self.schema = schema

    @hookimpl
    def trimtab_shift(self) -> Edit | None:
        return None

    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(settings_schema=self.schema)


def fit_with(schema: Mapping[str, object], settings: Mapping[str, object]) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("settled", Settled(schema))
    return fit(talk(), 10_000, strategy="settled", registry=registry, settings=settings)


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback: its address, and the paths that were asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_reference_to_an_address_is_never_fetched(asked: tuple[str, list[str]]) -> None:
    address, paths = asked
    with pytest.raises(PluginLoadError, match="settings_schema cannot be used"):
        fit_with({"$ref": f"{address}/schema"}, {"words": 3})
    assert paths == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"type": 7},
        {"properties": {"words": {"pattern": "("}}},
        {"$schema": "http://127.0.0.1:9/", "$ref": "urn:none"},
    ],
    ids=["endless", "dangling", "no type", "no pattern", "unknown dialect"],
)
def test_a_schema_that_cannot_be_used_is_the_plugins_fault(schema: Mapping[str, object]) -> None:
    with pytest.raises(PluginLoadError, match=r"plugin settled in trimtab_traits.*settings_schema"):
        fit_with(schema, {"words": "three"})


def test_a_schema_may_refer_to_itself_within_reason() -> None:
    schema = {"properties": {"words": {"$ref": "#/$defs/number"}}, "$defs": {"number": {"type": "integer"}}}
    assert fit_with(schema, {"words": 3}).excluded == ()
    with pytest.raises(InvalidRequestError, match=r"settings\.words of settled"):
        fit_with(schema, {"words": "three"})
