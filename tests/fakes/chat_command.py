"""The fake server as a process of its own."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from fakes.chat_handlers import Handler, agent, echo
from fakes.chat_loopback import ChatServer
from fakes.chat_replies import reply


def main() -> None:
    """Serve until SIGTERM or SIGINT, or the end of the standard input when that was asked for."""
    options = _parser().parse_args()
    server = ChatServer(
        _handler(options), port=options.port, judge=options.judge, record=False, caching=options.judge
    )
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with server:
        print(server.base_url, flush=True)
        if options.stop_on_eof:
            threading.Thread(target=_stop_on_eof, args=[stop], daemon=True).start()
        stop.wait()


def _stop_on_eof(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()


def _handler(options: argparse.Namespace) -> Handler:
    if options.agent:
        return agent(calls=options.calls)
    if options.text is not None:
        answer = reply(options.text)
        return lambda body: answer
    return echo(chunks=options.chunks, first_ms=options.first_ms, chunk_ms=options.chunk_ms)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible server on a loopback socket.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; the URL is printed")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--echo", action="store_true", help="tell what was got; the default")
    how.add_argument("--agent", action="store_true", help="ask for tools, then answer")
    how.add_argument("--text", help="always answer this")
    parser.add_argument("--calls", type=int, default=1, help="how many tools the agent asks for at once")
    parser.add_argument("--chunks", type=int, default=3, help="into how many deltas an echo is split")
    parser.add_argument("--first-ms", type=float, default=0, help="milliseconds before an echo's first delta")
    parser.add_argument("--chunk-ms", type=float, default=0, help="milliseconds between an echo's deltas")
    parser.add_argument("--judge", action="store_true", help="judge requests and count cached tokens")
    parser.add_argument("--stop-on-eof", action="store_true", help="end with the standard input")
    return parser
