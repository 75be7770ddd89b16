"""`trimtab fit`: a conversation in, the one that fits and an account of it out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from trimtab.cli.options import selector, setting
from trimtab.cli.screen import clean, console_for, is_terminal

if TYPE_CHECKING:
    from trimtab.cli.reading import Conversation
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
def fit_command(
    file: str,
    model: str | None,
    strategy: str,
    limit: int | None,
    reserve: int | None,
    pins: Sequence[int | str],
    excluded: Sequence[int | str],
    format_: str | None,
    tools_file: str | None,
    settings: Sequence[tuple[str, object]],
    out: str | None,
    as_json: bool,
    show_all: bool,
) -> None:
    """Fit the conversation in FILE (- is stdin) into a model's token budget.

    FILE holds JSON, a list of messages or a whole request body, or JSONL, one message a line. The fitted
    conversation comes out in the same form: to --out, else to a pipe on stdout, with the report on stderr. On a
    terminal the report alone is printed.
    """
    from trimtab.api import fit
    from trimtab.cli.reading import read_conversation
    from trimtab.cli.source import too_deep

    _check_streams(file, tools_file, out, as_json=as_json)
    conversation = read_conversation(file)
    tools = None if tools_file is None else _read_tools(tools_file)
    try:
        with _progress() as on_progress:
            result = fit(
                conversation.data,
                model=_model(model, conversation),
                strategy=strategy,
                context_limit=limit,
                reserve=reserve,
                pins=pins,
                excluded=excluded,
                tools=tools,
                format=format_,
                settings=dict(settings),
                on_progress=on_progress,
            )
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
    from trimtab.cli.writing import json_pieces, write_file, write_stdout

    body = conversation.form.kind == "body" and fit.request is not None
    pieces = json_pieces(fit.request if body else fit.messages, conversation.form)
    if file is None:
        write_stdout(pieces)
    else:
        write_file(file, pieces)


def _print_json(fit: Fit) -> None:
    from trimtab.cli.writing import write_stdout

    write_stdout([json.dumps(fit.to_dict(), ensure_ascii=False), "\n"])


def _print_report(fit: Fit, conversation: Conversation, stream: TextIO, *, show_all: bool) -> None:
    from trimtab.cli.report import print_report

    print_report(console_for(stream), fit, conversation.messages, show_all=show_all)


def _last_words(out: str | None, *, piped: bool) -> str:
    if piped:
        return ""
    return f"{_HINT}\n" if out is None else f"written to {clean(out)}\n"
