"""The command line. Only the command that was asked for is imported, and its costly parts only when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

_COMPLETE = "_TRIMTAB_COMPLETE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `trimtab` with these arguments (the process's own by default) and give the exit code.

    0 done, 1 a fault of Trimtab itself, 2 bad input or usage, 3 what must stay is over the budget, 4 a plugin
    breaks a rule of its contract, 130 stopped by Ctrl-C, 141 nobody reads the output any more. Never raises.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        return _guarded(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _give_up_output()
        return 141


def _guarded(args: list[str]) -> int:
    try:
        code = _run(args)
        _flush()
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    # A native tokenizer's panic is a BaseException that is no Exception.
    except BaseException as error:
        from trimtab.cli.failures import exit_code, tell_failure

        code = exit_code(error)
        try:
            tell_failure(error, as_json=_wants_json(args))
            _flush()
        except BrokenPipeError:
            raise
        except OSError:
            _give_up_output()
    return code


def _run(args: list[str]) -> int:
    import click

    from trimtab.cli.root import root

    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "trimtab", _COMPLETE, instruction)
    try:
        with root.make_context("trimtab", args or ["--help"]) as context:
            root.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    return 0


def _wants_json(args: list[str]) -> bool:
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _give_up_output() -> None:
    # What is still buffered would fail once more, loudly, when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _flushes(stream):
            os.dup2(nowhere, stream.fileno())


def _flushes(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True
