"""Reaching a server: names, ports and certificates."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from trimtab.turns.transport import Transport
from trimtab_sdk import Answer, ConfigError, ProviderError
from turns.pocket_driver import DONE, HELLO, call, target
from turns.raw_server import serve, stream

OK = stream(HELLO, DONE)


def error_at(url: str, limits: dict[str, float] | None = None) -> ProviderError:
    """Give the error of a call to this address."""

    async def run() -> None:
        transport = Transport()
        try:
            await anext(transport.stream(target(url, limits=limits), call()))
        finally:
            await transport.aclose()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(run())
    assert caught.value.status == 0
    return caught.value


def secure_call(tmp_path: Path, *, name: str, trusted: bool = True) -> Answer:
    """Make a call to a server whose certificate is for `name`, from an authority that is trusted or not."""
    authority, stranger = trustme.CA(), trustme.CA()
    ca_file = tmp_path / "ca.pem"
    (authority if trusted else stranger).cert_pem.write_to_path(str(ca_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)

    async def run() -> Answer:
        transport = Transport()
        async with serve(OK, tls=context) as server:
            aim = target(server.url, limits={"ca_file": ca_file})
            try:
                told = [event async for event in transport.stream(aim, call())]
            finally:
                await transport.aclose()
        assert isinstance(told[-1], Answer)
        return told[-1]

    return asyncio.run(run())


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = error_at(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert (error.code, error.retryable) == ("PROVIDER_UNREACHABLE", True)
    assert "the connection was refused" in str(error)


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 70 + ".invalid", "a..b.invalid"])
def test_a_name_without_an_address_is_unreachable(host: str) -> None:
    error = error_at(f"http://{host}/v1")
    assert error.code == "PROVIDER_UNREACHABLE"
    assert "no address is known for its name" in str(error)


def test_a_connection_that_is_not_taken_is_a_timeout_of_connecting() -> None:
    # A queue for one that nobody takes from: further connections are not answered.
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        error = error_at(f"http://127.0.0.1:{full.getsockname()[1]}/v1", limits={"connect_seconds": 0.05})
    assert error.code == "PROVIDER_TIMEOUT"
    assert "connect_seconds, 0.05, ran out" in str(error)


def test_a_server_that_is_silent_in_the_handshake_is_a_timeout_of_connecting() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(5)
        error = error_at(f"https://127.0.0.1:{mute.getsockname()[1]}/v1", limits={"connect_seconds": 0.05})
    assert "connect_seconds, 0.05, ran out" in str(error)


def test_an_authority_in_the_ca_file_is_trusted(tmp_path: Path) -> None:
    assert secure_call(tmp_path, name="localhost").finish == "stop"


@pytest.mark.parametrize(
    ("name", "trusted", "reason"),
    [("localhost", False, "issuer certificate"), ("elsewhere.invalid", True, "Hostname mismatch")],
    ids=["unknown authority", "another name"],
)
def test_a_certificate_that_does_not_hold_is_told_with_its_reason(
    tmp_path: Path, name: str, trusted: bool, reason: str
) -> None:
    with pytest.raises(ProviderError, match=reason) as caught:
        secure_call(tmp_path, name=name, trusted=trusted)
    assert (caught.value.code, caught.value.retryable) == ("PROVIDER_TLS_FAILED", False)


def test_a_server_without_tls_is_no_secure_server() -> None:
    refused = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()
        await writer.wait_closed()
        refused.set()

    async def run() -> str:
        transport = Transport()
        listener = await asyncio.start_server(refuse, "127.0.0.1", 0)
        url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await anext(transport.stream(target(url), call()))
        await transport.aclose()
        await asyncio.wait_for(refused.wait(), 5)
        listener.close()
        return caught.value.code

    assert asyncio.run(run()) == "PROVIDER_TLS_FAILED"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_ca_file_that_cannot_be_read_is_named(tmp_path: Path, content: str | None) -> None:
    ca_file = tmp_path / "odd.pem"
    if content is not None:
        ca_file.write_text(content)

    async def run() -> None:
        await anext(Transport().stream(target("https://localhost:1/v1", limits={"ca_file": ca_file}), call()))

    with pytest.raises(ConfigError, match=r"odd\.pem"):
        asyncio.run(run())


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")

    async def run() -> int:
        transport = Transport()
        async with serve(OK) as server:
            told = [event async for event in transport.stream(target(server.url), call())]
            await transport.aclose()
            return len(told)

    assert asyncio.run(run()) == 2
