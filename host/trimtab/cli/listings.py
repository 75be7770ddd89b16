"""`trimtab models` and `trimtab strategies`: what is known and what is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from trimtab.cli.options import config_option, read_config, with_config
from trimtab.cli.screen import clean, console_for, number

if TYPE_CHECKING:
    from trimtab.config import Config


@click.command("models", short_help="List the models whose limits are known.")
@click.argument("filter_", metavar="[FILTER]", default="")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@config_option
def models_command(filter_: str, as_json: bool, config_file: str | None) -> None:
    """List the models whose limits are known; FILTER is a part of a model's or provider's name.

    Models of the configuration go before the catalogue's. A model that is not listed works as well: give
    `trimtab fit` its limit with --limit.
    """
    from trimtab.catalogue import Catalogue

    config = read_config(config_file)
    wanted = filter_.casefold()
    models = [
        model
        for model in Catalogue.load().with_overrides(config.models).models()
        if wanted in model.name.casefold() or wanted in model.provider.casefold()
    ]
    if as_json:
        _print_json(
            {
                "name": model.name,
                "provider": model.provider,
                "contextLimit": model.context_limit,
                "maxInput": model.max_input,
                "maxOutput": model.max_output,
                "encoding": model.encoding,
            }
            for model in models
        )
        return
    if not models:
        click.echo(f"no model is known by {clean(filter_)!r}; any model works with --limit N", err=True)
        return
    _print_table(
        {
            "model": [model.name for model in models],
            "provider": [model.provider for model in models],
            "context": [number(model.context_limit) for model in models],
            "max input": [number(model.max_input) for model in models],
            "max output": [number(model.max_output) for model in models],
            "encoding": [model.encoding for model in models],
        }
    )


@click.command("strategies", short_help="List the strategies that are installed.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@with_config
def strategies_command(as_json: bool, config: Config) -> None:
    """List the installed strategies: where each comes from, whether it is trusted, and why one cannot be used."""
    from trimtab.loading import installed

    plugins = installed("trimtab.strategies", config=config)
    if as_json:
        _print_json(plugin.to_dict() for plugin in plugins)
        return
    if not plugins:
        click.echo("no strategies are installed; install trimtab again, it brings `truncate`", err=True)
        return
    columns = ["name", "distribution", "version", "trust", "status", "reason"]
    _print_table({column: [str(getattr(plugin, column)) for plugin in plugins] for column in columns})


def _print_json(rows: Iterable[Mapping[str, object]]) -> None:
    from trimtab.cli.writing import write_stdout

    write_stdout([json.dumps(list(rows), ensure_ascii=False), "\n"])


def _print_table(columns: Mapping[str, Sequence[str]]) -> None:
    from trimtab.cli.tables import print_table

    print_table(
        console_for(sys.stdout), {name: [clean(cell) for cell in cells] for name, cells in columns.items()}
    )
