"""Options that several commands share, and values of options that are more than a word or a number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trimtab.config import Config

_INDEX = re.compile(r"@([0-9]{1,12})")


config_option = click.option(
    "--config", "config_file", metavar="FILE", help="Settings that go before the user's own."
)
"""The option --config, a command's argument `config_file`."""


def config_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --config and --no-plugins, its arguments `config_file` and `no_plugins`."""
    no_plugins = click.option("--no-plugins", is_flag=True, help="Use nothing but what comes with Trimtab.")
    return config_option(no_plugins(command))


def with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --config and --no-plugins, and what they say as its argument `config`."""

    @config_options
    @wraps(command)
    def configured(*, config_file: str | None, no_plugins: bool, **options: object) -> None:
        command(config=read_config(config_file, no_plugins=no_plugins), **options)

    return configured


def read_config(file: str | None, *, no_plugins: bool = False) -> Config:
    """Give the configuration of the system, the user and `file` together. Raises ConfigError."""
    from trimtab.config_files import load_config

    config = load_config(file)
    return config.model_copy(update={"plugins": False}) if no_plugins else config


def selector(text: str) -> int | str:
    """Read a message's name: `@3` is the one at index 3, counted from 0, anything else is an id.

    Raises click.BadParameter for empty text.
    """
    if not text:
        raise click.BadParameter("name a message by its id, or by its index as @N")
    index = _INDEX.fullmatch(text)
    return int(index[1]) if index else text


def setting(text: str) -> tuple[str, object]:
    """Read `key=value`; the value is JSON where it reads as JSON, else text. Raises click.BadParameter."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"{text!r} is not key=value")
    return key.strip(), json_or_text(value)


def json_or_text(text: str) -> object:
    """Give the JSON value that the text holds, or the text itself where it holds none (NaN is none)."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> object:
    raise ValueError(constant)
