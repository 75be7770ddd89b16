"""Where the command line keeps chats, and how it finds one."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab_sdk.errors import ConfigError, InvalidRequestError, NotFoundError, StoreUnavailableError

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.host import Host
    from trimtab.store.protocol import StoredChat

_FILE = "chats.db"
_NEEDED = ("httpx_sse", "sqlalchemy", "alembic")
_MOST_NAMED = 5


def require_turns() -> None:
    """Raise ConfigError with the line that helps, unless everything that turns need is installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"chats need the extra `turns` ({', '.join(missing)} not installed): pip install 'trimtab[turns]'"
        )


def usual_store() -> Path:
    """Give the file in the user's data folder where chats are kept. Raises ConfigError where there is no home."""
    from trimtab.config_files import usual_places

    plugins = usual_places().plugins
    if plugins is None:
        raise ConfigError("there is no home folder to keep chats in; name a file with --store")
    return plugins.parent / _FILE


def make_host(store: str | None, config: Config) -> Host:
    """Give a host on a store, by default the usual one, whose folder is made. It is not open yet."""
    from trimtab.host import Host

    return Host(made_folder(usual_store()) if store is None else store, config)


def existing_store(store: str | None) -> str | None:
    """Give the store as it is, None where it is a file that does not exist: looking makes none."""
    where = str(usual_store()) if store is None else store
    path = where.removeprefix("sqlite:///")
    return where if "://" in path or Path(path).exists() else None


def no_store(store: str | None) -> StoreUnavailableError:
    """Give the error for a store that is not there."""
    where = usual_store() if store is None else store
    return StoreUnavailableError(f"there are no chats at {where}; name their store with --store")


async def find_chat(host: Host, name: str, *, owner: str) -> StoredChat:
    """Give the chat with this id, or the only one whose id begins so.

    Raises NotFoundError, and InvalidRequestError when several begin so.
    """
    try:
        return await host.chat(name, owner=owner)
    except NotFoundError:
        found = [chat for chat in await all_chats(host, owner=owner) if chat.id.startswith(name)]
    if not found:
        raise NotFoundError("chat", name)
    if len(found) > 1:
        named = ", ".join(chat.id[:12] for chat in found[:_MOST_NAMED])
        raise InvalidRequestError(f"several chats begin with {name!r}: {named}; give more of the id", path="chat")
    return found[0]


async def all_chats(host: Host, *, owner: str) -> list[StoredChat]:
    """Give all chats of an owner, last changed first."""
    chats = page = await host.chats(owner=owner)
    while page:
        last = page[-1]
        page = await host.chats(owner=owner, before=(last.updated_at, last.id))
        chats = chats + page
    return chats


def made_folder(file: Path) -> Path:
    """Give a file whose folder is there, made if need be. Raises StoreUnavailableError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailableError(
            f"the folder {file.parent} cannot be made ({error.strerror}); name a file with --store"
        ) from error
    return file
