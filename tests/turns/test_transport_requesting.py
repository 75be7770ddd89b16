"""What a driver may say of a request, and what is the host's alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest

from trimtab.turns.requesting import Prepared, prepare
from trimtab_sdk import (
    Credential,
    InvalidRequestError,
    PluginCrashedError,
    PluginRejectedError,
    ProviderCall,
    ProviderRequest,
)
from turns.pocket_driver import PocketDriver, call, target

BASE = "https://models.invalid/v1"


@dataclass
class Said(PocketDriver):
    """Gives the request it was made with."""

    said: ProviderRequest
    credential: Credential = field(default_factory=Credential)

    def request(self, call: ProviderCall) -> ProviderRequest:
        return self.said


def prepared(
    path: str = "chat",
    body: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    key: str = "k-1",
    credential: Credential | None = None,
) -> Prepared:
    driver = Said(ProviderRequest(path, body or {}, headers or {}), credential or Credential())
    return prepare(target(BASE, driver=driver, key=key), call())


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("chat/completions", f"{BASE}/chat/completions"),
        ("/chat/completions", f"{BASE}/chat/completions"),
        ("models/m-1:stream?alt=sse", f"{BASE}/models/m-1:stream?alt=sse"),
        ("models/a%2Fb/", f"{BASE}/models/a%2Fb/"),
        ("/@elsewhere.invalid", f"{BASE}/@elsewhere.invalid"),
    ],
)
def test_a_path_is_put_behind_the_base_url(path: str, url: str) -> None:
    assert prepared(path).url == url


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "//elsewhere.invalid/x",
        "https://elsewhere.invalid/x",
        "../v2/x",
        "a/../../x",
        "a/./x",
        "a/%2e%2E/x",
        "a%2F..%2Fx",
        "a%5c..%5cx",
        "a\\b",
        "a b",
        "a\r\nhost: x",
        "ä",
        "a#b",
        "a?b#c",
        "a?b c",
        "x" * 5000,
        None,
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(PluginRejectedError, match="path"):
        prepared(path)


@pytest.mark.parametrize(
    "name",
    ["Host", "content-length", "Transfer-Encoding", "Cookie", "authorization", "Accept-Encoding", "Connection"],
)
def test_a_header_of_the_hosts_is_refused(name: str) -> None:
    with pytest.raises(PluginRejectedError, match="which is the host's"):
        prepared(headers={name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a b", "x"),
        ("", "x"),
        ("a:b", "x"),
        ("a", "x\r\ny: z"),
        ("a", "ä"),
        ("a", ""),
        ("a", 7),
        (7, "a"),
        ("a", "x "),
    ],
)
def test_a_header_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(PluginRejectedError, match="header"):
        prepared(headers={name: value})


def test_further_headers_are_sent_in_lower_case() -> None:
    assert ("x-version", "2 b") in prepared(headers={"X-Version": "2 b"}).headers


def test_the_key_goes_where_the_driver_says_and_is_not_shown() -> None:
    made = prepared(credential=Credential("X-Api-Key", ""))
    assert dict(made.headers)["x-api-key"] == "k-1"
    assert "authorization" not in dict(made.headers)
    assert "k-1" not in repr(made)
    with pytest.raises(PluginRejectedError, match="which is the host's"):
        prepared(headers={"x-api-key": "mine"}, credential=Credential("X-Api-Key", ""))
    assert "authorization" not in dict(prepared(key="").headers)


@pytest.mark.parametrize(
    "credential", [Credential("host"), Credential("cookie"), Credential("a b"), Credential(prefix="x\r\n")]
)
def test_a_key_goes_into_no_header_of_another_kind(credential: Credential) -> None:
    with pytest.raises(PluginRejectedError, match="credential"):
        prepared(credential=credential)


def test_a_body_is_plain_ascii_json_and_the_same_each_time() -> None:
    body = {"b": "naïve \U0001f600\u2028", "a": MappingProxyType({"x": [1, 2.5, None]})}
    assert prepared(body=body).body == b'{"b":"na\\u00efve \\ud83d\\ude00\\u2028","a":{"x":[1,2.5,null]}}'
    assert prepared(body=body) == prepared(body=body)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()])
def test_a_body_that_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(PluginRejectedError, match="body is no JSON"):
        prepared(body={"a": value})


def test_a_body_without_end_is_refused() -> None:
    round_and_round: dict[str, object] = {}
    round_and_round["a"] = round_and_round
    with pytest.raises(PluginRejectedError, match="body is no JSON"):
        prepared(body=round_and_round)


def test_what_a_driver_raises_is_told_with_its_name() -> None:
    class Raising(PocketDriver):
        def __init__(self, error: Exception) -> None:
            self.error = error

        def request(self, call: ProviderCall) -> ProviderRequest:
            raise self.error

    with pytest.raises(PluginCrashedError, match="plugin pocket in request: KeyError"):
        prepare(target(BASE, driver=Raising(KeyError("x"))), call())
    with pytest.raises(InvalidRequestError, match="too warm"):
        prepare(target(BASE, driver=Raising(InvalidRequestError("too warm"))), call())


def test_what_is_no_request_is_refused() -> None:
    for said in (None, {"path": "x"}, ProviderRequest("x", []), ProviderRequest("x", {}, [])):  # type: ignore[arg-type]
        with pytest.raises(PluginRejectedError):
            prepare(target(BASE, driver=Said(said)), call())  # type: ignore[arg-type]
