"""`trimtab convert`: a conversation in one format in, the same in another out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from trimtab.cli.options import with_config
from trimtab.cli.screen import clean, tolerate

if TYPE_CHECKING:
    from trimtab.cli.reading import Conversation
    from trimtab.config import Config
    from trimtab.conversion import Conversion


@click.command("convert", short_help="Write a conversation in another format.")
@click.argument("file", metavar="FILE")
@click.option("--to", metavar="FORMAT", required=True, help="The format to write.")
@click.option(
    "--format", "format_", metavar="F", help="The format of FILE, where it cannot be told from the content."
)
@click.option(
    "--out", metavar="FILE", help="Where to write the conversation; without it, or with -, it is stdout."
)
@click.option("--json", "as_json", is_flag=True, help="Print the notes, or the error, as JSON on stdout.")
@with_config
def convert_command(
    file: str, to: str, format_: str | None, out: str | None, as_json: bool, config: Config
) -> None:
    """Write the conversation in FILE (- is stdin) in another format, repaired where the format demands it.

    FILE holds JSON, a list of messages, a request body or a stored transcript, or JSONL, one message a line. The
    conversation comes out in the same form, as a request body where the format needs one. Notes on stderr name
    whatever is left out or changed. With --json they go to stdout, and the conversation to --out alone.
    """
    from trimtab.cli.reading import read_conversation
    from trimtab.cli.source import too_deep
    from trimtab.conversion import convert

    if as_json and out == "-":
        raise click.UsageError("--json and --out - both want stdout; give --out a file")
    conversation = read_conversation(file)
    try:
        conversion = convert(
            conversation.data, to=to, format=format_, model=conversation.model or "", config=config
        )
        _deliver(conversion, conversation, out, as_json=as_json)
    except RecursionError as error:
        raise too_deep(file) from error


def _deliver(conversion: Conversion, conversation: Conversation, out: str | None, *, as_json: bool) -> None:
    from trimtab.cli.writing import conversation_pieces, write_file, write_stdout

    pieces = conversation_pieces(conversion.messages, conversion.request, conversation.form)
    if out is not None and out != "-":
        write_file(out, pieces)
    elif not as_json:
        write_stdout(pieces)
    if as_json:
        write_stdout([json.dumps(conversion.to_dict(), ensure_ascii=False), "\n"])
    elif sys.stderr is not None:
        _print_notes(conversion, out)


def _print_notes(conversion: Conversion, out: str | None) -> None:
    from trimtab.cli.report import diagnostic_line

    tolerate(sys.stderr)
    for note in conversion.notes:
        sys.stderr.write(f"{diagnostic_line(note)}\n")
    many = len(conversion.messages)
    messages = f"{many:,} message" if many == 1 else f"{many:,} messages"
    written = "" if out is None or out == "-" else f", written to {clean(out)}"
    sys.stderr.write(f"{clean(conversion.source)} to {clean(conversion.format)}: {messages}{written}\n")
