"""A provider's server for load: it reads a request and streams words, so many a second, and judges nothing.

python tests/storms/http_upstream.py --words 60 --pause 0.05      prints its URL
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Cache-Control: no-store\r\n\r\n"
)


def words(count: int, size: int) -> list[str]:
    """The pieces of every answer: numbered, and so long."""
    return [f"{number:05} {'x' * max(0, size - 7)} " for number in range(count)]


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    data = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return _framed(f"data: {json.dumps(data)}\n\n".encode())


def _framed(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


async def serve(*, count: int, size: int, pause: float) -> None:
    """Serve until standard input ends. `pause` is in seconds, before each word."""
    pieces = [_chunk({"role": "assistant", "content": ""})] + [
        _chunk({"content": one}) for one in words(count, size)
    ]
    end = _chunk({}, "stop") + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line
                )
                await reader.readexactly(length)
                writer.write(_HEAD)
                for piece in pieces:
                    writer.write(piece)
                    if pause:
                        await asyncio.sleep(pause)
                    await writer.drain()
                writer.write(end)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A provider's server for load.")
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    asyncio.run(serve(count=given.words, size=given.size, pause=given.pause))
