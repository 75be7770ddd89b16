"""`trimtab fit`: a conversation in, the one that fits and an account of it out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from trimtab.cli.options import selector, setting, with_config
from trimtab.cli.screen import clean, console_for, is_terminal

if TYPE_CHECKING:
    from trimtab.cli.reading import Conversation
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab.report import Fit

_HINT = "to save the fitted conversation, add --out FILE"


@click.command("fit", short_help="Fit a conversation into a token budget.")
@click.argument("file", metavar="FILE")
@click.option("--model", metavar="M", help="The model it is for. A request body that names its model needs none.")
@click.option("--strategy", metavar="S", default="truncate", show_default=True, help="How to make room.")
@click.option("--limit", type=int, metavar="N", help="The model's context limit in tokens, if it is another one.")
@click.option("--reserve", type=int, metavar="N", help="Tokens to keep free for the answer.")
@click.option(
    "--pin",
    "pins",
    type=selector,
    metavar="ID",
    multiple=True,
    help="A message that must stay: id, or @index from 0.",
)
@click.option(
    "--exclude",
    "excluded",
    type=selector,
    metavar="ID",
    multiple=True,
    help="A message that must leave, likewise.",
)
@click.option(
    "--format", "format_", metavar="F", help="The wire format, where it cannot be told from the content."
)
@click.option("--to", metavar="F", help="The wire format to write, where it is another one; its rules take part.")
@click.option("--tools", "tools_file", metavar="FILE", help="A JSON list of the tools that go into the request.")
@click.option(
    "--set",
    "settings",
    type=setting,
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the strategy, JSON or text.",
)
@click.option("--out", metavar="FILE", help="Where to write the fitted conversation; - is stdout.")
@click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON on stdout.")
@click.option("--all", "show_all", is_flag=True, help="Show every row of long tables.")
@click.option("--compare", "comparing", is_flag=True, help="Show what every strategy would do, side by side.")
@with_config
def fit_command(
    file: str,
    model: str | None,
    strategy: str,
    limit: int | None,
    reserve: int | None,
    pins: Sequence[int | str],
    excluded: Sequence[int | str],
    format_: str | None,
    to: str | None,
    tools_file: str | None,
    settings: Sequence[tuple[str, object]],
    out: str | None,
    as_json: bool,
    show_all: bool,
    comparing: bool,
    config: Config,
) -> None:
    """Fit the conversation in FILE (- is stdin) into a model's token budget.

    FILE holds JSON, a list of messages or a whole request body, or JSONL, one message a line. The fitted
    conversation comes out in the same form: to --out, else to a pipe on stdout, with the report on stderr. On a
    terminal the report alone is printed.
    """
    from trimtab.api import fit
    from trimtab.cli.compare import check_alone, compare, tell
    from trimtab.cli.reading import read_conversation
    from trimtab.cli.source import too_deep

    _check_streams(file, tools_file, out, as_json=as_json)
    if comparing:
        check_alone(out)
    conversation = read_conversation(file)
    tools = None if tools_file is None else _read_tools(tools_file)
    try:
        registry = _registry(conversation, to, format_, config)
        # What a plugin in this process prints must not end up in the report.
        with redirect_stdout(sys.stderr), _progress() as on_progress:
            fit_with = partial(
                fit,
                conversation.data,
                model=_model(model, conversation),
                context_limit=limit,
                reserve=reserve,
                pins=pins,
                excluded=excluded,
                tools=tools,
                format=to or format_,
                registry=registry,
                on_progress=on_progress,
            )
            if comparing:
                comparison = compare(fit_with, registry, dict(settings), config)
            else:
                result = fit_with(strategy=strategy, settings=dict(settings), config=config)
        if comparing:
            tell(comparison, partial(_rows_of, conversation=conversation), as_json=as_json, show_all=show_all)
        else:
            _deliver(result, conversation, out, as_json=as_json, show_all=show_all)
    except RecursionError as error:
        raise too_deep(file) from error


def _check_streams(file: str, tools_file: str | None, out: str | None, *, as_json: bool) -> None:
    if as_json and out == "-":
        raise click.UsageError("--json and --out - both want stdout; give --out a file")
    if file == "-" and tools_file == "-":
        raise click.UsageError("the conversation and --tools cannot both come from stdin")


def _model(named: str | None, conversation: Conversation) -> str:
    model = named or conversation.model
    if not model:
        raise click.UsageError("--model is missing, and the input does not name its model")
    return model


def _registry(
    conversation: Conversation, to: str | None, format_: str | None, config: Config
) -> ContextStrategyRegistry | None:
    """Give the registry for a fit that ends in another format, None for one that does not."""
    if to is None:
        return None
    from trimtab.conversion import translator
    from trimtab.loading.registry import ContextStrategyRegistry

    registry = ContextStrategyRegistry()
    codec = translator(conversation.data, to=to, format=format_, model=conversation.model or "", config=config)
    registry.register_codec(codec.name, codec, replace=True)
    return registry


def _read_tools(file: str) -> list[object]:
    from trimtab.cli.reading import read_json
    from trimtab.cli.source import UnreadableInputError

    tools = read_json(file)
    if not isinstance(tools, list):
        raise UnreadableInputError(file, "--tools takes a JSON list of tools, as a request body has it")
    return tools


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    if not is_terminal(sys.stderr):
        yield None
        return
    from trimtab.cli.progress import CountingProgress

    with CountingProgress(sys.stderr) as progress:
        yield progress


def _deliver(fit: Fit, conversation: Conversation, out: str | None, *, as_json: bool, show_all: bool) -> None:
    piped = out == "-" or (out is None and not as_json and not is_terminal(sys.stdout))
    if piped or out is not None:
        _write(fit, conversation, None if piped else out)
    if as_json:
        _print_json(fit)
        return
    stream = sys.stderr if piped else sys.stdout
    if stream is not None:
        _print_report(fit, conversation, stream, show_all=show_all)
        stream.write(_last_words(out, piped=piped))


def _write(fit: Fit, conversation: Conversation, file: str | None) -> None:
    from trimtab.cli.writing import conversation_pieces, write_file, write_stdout

    pieces = conversation_pieces(fit.messages, fit.request, conversation.form)
    if file is None:
        write_stdout(pieces)
    else:
        write_file(file, pieces)


def _print_json(fit: Fit) -> None:
    from trimtab.cli.writing import write_stdout

    write_stdout([json.dumps(fit.to_dict(), ensure_ascii=False), "\n"])


def _print_report(fit: Fit, conversation: Conversation, stream: TextIO, *, show_all: bool) -> None:
    from trimtab.cli.report import print_report

    print_report(console_for(stream), fit, _rows_of(fit, conversation), show_all=show_all)


def _rows_of(fit: Fit, conversation: Conversation) -> list[object]:
    """Give the messages as they were read; none where an index of the report does not count them."""
    rows = [*fit.kept, *fit.excluded, *fit.truncated]
    messages = conversation.messages
    return messages if sum(row.index is not None for row in rows) == len(messages) else []


def _last_words(out: str | None, *, piped: bool) -> str:
    if piped:
        return ""
    return f"{_HINT}\n" if out is None else f"written to {clean(out)}\n"
