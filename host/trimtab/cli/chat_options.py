"""Options of all commands that look into the store."""

from __future__ import annotations

from collections.abc import Callable

import click


def store_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --store and --owner, its arguments `store` and `owner`."""
    store = click.option(
        "--store", metavar="PATH", help="The file, or the URL of a database, that keeps the chats."
    )
    owner = click.option(
        "--owner", metavar="NAME", default="local", show_default=True, help="Whose chats they are."
    )
    return store(owner(command))
