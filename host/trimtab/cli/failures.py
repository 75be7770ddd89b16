"""Telling what went wrong: an exit code, and a few lines for people or one JSON object for programs."""

from __future__ import annotations

import errno
import json
import os
import sys

import click

from trimtab.cli.screen import clean, number, tolerate
from trimtab.cli.writing import UnwritableOutputError
from trimtab_sdk.errors import TokenBudgetExceededError, TrimtabError

INTERNAL = 1
BAD_INPUT = 2
OVER_BUDGET = 3

_HEAVIEST = 8
_LONGEST = 2000


def exit_code(error: BaseException) -> int:
    """Give the exit code for an error."""
    error = _told(error)
    if isinstance(error, TokenBudgetExceededError):
        return OVER_BUDGET
    return BAD_INPUT if isinstance(error, TrimtabError | click.ClickException) else INTERNAL


def tell_failure(error: BaseException, *, as_json: bool) -> None:
    """Tell people on stderr or programs on stdout.

    A traceback is printed only where the environment has TRIMTAB_DEBUG=1.
    """
    if os.environ.get("TRIMTAB_DEBUG") == "1":
        _print_traceback(error)
    error = _told(error)
    failure = _described(error)
    if as_json and sys.stdout is not None and not _is_stdout_lost(error):
        _print_json(failure)
    elif sys.stderr is not None:
        tolerate(sys.stderr)
        sys.stderr.write(_for_people(error, failure))


def _told(error: BaseException) -> BaseException:
    # Only what people print to can run full here; files tell it themselves.
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return UnwritableOutputError("stdout", error.strerror or "no space left")
    return error


def _is_stdout_lost(error: BaseException) -> bool:
    return isinstance(error, UnwritableOutputError) and error.file == "stdout"


def _described(error: BaseException) -> dict[str, object]:
    if isinstance(error, TrimtabError):
        return error.to_dict()
    if isinstance(error, click.ClickException):
        return {"code": "USAGE", "message": _usage(error), "details": {}}
    problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    advice = "this is a fault of Trimtab; TRIMTAB_DEBUG=1 shows where it happened"
    return {"code": "INTERNAL_ERROR", "message": f"{problem}; {advice}", "details": {}}


def _usage(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context is not None else "trimtab"
    return f"{error.format_message().rstrip('.')}; see `{command} --help`"


def _print_json(failure: dict[str, object]) -> None:
    text = json.dumps(failure, ensure_ascii=False) + "\n"
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def _for_people(error: BaseException, failure: dict[str, object]) -> str:
    if isinstance(error, TokenBudgetExceededError):
        return "\n".join([_over_budget(error), *_heaviest(error), _way_out(error), ""])
    return f"error [{failure['code']}]: {clean(str(failure['message']), limit=_LONGEST)}\n"


def _over_budget(error: TokenBudgetExceededError) -> str:
    overhead = f" ({number(error.overhead)} of them the request's own overhead)" if error.overhead else ""
    return (
        f"error [{error.code}]: what must stay needs {number(error.needed)} tokens{overhead}, "
        f"{number(error.allowed)} are allowed"
    )


def _heaviest(error: TokenBudgetExceededError) -> list[str]:
    by_weight = sorted(error.protected.items(), key=lambda item: -item[1])
    if not by_weight:
        return []
    lines = ["", f"{'tokens':>12}  protected message"]
    for name, tokens in by_weight[:_HEAVIEST]:
        note = "  (current input)" if name in error.current_input else ""
        lines.append(f"{number(tokens):>12}  {clean(name, limit=60)}{note}")
    rest = by_weight[_HEAVIEST:]
    if rest:
        lines.append(f"{number(sum(tokens for _, tokens in rest)):>12}  {len(rest):,} more")
    return [*lines, ""]


def _way_out(error: TokenBudgetExceededError) -> str:
    if error.smallest_limit is None:
        return "unpin or shorten some of these, or take a model with a larger window"
    return f"unpin or shorten some of these, or take a limit of at least {number(error.smallest_limit)} tokens"


def _print_traceback(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error, file=sys.stderr)
