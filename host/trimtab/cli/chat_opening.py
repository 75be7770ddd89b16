"""Which chat is talked in: the last one, the named one, or a new one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trimtab.cli.chat_session import Session, check_settings
from trimtab.cli.screen import clean, is_terminal
from trimtab_sdk.errors import InvalidRequestError, NotFoundError

if TYPE_CHECKING:
    from trimtab.cli.chat_loop import LoopThread
    from trimtab.cli.reading import Conversation
    from trimtab.config import Config
    from trimtab.host import Host
    from trimtab.store.protocol import StoredChat

_NOTHING_YET = (
    "a new chat needs --provider and --model; try --provider dry-run --model gpt-4o, which needs no network"
)
_LONGEST_TITLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line says about the chat. `chat` is a name, empty for the last one; None is not said."""

    chat: str = ""
    owner: str
    provider: str | None = None
    model: str | None = None
    system: str | None = None
    strategy: str | None = None
    limit: int | None = None
    reserve: int | None = None
    imported: str | None = None
    new: bool = False
    agreed: bool = False


def open_session(loop: LoopThread, host: Host, config: Config, wishes: Wishes) -> Session:
    """Find or make the chat, with its settings as wished. Raises click.UsageError, and errors of Trimtab."""
    chat = None if wishes.new or wishes.imported is not None else _found(loop, host, wishes)
    if chat is None:
        return _made(loop, host, config, wishes)
    session = Session(loop, host, config, wishes.owner, chat.id)
    _agree(session, wishes)
    _change(session, wishes)
    return session


def leave_session(session: Session) -> None:
    """Delete the chat again if it was made for nothing."""
    if session.empty:
        session.run(session.host.delete_chat(session.chat_id, owner=session.owner))


def set_system(session: Session, text: str) -> None:
    """Give the chat another system text. Raises InvalidRequestError when it has none."""
    try:
        session.run(session.host.set_system(session.chat_id, text, owner=session.owner))
    except NotFoundError as error:
        raise InvalidRequestError(
            "this chat began without a system text; --new begins another chat with one", path="system"
        ) from error


def read_system(text: str) -> str:
    """Give the system text that `--system` says: the text itself, or what stands in the file behind an @.

    Raises UnreadableInputError.
    """
    if not text.startswith("@"):
        return text
    from trimtab.cli.source import UnreadableInputError

    file = text[1:]
    try:
        with open(file, encoding="utf-8-sig") as stream:
            return stream.read().strip()
    except UnicodeDecodeError as error:
        raise UnreadableInputError(file, "it is not UTF-8; save it as UTF-8") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UnreadableInputError(file, f"it cannot be read: {reason or error}") from error


def title_of(text: str) -> str:
    """Give the title of a chat that begins with this text."""
    return clean(text, limit=_LONGEST_TITLE)


def _found(loop: LoopThread, host: Host, wishes: Wishes) -> StoredChat | None:
    from trimtab.cli.chat_store import find_chat

    if wishes.chat:
        return loop.run(find_chat(host, wishes.chat, owner=wishes.owner))
    last = loop.run(host.chats(owner=wishes.owner, limit=1))
    return last[0] if last else None


def _made(loop: LoopThread, host: Host, config: Config, wishes: Wishes) -> Session:
    from trimtab.turns.settings import ChatSettings

    imported = None if wishes.imported is None else _imported(wishes.imported)
    model = wishes.model or (imported.model if imported is not None else None)
    if not wishes.provider or not model:
        raise click.UsageError(_NOTHING_YET)
    settings = ChatSettings(**_settings(wishes, {}) | {"provider": wishes.provider, "model": model})
    check_settings(settings, config)
    chat = loop.run(
        host.create_chat(
            owner=wishes.owner,
            system=wishes.system,
            messages=() if imported is None else imported.data,
            title="" if wishes.imported is None else title_of(wishes.imported),
            provider=wishes.provider,
            model=model,
            context_strategy=settings.context_strategy,
            context_settings=settings.context_settings,
        )
    )
    return Session(loop, host, config, wishes.owner, chat.id, empty=imported is None)


def _imported(file: str) -> Conversation:
    from trimtab.cli.reading import read_conversation

    return read_conversation(file)


def _settings(wishes: Wishes, context: dict[str, object]) -> dict[str, object]:
    """Give the settings that are wished for; `context` are those that the chat has of its context."""
    named = {"provider": wishes.provider, "model": wishes.model, "context_strategy": wishes.strategy}
    figures = {"context_limit": wishes.limit, "reserve": wishes.reserve}
    said: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    wished = {name: value for name, value in figures.items() if value is not None}
    return said | {"context_settings": context | wished} if wished else said


def _change(session: Session, wishes: Wishes) -> None:
    if wishes.system is not None:
        set_system(session, wishes.system)
    changes = _settings(wishes, session.settings().context_settings.model_dump(by_alias=False))
    if changes:
        session.change(**changes)


def _agree(session: Session, wishes: Wishes) -> None:
    """Ask before a chat that nobody named goes to another provider than so far."""
    before = session.settings().provider
    if wishes.chat or wishes.agreed or wishes.provider in (None, before) or not session.messages():
        return
    said = (
        f"the last chat ({session.chat_id[:8]}) is one with {before}; all of it would go to {wishes.provider} now"
    )
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise click.UsageError(f"{said}; say --yes, or --new for another chat")
    if not click.confirm(f"{said}. Go on?"):
        raise click.UsageError("nothing was sent; --new begins another chat")
