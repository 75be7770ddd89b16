"""`trimtab audit`: what a model was given in the last call of a chat, and why not the rest."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from trimtab.cli.chat_options import store_options
from trimtab.cli.options import with_config
from trimtab.cli.screen import console_for

if TYPE_CHECKING:
    from trimtab.audit import PromptContextAudit, Resolved
    from trimtab.config import Config
    from trimtab.store.protocol import StoredMessage

_NOTHING = "Nothing was sent in this chat yet."


@click.command("audit", short_help="Show what the last call of a chat was given.")
@click.argument("chat", metavar="CHAT")
@store_options
@click.option("--messages", "with_messages", is_flag=True, help="Print the very messages that were sent.")
@click.option("--json", "as_json", is_flag=True, help="Print the record, or the error, as JSON.")
@click.option("--all", "show_all", is_flag=True, help="Show every row of long tables.")
@with_config
def audit_command(
    chat: str, store: str | None, owner: str, with_messages: bool, as_json: bool, show_all: bool, config: Config
) -> None:
    """Show what the last call of CHAT was given: message by message, with tokens and reasons.

    CHAT is the id of a chat, or the beginning of one, as `trimtab chat --list` shows it. --messages prints the
    messages in the provider's format, made again from what is stored, and says whether they are those that were
    sent.
    """
    import asyncio

    from trimtab.cli.chat_store import existing_store, no_store, require_turns

    require_turns()
    where = existing_store(store)
    if where is None:
        raise no_store(store)
    audit, messages, resolved = asyncio.run(_read(where, chat, owner, config, resolve=with_messages))
    if as_json:
        _print_json(audit, resolved)
    elif audit is None:
        click.echo(_NOTHING, err=True)
    elif resolved is not None:
        _print_messages(resolved)
    else:
        from trimtab.cli.audit_report import print_audit

        print_audit(console_for(sys.stdout), audit, messages, show_all=show_all)


async def _read(
    store: str, name: str, owner: str, config: Config, *, resolve: bool
) -> tuple[PromptContextAudit | None, list[StoredMessage], Resolved | None]:
    from trimtab.cli.chat_store import find_chat, make_host

    async with make_host(store, config) as host:
        chat = await find_chat(host, name, owner=owner)
        audit = await host.audit(chat.id, owner=owner)
        messages = await host.messages(chat.id, owner=owner)
        resolved = await host.resolve_audit(chat.id, owner=owner) if resolve else None
        return audit, messages, resolved


def _print_json(audit: PromptContextAudit | None, resolved: Resolved | None) -> None:
    from trimtab.cli.writing import write_stdout

    said = None if audit is None else audit.to_dict()
    if said is not None and resolved is not None:
        missing = [{"id": name, "revision": revision} for name, revision in resolved.missing]
        said |= {"messages": list(resolved.messages), "matches": resolved.matches, "missing": missing}
    write_stdout([json.dumps(said, ensure_ascii=False), "\n"])


def _print_messages(resolved: Resolved) -> None:
    from trimtab.cli.audit_report import match_sentence
    from trimtab.cli.reading import Form
    from trimtab.cli.writing import json_pieces, write_stdout

    write_stdout(json_pieces(list(resolved.messages), Form("list", indented=True)))
    click.echo(match_sentence(resolved), err=True)
