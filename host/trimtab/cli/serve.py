"""`trimtab serve`: the HTTP host."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.options import with_config

if TYPE_CHECKING:
    from trimtab.config import Config, Server
    from trimtab.host import Host

_NEEDED = ("fastapi", "uvicorn", "prometheus_client")
_EXAMPLE_PROVIDER = "dry-run"
_EXAMPLE_MODEL = "gpt-4o"


@click.command("serve", short_help="Serve chats over HTTP.")
@click.option("--host", metavar="ADDRESS", help="Where to listen; 127.0.0.1 unless the configuration says so.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="On which port; 8420. 0 takes a free one."
)
@click.option("--db", metavar="PATH", help="The file, or the URL of a database, that keeps the chats.")
@click.option("--provider", metavar="P", help="Whom /v1 asks for models that the configuration does not name.")
@with_config
def serve_command(
    host: str | None, port: int | None, db: str | None, provider: str | None, config: Config
) -> None:
    """Serve chats, turns and previews over HTTP, and /v1 for clients of OpenAI.

    The section [server] of the configuration says who may call and how much; these options go before it. Only this
    machine can reach it as long as no token is named. SIGTERM and Ctrl-C let turns that run come to their end.

    \b
    Exit codes: 0 stopped, 2 it cannot start, 130 stopped by Ctrl-C.
    """
    _require()
    server = _server(config, host=host, port=port, provider=provider)
    made = _host(_place(db or server.database), config.model_copy(update={"server": server}))
    from trimtab.http.serving import listen, serve

    if server.gateway.provider:
        made.target(server.gateway.provider)
    _log()
    with listen(server) as listening:
        address = f"http://{_named(server.host)}:{listening.getsockname()[1]}"
        interrupted = serve(made, server, listening, ready=lambda: _tell(address, server))
    if interrupted:
        raise click.exceptions.Exit(130)


def _require() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        from trimtab_sdk.errors import ConfigError

        raise ConfigError(
            f"serving needs the extra `http` ({', '.join(missing)} not installed): pip install 'trimtab[http]'"
        )
    from trimtab.cli.chat_store import require_turns

    require_turns()


def _server(config: Config, *, host: str | None, port: int | None, provider: str | None) -> Server:
    server = config.server
    wishes: dict[str, object] = {}
    if host:
        wishes["host"] = host
    if port is not None:
        wishes["port"] = port
    if provider:
        wishes["gateway"] = server.gateway.model_copy(update={"provider": provider})
    return server.model_copy(update=wishes)


def _host(where: str | Path, config: Config) -> Host:
    from trimtab.fitting.allocation import gc_paused

    # All that is imported stays: nothing to collect in it, and much to walk through.
    with gc_paused():
        import_module("trimtab.http.serving")
        from trimtab.host import Host

        return Host(where, config)


def _place(where: str) -> str | Path:
    from trimtab.cli.chat_store import made_folder, usual_store

    return where or made_folder(usual_store())


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _log() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("trimtab").setLevel(logging.INFO)


def _tell(address: str, server: Server) -> None:
    variable = next(iter(server.tokens.values()), "")
    # One that needs no key and buys nothing, whoever /v1 asks.
    chat = {"provider": _EXAMPLE_PROVIDER, "model": _EXAMPLE_MODEL}
    asked = [{"role": "user", "content": "How many kettles are left?"}]
    lines = [
        f"trimtab serves {address}; Ctrl-C stops it",
        "",
        "a chat, a turn in it (put the chat's id in place of CHAT), and a preview:",
        "",
        _curl(f"{address}/api/v2/chats", chat, variable),
        _curl(f"{address}/api/v2/chats/CHAT/turns", {"input": asked[0]["content"]}, variable, stream=True),
        _curl(f"{address}/api/v2/context-preview", {**chat, "messages": asked}, variable),
        "",
        f"all there is: {address}/openapi.json",
    ]
    click.echo("\n".join(lines))
    sys.stdout.flush()


def _curl(address: str, body: object, variable: str, *, stream: bool = False) -> str:
    token = f'-H "Authorization: Bearer ${variable}" ' if variable else ""
    said = shlex.quote(json.dumps(body))
    return f"curl -s{'N' if stream else ''} {address} {token}-H 'Content-Type: application/json' -d {said}"
