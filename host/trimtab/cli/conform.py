"""`trimtab conform`: the contracts of plugin authors, tried on what is installed."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.options import config_option, json_or_text, read_config, setting
from trimtab.cli.screen import clean, console_for, is_terminal

if TYPE_CHECKING:
    from rich.console import Console

    from trimtab.conformance.orders import Order
    from trimtab.conformance.reporting import Report
    from trimtab.loading.discovery import Installed

RULE_BROKEN = 4
SECONDS = 300.0


@click.command("conform", short_help="Try a plugin on the rules it must keep.")
@click.argument("target", metavar="DISTRIBUTION|ENTRY")
@click.option(
    "--trust", is_flag=True, help="Run its codecs, tokenizers, providers and embedders, which cannot be confined."
)
@click.option(
    "--claim",
    "claims",
    metavar="NAME[=JSON]",
    multiple=True,
    help="Something the plugin can do, as `shortens`; again for more.",
)
@click.option(
    "--sample",
    "samples",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="An input of a codec's format, as JSON; again for more.",
)
@click.option(
    "--xfail", "xfails", metavar="RULE=REASON", multiple=True, help="A rule it does not keep yet, and why."
)
@click.option(
    "--settings",
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the plugin for every call.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--badge", is_flag=True, help="Print the line for a README to stdout, the report to stderr.")
@click.option(
    "--timeout",
    "seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=1, max=86_400),
    default=SECONDS,
    show_default=True,
    help="How long the rules of one plugin may take.",
)
@config_option
def conform_command(
    target: str,
    trust: bool,
    claims: tuple[str, ...],
    xfails: tuple[str, ...],
    settings: tuple[str, ...],
    samples: tuple[str, ...],
    as_json: bool,
    badge: bool,
    seconds: float,
    config_file: str | None,
) -> None:
    """Try installed plugins on the rules of their contracts, by the name of an entry or of a distribution.

    Each runs in a process of its own; strategies and interceptors of others are confined in a worker there, and
    everything else runs only with --trust. `trimtab conform trimtab` tries what comes with Trimtab. Ends with 4
    when a rule is broken.
    """
    _need_the_extra()
    from trimtab.conformance.ordering import Wishes, check_wishes, order_for, rows_named
    from trimtab.conformance.orders import CONTRACTS

    config = read_config(config_file)
    wishes = Wishes(
        claims=dict(map(_claim, claims)),
        xfails=dict(map(_xfail, xfails)),
        settings=dict(map(setting, settings)),
        samples=tuple(map(_sample, samples)),
        trust=trust,
    )
    rows = rows_named(target, config)
    if not rows:
        raise click.UsageError(f"there is no plugin {clean(target, limit=60)!r}; `trimtab plugins` lists them")
    check_wishes(wishes, [row.kind for row in rows if row.kind in CONTRACTS])
    orders = [(row, order_for(row, wishes, config)) for row in rows]
    told = console_for(sys.stderr if badge else sys.stdout)
    reports: list[Report] = []
    for row, order in orders:
        report = _judged(row, order, seconds)
        reports.append(report)
        if not as_json:
            _print_report(told, report, first=len(reports) == 1)
    if as_json:
        _print_json(reports)
    elif badge:
        _print_badges(reports)
    if not all(report.judgement.passed for report in reports):
        raise click.exceptions.Exit(RULE_BROKEN)


def _need_the_extra() -> None:
    missing = [name for name in ("pytest", "hypothesis") if find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        raise click.UsageError(f"the contracts need {needed}, from an extra: pip install 'trimtab[conformance]'")


def _claim(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    return name.strip(), json_or_text(value) if equals else True


def _sample(file: str) -> object:
    try:
        return json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{clean(file, limit=200)} is no JSON that can be read: {error}") from error


def _xfail(text: str) -> tuple[str, str]:
    rule, _, reason = text.partition("=")
    if not reason.strip():
        raise click.UsageError(f"say why: --xfail '{clean(rule, limit=60)}=the reason'")
    rule = rule.strip().replace(" ", "_")
    return rule if rule.startswith("test_") else f"test_{rule}", reason.strip()


def _judged(row: Installed, order: Order, seconds: float) -> Report:
    from trimtab.conformance import LEVEL
    from trimtab.conformance.reporting import Report
    from trimtab.conformance.running import judge

    with _status(f"{order.name}: judging a {order.kind}"):
        judgement = judge(order, seconds=seconds)
    return Report(order, row.distribution, row.version, LEVEL, judgement)


def _status(words: str) -> contextlib.AbstractContextManager[object]:
    return console_for(sys.stderr).status(words) if is_terminal(sys.stderr) else contextlib.nullcontext()


def _print_report(console: Console, report: Report, *, first: bool) -> None:
    from trimtab.conformance.reporting import report_lines

    if not first:
        console.out("")
    for line, style in report_lines(report):
        indent = len(line) - len(line.lstrip(" "))
        console.out(" " * indent + clean(line), style=style or None, highlight=False)


def _print_json(reports: Sequence[Report]) -> None:
    from trimtab.cli.writing import write_stdout
    from trimtab.conformance import LEVEL

    told = {
        "trimtab": version("trimtab"),
        "level": LEVEL,
        "passed": all(report.judgement.passed for report in reports),
        "plugins": [report.to_dict() for report in reports],
    }
    write_stdout([json.dumps(told, ensure_ascii=False, default=str), "\n"])


def _print_badges(reports: Sequence[Report]) -> None:
    from trimtab.conformance.badge import badge_line

    for report in reports:
        if report.judgement.passed:
            click.echo(badge_line(report))
