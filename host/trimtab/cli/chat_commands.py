"""What a line that begins with a slash does in a chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from trimtab.cli.chat_words import heading, many, text_of, words_of
from trimtab.cli.screen import clean
from trimtab_sdk.errors import InvalidRequestError

if TYPE_CHECKING:
    from trimtab.cli.chat_screen import Screen
    from trimtab.cli.chat_session import Session
    from trimtab.store.protocol import StoredMessage
    from trimtab.turns.stream import TurnStream


class Leave(Exception):  # noqa: N818 - it is no error, it ends the talk
    """The user wants to leave."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What a command works on. `ask` gets a line from the user, starting from a text, None where nobody types."""

    session: Session
    screen: Screen
    ask: Callable[[str, str], str] | None = None


_Run: TypeAlias = "Callable[[Talk, str], TurnStream | None]"


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what to give it, what it does, and the function that does it."""

    takes: str
    does: str
    run: _Run


def run_command(talk: Talk, line: str) -> TurnStream | None:
    """Do what a line such as `/pin 3` says, and give the turn that it begins, if it begins one.

    Raises Leave, and errors of Trimtab for what cannot be done; nothing is changed then.
    """
    name, _, rest = line[1:].strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        raise _unknown(name)
    return command.run(talk, rest.strip())


def _unknown(name: str) -> InvalidRequestError:
    near = get_close_matches(name.lower(), COMMANDS, n=1)
    guess = f"did you mean /{near[0]}? " if near else ""
    said = f"there is no command /{clean(name, limit=40)}; {guess}/help lists them"
    return InvalidRequestError(f"{said}, and // begins a line with a slash", path="command")


def _pin(talk: Talk, rest: str, *, pinned: bool = True) -> None:
    session = talk.session
    if not rest:
        _tell_flagged(talk, "pinned", lambda one: one.message.pinned)
        return
    names = session.ids(rest.split())
    session.run(session.host.pin(session.chat_id, *names, owner=session.owner, pinned=pinned))
    talk.screen.line(f"{many(len(names), 'message')} {'pinned' if pinned else 'no longer pinned'}.")


def _unpin(talk: Talk, rest: str) -> None:
    _named(rest, "/unpin 3")
    _pin(talk, rest, pinned=False)


def _exclude(talk: Talk, rest: str, *, excluded: bool = True) -> None:
    session = talk.session
    if not rest:
        _tell_flagged(talk, "excluded", lambda one: one.message.meta.get("manualExcluded") is True)
        return
    names = session.ids(rest.split())
    session.run(session.host.exclude(session.chat_id, *names, owner=session.owner, excluded=excluded))
    talk.screen.line(f"{many(len(names), 'message')} {'left out' if excluded else 'no longer left out'} by hand.")


def _include(talk: Talk, rest: str) -> None:
    _named(rest, "/include 3")
    _exclude(talk, rest, excluded=False)


def _context(talk: Talk, rest: str) -> None:
    from trimtab.audit import parse_audit
    from trimtab.audit_text import as_fit
    from trimtab.cli.audit_report import print_window
    from trimtab.cli.chat_tables import print_context

    session = talk.session
    messages = session.messages()
    preview = session.run(session.host.preview(session.chat_id, owner=session.owner))
    audit = parse_audit(preview.audit)
    talk.screen.line("The next call, without what you are about to say:")
    print_window(talk.screen.console, as_fit(audit))
    print_context(talk.screen.console, messages, audit, show_all=rest == "all")


def _audit(talk: Talk, rest: str) -> None:
    from trimtab.cli.audit_report import print_audit

    session = talk.session
    audit = session.run(session.host.audit(session.chat_id, owner=session.owner))
    if audit is None:
        talk.screen.line("Nothing was sent in this chat yet.")
        return
    print_audit(talk.screen.console, audit, session.messages(), show_all=rest == "all")


def _model(talk: Talk, rest: str) -> None:
    _set(talk, "model", rest)


def _provider(talk: Talk, rest: str) -> None:
    _set(talk, "provider", rest)


def _strategy(talk: Talk, rest: str) -> None:
    _set(talk, "context_strategy", rest)


def _set(talk: Talk, setting: str, value: str) -> None:
    if value:
        talk.session.change(**{setting: value})
    talk.screen.line(f"{heading(talk.session)}.")


def _retry(talk: Talk, rest: str) -> TurnStream:
    session = talk.session
    last = session.run(session.host.last_turn(session.chat_id, owner=session.owner))
    messages = session.messages()
    active = {one.message.id for one in messages}
    if last is not None and last.state in ("failed", "cancelled") and active.issuperset(last.input_ids):
        return session.host.retry(session.chat_id, owner=session.owner)
    return _asked_again(session, messages)


def _asked_again(session: Session, messages: list[StoredMessage]) -> TurnStream:
    """Say the last input once more, in its place: the answer so far stays on a branch of its own."""
    asked = next((one for one in reversed(messages) if one.message.role == "user"), None)
    if asked is None:
        raise InvalidRequestError("nothing was said in this chat yet", path="command")
    session.run(session.host.branch(session.chat_id, asked.parent, owner=session.owner))
    return session.host.turn(session.chat_id, asked.message.parts, owner=session.owner)


def _edit(talk: Talk, rest: str) -> None:
    _named(rest, "/edit 3")
    session = talk.session
    name, _, text = rest.partition(" ")
    (wanted,) = session.ids([name])
    stored = next((one for one in session.messages() if one.message.id == wanted), None)
    before = text_of(stored.message) if stored is not None else None
    if stored is None or before is None:
        raise InvalidRequestError(f"{name} is no message of this branch that holds only text", path="message")
    text = text.strip() or _typed(talk, before)
    if not text or text == before:
        talk.screen.line("Nothing was changed.")
        return
    session.run(session.host.edit(session.chat_id, wanted, text, owner=session.owner))
    talk.screen.line(f"#{stored.seq} is changed. /retry asks the last question again.")


def _typed(talk: Talk, before: str) -> str:
    if talk.ask is None:
        raise InvalidRequestError("give the new text too: /edit 3 TEXT", path="command")
    return talk.ask("new text: ", before if "\n" not in before else "").strip()


def _branch(talk: Talk, rest: str) -> None:
    _named(rest, "/branch 3")
    session = talk.session
    (leaf,) = session.ids(rest.split()[:1])
    session.run(session.host.branch(session.chat_id, leaf, owner=session.owner))
    last = session.messages()[-1]
    talk.screen.line(f"The chat ends with #{last.seq} now: {words_of(last.message, limit=60)}")
    talk.screen.line("What stood behind it is kept; /branch with its last number goes back there.")


def _list(talk: Talk, rest: str) -> None:
    from trimtab.cli.chat_store import all_chats
    from trimtab.cli.chat_tables import print_chats

    session = talk.session
    chats = session.run(all_chats(session.host, owner=session.owner))
    print_chats(talk.screen.console, chats, current=session.chat_id)


def _messages(talk: Talk, rest: str) -> None:
    from trimtab.cli.chat_tables import print_messages

    print_messages(talk.screen.console, talk.session.messages(), show_all=rest == "all")


def _system(talk: Talk, rest: str) -> None:
    from trimtab.cli.chat_opening import set_system

    if rest:
        set_system(talk.session, rest)
    texts = [one for one in talk.session.messages() if one.message.role == "system"]
    talk.screen.line(clean((text_of(texts[0].message) or "") if texts else "There is no system text."))


def _cancel(talk: Talk, rest: str) -> None:
    session = talk.session
    turn_id = session.chat().turn_id
    if turn_id is None:
        talk.screen.line("No turn runs or waits in this chat.")
        return
    turn = session.run(session.host.cancel(turn_id, owner=session.owner))
    talk.screen.line("The turn is ended." if turn.state != "running" else "The turn was asked to end.")


def _help(talk: Talk, rest: str) -> None:
    talk.screen.line("Anything else you type is said to the model. A \\ at the end of a line goes on in the next.")
    names = {name: f"/{name} {command.takes}".strip() for name, command in COMMANDS.items()}
    width = max(map(len, names.values()))
    for name, command in COMMANDS.items():
        talk.screen.line(f"{names[name].ljust(width)}  {command.does}")
    talk.screen.line("Ctrl-C ends a running answer, Ctrl-D leaves.")


def _quit(talk: Talk, rest: str) -> None:
    raise Leave


def _tell_flagged(talk: Talk, word: str, is_so: Callable[[StoredMessage], bool]) -> None:
    numbers = ", ".join(f"#{one.seq}" for one in talk.session.messages() if is_so(one))
    talk.screen.line(f"{word}: {numbers or 'none'}")


def _named(rest: str, example: str) -> None:
    if not rest:
        raise InvalidRequestError(f"name a message by its number, as {example}", path="command")


COMMANDS: Mapping[str, Command] = {
    "messages": Command("[all]", "the messages by number", _messages),
    "context": Command("[all]", "what goes into the next call", _context),
    "audit": Command("[all]", "what the last call was given", _audit),
    "pin": Command("[#..]", "keep messages in every call", _pin),
    "unpin": Command("#..", "no longer", _unpin),
    "exclude": Command("[#..]", "leave messages out", _exclude),
    "include": Command("#..", "no longer", _include),
    "retry": Command("", "ask the last question again", _retry),
    "edit": Command("# [TEXT]", "change the text of a message", _edit),
    "branch": Command("#", "go on behind an earlier message", _branch),
    "model": Command("[NAME]", "another model", _model),
    "provider": Command("[NAME]", "another provider", _provider),
    "strategy": Command("[NAME]", "another way to make room", _strategy),
    "system": Command("[TEXT]", "show or change the system text", _system),
    "cancel": Command("", "end a turn that waits, or runs elsewhere", _cancel),
    "list": Command("", "all chats", _list),
    "help": Command("", "this list", _help),
    "quit": Command("", "leave; the chat is kept", _quit),
}
"""Name → command, in the order of the help."""
