"""What came of the turns of a case: one record for each turn, and the chat as it was then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from case_files import Case, Json, Key
from case_turns_fakes import Sent
from case_views import Call, View
from trimtab import Config
from trimtab.audit import Block, PromptContextAudit
from trimtab.host import Host
from trimtab.store.protocol import StoredChat, StoredMessage, StoredTurn
from trimtab.turns.events import TurnEvent
from trimtab_sdk import Message, Notice, Text, TextDelta, ToolCall, ToolResult, plain_text

OWNER = "ann"
KILLED = "killed"


@dataclass(frozen=True)
class Told:
    """One turn.

    - `name` is its number from 1, or `retry` with a number from the second one on; `expect` what its step says.
    - `error` is there when it was refused; `was_killed` tells that its process died.
    - `sent` are its requests, `tool_runs` the names of the tools that ran.
    - the rest is as it was after the turn: the chat, the messages of its active branch, the last turn, its audit,
      and whether the audit's messages are the ones that were sent. `log` are the lines that the turn wrote.
    """

    name: str
    expect: Mapping[str, Json]
    events: tuple[TurnEvent, ...]
    error: Exception | None
    was_killed: bool
    sent: tuple[Sent, ...]
    tool_runs: tuple[str, ...]
    chat: StoredChat
    stored: tuple[StoredMessage, ...]
    turn: StoredTurn | None
    audit: PromptContextAudit | None
    matches: bool | None
    log: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The kind of the last event; the code of the error when it was refused; or that its process died."""
        if self.was_killed:
            return KILLED
        if self.error is not None:
            return str(getattr(self.error, "code", type(self.error).__name__))
        return self.events[-1].kind

    @property
    def text(self) -> str:
        """The text of the answers that were told."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def the_audit(self) -> PromptContextAudit:
        assert self.audit is not None, f"turn {self.name} has no audit"
        return self.audit

    @property
    def last_sent(self) -> Sent:
        assert self.sent, f"turn {self.name} sent nothing"
        return self.sent[-1]

    def block(self, message_id: str) -> Block | None:
        """Give the block of a stored message in the prompt, None when it is not there."""
        return next((block for block in self.the_audit.blocks if block.id == message_id), None)

    def message(self, message_id: str) -> StoredMessage | None:
        """Give a message of the active branch."""
        return next((one for one in self.stored if one.message.id == message_id), None)


@dataclass(frozen=True)
class Story:
    """All turns of a case in their order. `ids` is name in the case → id of the stored message.

    `known` are all messages that were ever stored, as they were last seen; `refused` the codes of turns that were
    refused since another one ran. `faults` is what the server found wrong, `left` the replies nobody asked for,
    `answers` the ids that the server gave to answers, each with its name in the case.
    """

    label: str
    case: Case
    expect: Mapping[str, Json]
    told: tuple[Told, ...]
    ids: Mapping[Key, str]
    known: Mapping[str, StoredMessage]
    inputs: Mapping[str, str]
    faults: tuple[str, ...]
    left: int
    answers: Mapping[str, str]
    chat_id: str
    place: Path
    config: Config = field(repr=False)

    @property
    def last(self) -> Told:
        """The last turn that was not refused."""
        return [one for one in self.told if one.error is None][-1]

    def turn(self, name: object) -> Told:
        """Give a turn by its name."""
        return next(one for one in self.told if one.name == str(name))

    def stored(self, name: Json) -> StoredMessage:
        """Give a message by its name in the case."""
        return self.known[self.ids[self.key(name)]]

    def key(self, name: Json) -> Key:
        return name if name in self.ids else self.case.key(name)

    def cursor(self, told: Told) -> str | None:
        """Give the name of the answer whose cursor was stored after a turn, None when there was none."""
        if told.chat.last_provider_state is None:
            return None
        return self.answers[json.loads(told.chat.last_provider_state)["cursor"]]

    def host(self) -> Host:
        """Give a new host on the store of the story, without its server. Open and close it."""
        return Host(self.place, self.config, environ={})


def is_notice(stored: StoredMessage) -> bool:
    """Tell whether a message is for people alone."""
    return all(isinstance(part, Notice) for part in stored.message.parts)


def says(message: Message) -> View:
    """Give the view of a stored message: what it says, whatever the wire."""
    words = tuple(part.text for part in message.parts if isinstance(part, Text))
    calls = (part for part in message.parts if isinstance(part, ToolCall))
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    return View(
        role=message.role,
        words=words if not results else (plain_text(message),),
        calls=tuple(Call(part.call_id, part.name, part.arguments) for part in calls),
        answers=tuple(part.call_id for part in results),
    )


def core(view: View) -> tuple[object, ...]:
    """Give of a view what has to be the same before and after the wire."""
    words = tuple(word for word in view.words if word.strip())
    return view.role, words, tuple((call.id, *call.atom) for call in view.calls), view.answers
