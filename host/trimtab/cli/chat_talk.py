"""Talking: lines from a terminal or a pipe become turns, and turns become what is shown."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from trimtab.cli.chat_commands import Leave, Talk, run_command
from trimtab.cli.chat_loop import ImpatientInterrupt, interruptible
from trimtab.cli.chat_opening import title_of
from trimtab.cli.chat_words import heading, words_of
from trimtab.cli.failures import BAD_INPUT, OVER_BUDGET
from trimtab.cli.screen import clean, tolerate
from trimtab.turns.events import TurnCancelled, TurnCompleted, TurnFailed, TurnPaused
from trimtab_sdk.errors import InvalidRequestError, TokenBudgetExceededError, TrimtabError

if TYPE_CHECKING:
    from trimtab.cli.chat_screen import Screen
    from trimtab.cli.chat_session import Session
    from trimtab.turns.events import TurnEvent
    from trimtab.turns.stream import TurnStream

FAILED = 1
INTERRUPTED = 130
_NO_LOG = logging.NullHandler()
_PROMPT = "> "
_MORE = "… "
_LAST_MESSAGES = 2
_WIDE = 100
_OUR_SIDE = frozenset(
    {
        "CONFIG_INVALID",
        "INVALID_BUDGET",
        "INVALID_REQUEST",
        "UNKNOWN_FORMAT",
        "UNKNOWN_MODEL",
        "UNKNOWN_PROVIDER",
        "UNKNOWN_STRATEGY",
    }
)
"""The codes that only other input or settings get past."""


def exit_code_of(last: TurnEvent | None) -> int:
    """Give the exit code for the event that a turn ended with."""
    match last:
        case TurnFailed(code=code):
            if code == TokenBudgetExceededError.code:
                return OVER_BUDGET
            return BAD_INPUT if code in _OUR_SIDE else FAILED
        case TurnCancelled():
            return INTERRUPTED
        case TurnPaused():
            return FAILED
        case _:
            return 0


def talk_in_terminal(session: Session, screen: Screen) -> int:
    """Read lines from a terminal until the user leaves, and give the exit code."""
    prepare_keyboard()
    _greet(session, screen)
    talk = Talk(session, screen, ask=_typed)
    warned = False
    while True:
        try:
            line = _read_line()
            warned = False
            _do(talk, line)
        except (EOFError, Leave) as leave:
            if isinstance(leave, EOFError):
                screen.line()
            return 0
        except TrimtabError as error:
            screen.line(f"[{error.code}] {clean(error.message, limit=2000)}", style="red")
        except KeyboardInterrupt as pressed:
            screen.line()
            if warned or isinstance(pressed, ImpatientInterrupt):
                return INTERRUPTED
            warned = True
            screen.line("Ctrl-C again leaves, and so does Ctrl-D.", style="dim")


def talk_through_pipe(session: Session, screen: Screen, lines: Iterator[str]) -> int:
    """Take each line for a turn or a command; the first turn that does not end well is the last."""
    talk = Talk(session, screen)
    for line in lines:
        try:
            last = _do(talk, line)
        except Leave:
            return 0
        if code := exit_code_of(last):
            return code
    return 0


def say_once(session: Session, screen: Screen, text: str) -> int:
    """Make one turn and show it."""
    return exit_code_of(_show(session, screen, _say(session, text)))


def tell_programs(session: Session, lines: Iterator[str], out: TextIO) -> int:
    """Take each line for a turn, and write each event as a line of JSON."""
    for line in lines:
        if not line.strip():
            continue
        last = None
        for last in _events(session, _say(session, line)):
            out.write(json.dumps(last.to_dict()) + "\n")
            out.flush()
        if code := exit_code_of(last):
            return code
    return 0


def lines_of_stdin() -> Iterator[str]:
    """Give the lines of stdin. Raises InvalidRequestError for one that is not UTF-8."""
    if sys.stdin is None:
        return
    for at, line in enumerate(sys.stdin.buffer, start=1):
        try:
            text = line.decode("utf-8-sig" if at == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"stdin, line {at}: it is not UTF-8; save it as UTF-8") from error
        yield text.rstrip("\r\n")


def hush_logs() -> None:
    """Keep the runtime's log off the screen: failures are told as events. TRIMTAB_DEBUG=1 shows it."""
    if os.environ.get("TRIMTAB_DEBUG") != "1":
        logging.getLogger("trimtab").addHandler(_NO_LOG)


def prepare_keyboard() -> None:
    """Have lines edited as people are used to, where this Python can."""
    tolerate(sys.stdin)
    try:
        import readline
    except ImportError:
        return
    readline.parse_and_bind("set enable-bracketed-paste on")


def _do(talk: Talk, line: str) -> TurnEvent | None:
    text = line.strip()
    if not text:
        return None
    if text.startswith("/") and not text.startswith("//"):
        stream = run_command(talk, text)
    else:
        stream = _say(talk.session, text.removeprefix("/") if text.startswith("//") else line)
    return None if stream is None else _show(talk.session, talk.screen, stream)


def _say(session: Session, text: str) -> TurnStream:
    if session.empty:
        session.run(session.host.update_chat(session.chat_id, owner=session.owner, title=title_of(text)))
    return session.host.turn(session.chat_id, text, owner=session.owner)


def _show(session: Session, screen: Screen, stream: TurnStream) -> TurnEvent | None:
    last: TurnEvent | None = None
    for last in _events(session, stream):
        screen.show(last)
    if isinstance(last, TurnCompleted):
        audit = session.run(session.host.audit(session.chat_id, owner=session.owner))
        if audit is not None:
            screen.bar(audit, last)
    return last


def _events(session: Session, stream: TurnStream) -> Iterator[TurnEvent]:
    """Give the events of a turn; Ctrl-C ends it, and a second one does not wait for that."""
    with interruptible(lambda: session.loop.call(stream.cancel)):
        yield from session.events(stream)


def _greet(session: Session, screen: Screen) -> None:
    screen.line(f"{heading(session)}. /help lists the commands.", style="dim")
    for one in session.messages()[-_LAST_MESSAGES:]:
        if one.message.role != "system":
            screen.line(f"#{one.seq} {one.message.role}: {words_of(one.message, limit=_WIDE)}", style="dim")
    if said := state_of(session):
        screen.line(said, style="yellow")


def state_of(session: Session) -> str:
    """Say what stands in the way of a next turn, or is left of the last one; empty where all is well."""
    last = session.run(session.host.last_turn(session.chat_id, owner=session.owner))
    match last.state if last is not None else None:
        case "paused":
            return "A turn waits for results of tools that another program runs; /cancel ends it."
        case "running":
            return "A turn runs in this chat, in another process; /cancel asks it to end."
        case "failed":
            code = clean(str((last.error or {}).get("code", "")), limit=80) if last is not None else ""
            return f"The last turn failed [{code}]; /retry tries again."
        case "cancelled":
            return "The last turn was cancelled; /retry asks again."
        case _:
            return ""


def _read_line() -> str:
    """Read a line; one that ends in a backslash goes on in the next."""
    line = input(_PROMPT)
    while line.endswith("\\"):
        line = line[:-1] + "\n" + input(_MORE)
    return line


def _typed(prompt: str, start: str) -> str:
    """Read a line that begins with a text that can be changed."""
    try:
        import readline
    except ImportError:
        return input(prompt)
    readline.set_startup_hook(lambda: readline.insert_text(start))
    try:
        return input(prompt)
    except EOFError:
        return ""
    finally:
        readline.set_startup_hook()
