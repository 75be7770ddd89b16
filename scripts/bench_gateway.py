"""Compare the gateway with a bare pass-through and with the LiteLLM proxy, in one run on loopback.

    python scripts/bench_gateway.py                  # all four, one table
    python scripts/bench_gateway.py --seconds 5 --only gateway passthrough

One fake upstream in a process of its own answers at once, with canned JSON or a canned stream of 20 pieces. Each
server has one worker of uvicorn. LiteLLM is installed into an environment of its own under the temp directory
(`--litellm PATH` takes one that is there); it is no dependency of anything here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "gpt-4o"
KEY = "sk-bench-bench-bench"
SERVERS = ("upstream", "passthrough", "gateway", "litellm")
PIECES = 20


def bodies() -> dict[str, dict[str, Any]]:
    """The chats that are asked: a short one, and one of 100 messages of about 500 bytes."""
    text = "The crate was weighed at the gate and the clerk noted what was left of the kettles in it. " * 6
    long = [{"role": ("user", "assistant")[at % 2], "content": f"{at}: {text[:500]}"} for at in range(98)]
    system = {"role": "system", "content": "Be brief."}
    last = {"role": "user", "content": "How many kettles are left?"}
    return {
        "short": {"model": MODEL, "messages": [system, last]},
        "100 messages": {"model": MODEL, "messages": [system, *long, last]},
    }


# The upstream: as little work as can be.


def _canned() -> tuple[bytes, bytes]:
    head = {"id": "chatcmpl-1", "created": 1_790_000_000, "model": MODEL}
    usage = {"prompt_tokens": 20, "completion_tokens": PIECES, "total_tokens": 20 + PIECES}
    message = {"role": "assistant", "content": "seven " * PIECES}
    whole = {**head, "object": "chat.completion", "usage": usage}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": "seven "} for _ in range(PIECES)), {}]
    frames = []
    for at, delta in enumerate(deltas):
        finish = "stop" if at == len(deltas) - 1 else None
        frames.append({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    frames.append({**chunk, "choices": [], "usage": usage})
    told = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in frames] + [b"data: [DONE]\n\n"]
    body = json.dumps(whole).encode()
    plain = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for one in told:
        stream += b"%x\r\n" % len(one) + one + b"\r\n"
    return plain, stream + b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """Answers each request with what is canned."""

    plain, stream = _canned()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._taken = b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._taken += data
        while (end := self._taken.find(b"\r\n\r\n")) >= 0:
            head = self._taken[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._taken) < end + 4 + size:
                return
            body, self._taken = self._taken[end + 4 : end + 4 + size], self._taken[end + 4 + size :]
            streamed = b'"stream":true' in body or b'"stream": true' in body
            self._transport.write(self.stream if streamed else self.plain)


async def serve_upstream(port: int) -> None:
    """Serve for ever."""
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port)
    await server.serve_forever()


# The servers that are compared.


def passthrough_app(upstream: str) -> Any:
    """A bare FastAPI app that passes everything on with httpx."""
    import httpx
    from fastapi import FastAPI, Request
    from fastapi.responses import Response, StreamingResponse

    app = FastAPI()
    client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=100))

    async def pass_on(request: Request) -> Response:
        body = await request.body()
        asked = client.build_request(
            "POST", f"{upstream}/chat/completions", content=body, headers={"content-type": "application/json"}
        )
        answer = await client.send(asked, stream=True)
        if json.loads(body).get("stream"):
            return StreamingResponse(answer.aiter_raw(), media_type="text/event-stream")
        return Response(await answer.aread(), media_type="application/json")

    # FastAPI reads annotations as values, and these names are known in here alone.
    pass_on.__annotations__ = {"request": Request, "return": Response}
    app.post("/v1/chat/completions", response_model=None)(pass_on)
    return app


def serve_gateway(upstream: str, port: int) -> None:
    """Our gateway, as `trimtab serve` runs it."""
    from trimtab.http.serving import listen, serve

    host = gateway_host(upstream, port)
    serve(host, host.config.server, listen(host.config.server), ready=lambda: None)


def gateway_host(upstream: str, port: int) -> Any:
    """A host whose gateway asks the fake."""
    from trimtab.config import Config, Server
    from trimtab.config_server import Gateway
    from trimtab.host import Host

    folder = tempfile.mkdtemp(prefix="bench-gateway-")
    config = Config.model_validate(
        {
            "providers": {"bench": {"driver": "openai-compatible", "base_url": upstream}},
            "server": Server(port=port, gateway=Gateway(provider="bench"), max_requests=512),
        }
    )
    return Host(Path(folder) / "chats.db", config, environ={})


def serve_app(name: str, upstream: str, port: int) -> None:
    """Serve one of our apps."""
    import uvicorn

    if name == "gateway":
        serve_gateway(upstream, port)
        return
    uvicorn.run(passthrough_app(upstream), host="127.0.0.1", port=port, log_level="error", access_log=False)


def litellm_command(folder: Path, environment: Path, upstream: str, port: int) -> list[str]:
    """Give the command of the LiteLLM proxy, installed when it is not there."""
    program = environment / "bin" / "litellm"
    if not program.exists():
        print(f"installing litellm[proxy] into {environment}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        pip = [str(environment / "bin" / "pip"), "install", "-q", "litellm[proxy]"]
        subprocess.run(pip, check=True)
    config = folder / "litellm.yaml"
    config.write_text(
        "model_list:\n"
        f"  - model_name: {MODEL}\n"
        "    litellm_params:\n"
        f"      model: openai/{MODEL}\n"
        f"      api_base: {upstream}\n"
        "      api_key: none\n"
        "litellm_settings:\n  telemetry: false\n"
        f"general_settings:\n  master_key: {KEY}\n"
    )
    given = ["--config", str(config), "--port", str(port), "--host", "127.0.0.1", "--num_workers", "1"]
    return [str(program), *given]


# The client.


@dataclass
class Row:
    """What was measured of one server in one way."""

    server: str
    chat: str
    stream: bool
    connections: int
    seconds: list[float]
    wall: float

    def cells(self) -> list[str]:
        """The row of the table; times in milliseconds."""
        ordered = sorted(self.seconds)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        rate = len(ordered) / self.wall
        middle = statistics.median(ordered)
        kind = "stream" if self.stream else "json"
        return [
            self.chat,
            kind,
            str(self.connections),
            self.server,
            f"{middle * 1e3:.2f}",
            f"{p99 * 1e3:.2f}",
            f"{rate:.0f}",
        ]


def request_bytes(port: int, body: dict[str, Any]) -> bytes:
    """A request as it goes over the wire."""
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {KEY}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def ask_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Ask, and read the answer to its end."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(f"{head!r} {await reader.read(2000)!r}")
    at = head.find(b"content-length:")
    if at >= 0:
        await reader.readexactly(int(head[at + 15 :].split(b"\r\n", 1)[0]))
        return
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        await reader.readexactly(size + 2)
    await reader.readuntil(b"\r\n")


async def measure(port: int, request: bytes, *, connections: int, seconds: float) -> tuple[list[float], float]:
    """Ask again and again over so many connections."""
    taken: list[float] = []

    async def go_on(until: float, into: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < until:
            began = time.perf_counter()
            await ask_once(reader, writer, request)
            into.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(go_on(time.perf_counter() + seconds / 3, []) for _ in range(connections)))
    began = time.perf_counter()
    await asyncio.gather(*(go_on(began + seconds, taken) for _ in range(connections)))
    return taken, time.perf_counter() - began


@contextlib.contextmanager
def process(command: list[str], port: int, folder: Path, *, patience: float = 120) -> Iterator[None]:
    """Run a server until the block is left; it listens when the block begins."""
    environ = {**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (folder / f"{port}.log").open("wb") as log:
        running = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        try:
            until = time.monotonic() + patience
            while time.monotonic() < until:
                if running.poll() is not None:
                    raise RuntimeError((folder / f"{port}.log").read_text()[-2000:])
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield
        finally:
            running.terminate()
            running.wait(20)


def free_port() -> int:
    """Give a port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def run(names: list[str], *, seconds: float, environment: Path) -> list[Row]:
    """Measure the servers one after the other."""
    rows: list[Row] = []
    own = [sys.executable, str(Path(__file__).resolve())]
    with tempfile.TemporaryDirectory(prefix="bench-gateway-") as place:
        folder, port = Path(place), free_port()
        upstream = f"http://127.0.0.1:{port}/v1"
        with process([*own, "--serve", "upstream", "--port", str(port)], port, folder):
            for name in names:
                rows += run_server(name, own, upstream, port, folder, environment, seconds)
    return rows


def run_server(
    name: str, own: list[str], upstream: str, upstream_port: int, folder: Path, environment: Path, seconds: float
) -> list[Row]:
    """Measure one server in all ways."""
    if name == "upstream":
        return measure_all(name, upstream_port, seconds)
    port = free_port()
    command = [*own, "--serve", name, "--port", str(port), "--upstream", upstream]
    if name == "litellm":
        command = litellm_command(folder, environment, upstream, port)
    with process(command, port, folder):
        return measure_all(name, port, seconds)


def measure_all(name: str, port: int, seconds: float) -> list[Row]:
    """Measure all ways of asking."""
    rows = []
    for chat, body in bodies().items():
        for stream in (False, True):
            request = request_bytes(port, {**body, "stream": True} if stream else body)
            for connections in (1, 16):
                taken, wall = asyncio.run(measure(port, request, connections=connections, seconds=seconds))
                rows.append(Row(name, chat, stream, connections, taken, wall))
    return rows


def print_table(rows: list[Row]) -> None:
    """Print one table, in Markdown."""
    order = {name: at for at, name in enumerate(SERVERS)}
    rows = sorted(rows, key=lambda row: (row.chat != "short", row.stream, row.connections, order[row.server]))
    print("| chat | answer | connections | server | p50 ms | p99 ms | requests/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row.cells())} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", nargs="+", choices=SERVERS, default=list(SERVERS))
    default = Path(tempfile.gettempdir()) / "bench-gateway-litellm"
    parser.add_argument("--litellm", type=Path, default=default, help="its virtual environment")
    parser.add_argument("--serve", choices=SERVERS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--upstream", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve == "upstream":
        asyncio.run(serve_upstream(given.port))
    elif given.serve:
        serve_app(given.serve, given.upstream, given.port)
    else:
        print_table(run(given.only, seconds=given.seconds, environment=given.litellm))


if __name__ == "__main__":
    main()
