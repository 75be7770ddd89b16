"""`trimtab plugins`: what is installed, what may run and how, and what one plugin is once it is loaded."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import click

from trimtab.cli.options import config_options, read_config
from trimtab.cli.screen import clean, console_for

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.discovery import Installed
    from trimtab.loading.installation import Installation
    from trimtab.loading.plugins import Plugin
    from trimtab_sdk import Traits
    from trimtab_worker.confinement import StepReport

_Steps: TypeAlias = "tuple[StepReport, ...]"
_COLUMNS = ("name", "kind", "distribution", "version", "origin", "trust", "status", "reason")


@dataclass(frozen=True, slots=True)
class Confinement:
    """Which steps of the confinement this machine does; `error` says why that cannot be told."""

    steps: _Steps = ()
    error: str = ""

    @property
    def complete(self) -> bool:
        """Whether every step is done."""
        return bool(self.steps) and all(report.done for report in self.steps)

    def to_dict(self) -> dict[str, object]:
        """Give JSON values."""
        return {"complete": self.complete, "steps": _step_rows(self.steps), "error": self.error or None}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plugin after it was loaded: how long that took in seconds, its hooks and traits, how it is confined.

    Drivers have neither hooks nor traits; what runs in this process has no confinement.
    """

    row: Installed
    seconds: float
    hooks: tuple[str, ...] = ()
    traits: Traits | None = None
    confined: bool = False
    steps: _Steps = ()

    def to_dict(self) -> dict[str, object]:
        """Give JSON values with camelCase keys."""
        return {
            "name": self.row.name,
            "kind": self.row.kind,
            "runs": "confined" if self.confined else "in-process",
            "seconds": round(self.seconds, 6),
            "hooks": list(self.hooks),
            "traits": None if self.traits is None else _traits_row(self.traits),
            "confinement": _step_rows(self.steps),
        }


@click.command("plugins", short_help="List the plugins, and what one of them is.")
@click.option("--load", "name", metavar="NAME", help="Load the plugin as a fit would, and tell what it is.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@config_options
def plugins_command(name: str | None, as_json: bool, config_file: str | None, no_plugins: bool) -> None:
    """List the installed plugins of every kind: where each comes from, whether it may run here, confined or not.

    Nothing of others is imported for that. Below the list stand the confinement this machine gives, and the
    commands that add a plugin to this installation.
    """
    _begin_confinement()
    config = read_config(config_file, no_plugins=no_plugins)
    rows = _rows(config, name)
    confinement = _confinement()
    loaded = [] if name is None else _load(name, rows, config, confinement)
    install = _installation(config)
    if as_json:
        _print_json(rows, None if name is None else loaded, confinement, install)
        return
    lines = _load_lines(loaded) if name is not None else _footer_lines(config, confinement, install)
    _print_text(rows, lines)


def row_of(plugin: Installed) -> dict[str, str]:
    """Give the listing's row of a plugin, its columns in the order they are printed in."""
    row = plugin.to_dict()
    return {column: row[column] for column in _COLUMNS}


def _rows(config: Config, name: str | None) -> list[Installed]:
    from trimtab.loading import installed
    from trimtab.loading.discovery import GROUPS

    kinds = {kind: at for at, kind in enumerate(GROUPS.values())}
    every = sorted(installed(config=config), key=lambda row: kinds.get(row.kind, len(kinds)))
    if name is None:
        return every
    rows = [row for row in every if row.name == name]
    if not rows:
        raise click.UsageError(f"there is no plugin {clean(name, limit=60)!r}; `trimtab plugins` lists them")
    return rows


def _begin_confinement() -> None:
    """Have a worker start beside the rest; what goes wrong is told by `_confinement`."""
    with contextlib.suppress(Exception):
        from trimtab.loading.worker.pool import worker_pool

        worker_pool().prepare()


def _confinement() -> Confinement:
    # The listing is what people look at when something is wrong, so whatever fails here is told beside it.
    try:
        from trimtab.loading.worker.pool import confinement_here

        return Confinement(confinement_here())
    except Exception as error:
        return Confinement(error=clean(f"{type(error).__name__}: {error}", limit=300))


def _installation(config: Config) -> Installation:
    from trimtab.config_files import usual_places
    from trimtab.loading.installation import installation, this_environment

    return installation(this_environment(), config.plugin_directory or usual_places().plugins)


def _load(name: str, rows: Sequence[Installed], config: Config, here: Confinement) -> list[Loaded]:
    """Load what a fit would take by this name, for each kind that has it."""
    from trimtab.loading.discovery import by_name

    kinds = dict.fromkeys(row.kind for row in rows)
    chosen = [by_name(row for row in rows if row.kind == kind)[name] for kind in kinds]
    return [_loaded(row, config, here) for row in chosen]


def _loaded(row: Installed, config: Config, here: Confinement) -> Loaded:
    from trimtab.loading.plugins import Plugin

    load = _loader(row)
    began = time.perf_counter()
    subject = load(row.name, config)
    seconds = time.perf_counter() - began
    if not isinstance(subject, Plugin):
        return Loaded(row, seconds)
    if subject.confined is None:
        return Loaded(row, seconds, tuple(sorted(subject.hooks)), subject.traits)
    steps = tuple(_steps_of(subject, here))
    return Loaded(row, seconds, (subject.confined.hook,), subject.traits, confined=True, steps=steps)


def _loader(row: Installed) -> Callable[[str, Config], object]:
    from trimtab.loading.registry import DEFAULT_REGISTRY
    from trimtab_sdk.errors import Origin, PluginLoadError

    loaders: dict[str, Callable[[str, Config], object]] = {
        "strategy": DEFAULT_REGISTRY.strategy,
        "interceptor": DEFAULT_REGISTRY.interceptor,
        "codec": DEFAULT_REGISTRY.codec,
        "tokenizer": DEFAULT_REGISTRY.tokenizer,
    }
    if row.kind in loaders:
        return loaders[row.kind]
    problem = row.reason or f"a fit uses no {row.kind} yet, so there is no way to load one"
    raise PluginLoadError(f"cannot run: {problem}", origin=Origin(row.name, row.distribution, row.version))


def _steps_of(plugin: Plugin, here: Confinement) -> Iterator[StepReport]:
    """Give the steps as the plugin's own worker reported them."""
    for report in here.steps:
        refused = plugin.refused.get(report.step)
        yield report if refused is None else replace(report, done=False, detail=refused)


def _traits_row(traits: Traits) -> dict[str, object]:
    schema = traits.settings_schema
    return {
        "perTurn": traits.per_turn,
        "needs": list(traits.needs),
        "settingsSchema": None if schema is None else dict(schema),
    }


def _step_rows(steps: _Steps) -> list[dict[str, object]]:
    return [{"step": report.step, "done": report.done, "detail": report.detail} for report in steps]


def _print_json(
    rows: Sequence[Installed], loaded: Sequence[Loaded] | None, confinement: Confinement, install: Installation
) -> None:
    from trimtab.cli.writing import write_stdout

    told: dict[str, object] = {"plugins": [row_of(row) for row in rows]}
    if loaded is not None:
        told["loaded"] = [one.to_dict() for one in loaded]
    told |= {"confinement": confinement.to_dict(), "install": install.to_dict()}
    write_stdout([json.dumps(told, ensure_ascii=False, default=str), "\n"])


def _print_text(rows: Sequence[Installed], lines: Iterator[str]) -> None:
    from trimtab.cli.tables import print_table

    console = console_for(sys.stdout)
    told = [row_of(row) for row in rows]
    print_table(console, {column: [clean(row[column]) for row in told] for column in _COLUMNS})
    console.out("", *map(_clean_line, lines), sep="\n", highlight=False)


def _clean_line(line: str) -> str:
    words = line.lstrip(" ")
    return " " * (len(line) - len(words)) + clean(words)


def _footer_lines(config: Config, confinement: Confinement, install: Installation) -> Iterator[str]:
    yield from _confinement_lines(confinement)
    if config.strict and not confinement.complete:
        yield "  strict is set, so nothing runs confined here"
    if install.add:
        yield f"to add a plugin: {install.add}"
    if install.add_confined:
        yield f"to add one that only ever runs confined: {install.add_confined}"
    for note in install.notes:
        yield f"note: {note}"


def _confinement_lines(confinement: Confinement) -> Iterator[str]:
    if confinement.error:
        yield f"confinement on this machine: cannot be told, {confinement.error}"
        return
    done = [report.step for report in confinement.steps if report.done]
    yield f"confinement on this machine: {', '.join(done) or 'a process of its own, nothing more'}"
    for report in confinement.steps:
        if not report.done:
            yield f"  refused: {report.step}, {report.detail}"


def _load_lines(loaded: Sequence[Loaded]) -> Iterator[str]:
    for one in loaded:
        where = "in a confined worker" if one.confined else "in this process"
        yield f"{one.row.name} ({one.row.kind}): loaded {where} in {one.seconds * 1000:.0f} ms"
        if one.hooks:
            yield f"  hooks: {', '.join(one.hooks)}"
        if one.traits is not None:
            yield from _traits_lines(_traits_row(one.traits))
        for report in one.steps:
            outcome = "done" if report.done else "refused"
            yield (
                f"  {report.step}: {outcome}, {report.detail}" if report.detail else f"  {report.step}: {outcome}"
            )


def _traits_lines(traits: Mapping[str, object]) -> Iterator[str]:
    for key, value in traits.items():
        yield f"  {key}: {json.dumps(value, ensure_ascii=False, default=str)}"
