"""`trimtab chat`: a talk with a model that is stored, fitted and carried on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

import click

from trimtab.cli.chat_options import store_options
from trimtab.cli.options import with_config
from trimtab.cli.screen import console_for, is_terminal

if TYPE_CHECKING:
    from trimtab.cli.chat_opening import Wishes
    from trimtab.cli.chat_session import Session
    from trimtab.config import Config
    from trimtab.store.protocol import StoredChat


@click.command("chat", short_help="Talk with a model in a chat that is kept.")
@click.argument("chat", metavar="[CHAT]", default="")
@click.option("--provider", metavar="P", help="Whom to ask: a name of the configuration, or dry-run.")
@click.option("--model", metavar="M", help="Which model to ask.")
@click.option("-p", "--prompt", metavar="TEXT", help="Say this, show the answer, and leave.")
@click.option("--system", metavar="TEXT", help="The system text; @FILE reads it from a file.")
@click.option("--strategy", metavar="S", help="How to make room, when the window is full.")
@click.option("--limit", type=int, metavar="N", help="The model's context limit in tokens, if it is another one.")
@click.option("--reserve", type=int, metavar="N", help="Tokens to keep free for the answer.")
@click.option(
    "--import", "imported", metavar="FILE", help="Begin a chat with what was said elsewhere; - is stdin."
)
@click.option("--new", is_flag=True, help="Begin another chat.")
@click.option("--list", "listing", is_flag=True, help="List the chats, and leave.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON event a line.")
@click.option("--yes", "agreed", is_flag=True, help="Send the last chat to another provider without a question.")
@with_config
def chat_command(
    chat: str,
    provider: str | None,
    model: str | None,
    prompt: str | None,
    system: str | None,
    strategy: str | None,
    limit: int | None,
    reserve: int | None,
    imported: str | None,
    new: bool,
    listing: bool,
    store: str | None,
    owner: str,
    as_json: bool,
    agreed: bool,
    config: Config,
) -> None:
    """Talk with a model. The last chat goes on, or the one whose id begins with CHAT; --new begins another.

    Lines that begin with a slash are commands; /help lists them. Where stdin is no terminal each line is said to
    the model, and the first turn that does not end well is the last. With --json no line is a command.

    \b
    Exit codes: 1 a turn failed, 2 bad input or settings, 3 over the budget, 130 interrupted.
    """
    from trimtab.cli.chat_store import require_turns

    require_turns()
    if listing:
        _list(store, owner, config, as_json=as_json)
        return
    _check(chat, prompt, imported, new=new)
    from trimtab.cli.chat_opening import Wishes, read_system

    wishes = Wishes(
        chat=chat,
        owner=owner,
        provider=provider,
        model=model,
        system=None if system is None else read_system(system),
        strategy=strategy,
        limit=limit,
        reserve=reserve,
        imported=imported,
        new=new,
        agreed=agreed,
    )
    with _opened(store, config, wishes) as session:
        code = _talk(session, prompt, as_json=as_json)
    if code:
        raise click.exceptions.Exit(code)


def _check(chat: str, prompt: str | None, imported: str | None, *, new: bool) -> None:
    if chat and (new or imported is not None):
        raise click.UsageError("--new and --import begin another chat; leave out CHAT")
    if imported == "-" and prompt is None:
        raise click.UsageError("--import - reads stdin, so say what comes next with --prompt")


@contextmanager
def _opened(store: str | None, config: Config, wishes: Wishes) -> Iterator[Session]:
    from trimtab.cli.chat_loop import LoopThread
    from trimtab.cli.chat_opening import leave_session, open_session
    from trimtab.cli.chat_store import make_host

    host = make_host(store, config)
    with LoopThread() as loop:
        loop.run(host.open())
        try:
            session = open_session(loop, host, config, wishes)
            try:
                yield session
            finally:
                leave_session(session)
        finally:
            loop.run(host.close())


def _talk(session: Session, prompt: str | None, *, as_json: bool) -> int:
    from trimtab.cli.chat_screen import Screen
    from trimtab.cli.chat_talk import (
        hush_logs,
        lines_of_stdin,
        say_once,
        talk_in_terminal,
        talk_through_pipe,
        tell_programs,
    )

    hush_logs()
    screen = Screen()
    if not as_json and prompt is None and is_terminal(sys.stdin) and screen.is_terminal:
        return talk_in_terminal(session, screen)
    out = sys.stdout
    # What a plugin in this process prints must not end up among the answers.
    with redirect_stdout(sys.stderr):
        if as_json:
            return tell_programs(session, lines_of_stdin() if prompt is None else iter([prompt]), out)
        if prompt is not None:
            return say_once(session, screen, prompt)
        return talk_through_pipe(session, screen, lines_of_stdin())


def _list(store: str | None, owner: str, config: Config, *, as_json: bool) -> None:
    import asyncio

    from trimtab.cli.chat_store import existing_store

    where = existing_store(store)
    chats = [] if where is None else asyncio.run(_read(where, owner, config))
    if as_json:
        from trimtab.cli.writing import write_stdout

        write_stdout([json.dumps([_row(chat) for chat in chats], ensure_ascii=False), "\n"])
    elif chats:
        from trimtab.cli.chat_tables import print_chats

        print_chats(console_for(sys.stdout), chats)
    else:
        click.echo("there are no chats yet; `trimtab chat --provider P --model M` begins one", err=True)


async def _read(store: str, owner: str, config: Config) -> list[StoredChat]:
    from trimtab.cli.chat_store import all_chats, make_host

    async with make_host(store, config) as host:
        return await all_chats(host, owner=owner)


def _row(chat: StoredChat) -> dict[str, object]:
    return {
        "id": chat.id,
        "title": chat.title,
        "settings": dict(chat.settings),
        "updatedAt": chat.updated_at,
        "lastContextState": None if chat.last_context_state is None else dict(chat.last_context_state),
    }
