"""What the runtime asks of a store, and the plain values that go in and come out.

Every read takes the owner, and what belongs to another owner does not exist. Every method is one transaction: it
happens whole, or it raises and nothing of it happened. All times are seconds since 1970, from the caller's clock.

A chat has a `revision` that each change of it raises by one, and a `history_revision`: the revision of its last
change that was more than messages added at the end. So who holds a chat at revision r needs only the messages
behind those it knows, as long as `history_revision` is at most r.

A chat has at most one turn that is `running` or `paused`. A running turn is leased: `lease_until` is when
others may take it for dead, and `fence` is raised by one each time somebody takes it over, so that a late writer
is refused with TurnLostError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

from trimtab_sdk.counting import Cost
from trimtab_sdk.messages import Message, Part

TurnState: TypeAlias = Literal["running", "paused", "completed", "failed", "cancelled"]
EndState: TypeAlias = Literal["completed", "failed", "cancelled"]
MessageStatus: TypeAlias = Literal["complete", "incomplete"]
JsonObject: TypeAlias = Mapping[str, object]


class _Keep(Enum):
    KEEP = "keep"


KEEP: Final = _Keep.KEEP
"""Leave what is stored as it is."""
Keep: TypeAlias = Literal[_Keep.KEEP]


@dataclass(frozen=True, slots=True)
class Wire:
    """What a message was on the wire of the provider that wrote it, to be sent to that provider again.

    - `answer` is the id of the answer it was an item of, with a slash and the number of its items; the items of
      one answer follow each other.
    - `prefixes` are the hashes of what stood before each reasoning of the message when that was made, in order;
      empty where nobody knows them, or the provider does not care.
    """

    provider: str
    codec: str
    item: object = field(hash=False)
    answer: str = ""
    prefixes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many items its answer has, 0 when that is not known."""
        size = self.answer.rpartition("/")[2]
        return int(size) if size.isascii() and size.isdecimal() and len(size) < 10 else 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What a message costs. `key` names everything the figure depends on besides the message itself."""

    key: str
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to be stored at the end of a chat. Its id is unique in the chat.

    - `provider_state` is for people who look, never read back into a request.
    - `full` is the whole text of a tool result that the message holds in a shortened form.
    - `incomplete` marks an answer that was cut off.
    """

    message: Message
    wire: Wire | None = None
    provider_state: JsonObject | None = field(default=None, hash=False)
    full: str | None = field(default=None, repr=False)
    status: MessageStatus = "complete"
    counted: Counted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message as it is stored.

    - `seq` is its number in the chat; it grows along the active branch. `parent` is the id of the one before it.
    - `revision` is 1 and grows with each edit of its parts; `changed` is the chat's revision at which anything of
      it changed last, flags included.
    - `has_full` tells that the whole text of a shortened tool result can be had with `full_text`.
    """

    message: Message
    seq: int
    revision: int = 1
    changed: int = 0
    parent: str | None = None
    turn_id: str | None = None
    status: MessageStatus = "complete"
    wire: Wire | None = None
    provider_state: JsonObject | None = field(default=None, hash=False)
    has_full: bool = False
    counted: Counted | None = None
    created_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChat:
    """A chat to be created, with its first messages."""

    id: str
    owner: str
    settings: JsonObject = field(hash=False)
    title: str = ""
    messages: tuple[NewMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChat:
    """A chat as it is stored.

    - `last_provider_state` is the text of the envelope of the last completed turn, or None.
    - `last_context_state` is the snapshot after the last turn, `carried` the accepted edit with what it holds for.
    - `turn_id` is its running or paused turn, if it has one.
    """

    id: str
    owner: str
    settings: JsonObject = field(hash=False)
    title: str = ""
    revision: int = 1
    history_revision: int = 1
    last_provider_state: str | None = field(default=None, repr=False)
    last_context_state: JsonObject | None = field(default=None, hash=False)
    carried: JsonObject | None = field(default=None, hash=False, repr=False)
    turn_id: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """A turn as it is stored.

    - `input_ids` are the user's messages that began it, `provider` and `model` who was asked first.
    - `options` is what the turn was started with; `loop_state` is there while it is paused.
    - `partial` is the text so far of an answer that failed; `error` is code, message and details.
    - `cancel_requested` tells that somebody wants it to end, maybe in another process.
    """

    id: str
    chat_id: str
    owner: str
    state: TurnState
    generation_id: str
    input_ids: tuple[str, ...]
    provider: str
    model: str
    fence: int
    lease_holder: str
    lease_until: float
    started_at: float
    ended_at: float | None = None
    options: JsonObject = field(default_factory=dict, hash=False)
    loop_state: JsonObject | None = field(default=None, hash=False)
    finish: str | None = None
    partial: str = field(default="", repr=False)
    usage: JsonObject | None = field(default=None, hash=False)
    error: JsonObject | None = field(default=None, hash=False)
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of a turn. Numbers grow from 1 without holes."""

    sequence: int
    event: JsonObject = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The record of one generation's context. `body` is plain JSON; `error_code` is empty unless it failed."""

    generation_id: str
    body: JsonObject = field(hash=False)
    status: Literal["prepared", "completed", "failed", "cancelled"] = "prepared"
    error_code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to be started: its input, its lease, its audit.

    - `revision` is the chat's revision that the fit was made on.
    - `messages` is the input; none when a turn goes on from what is stored.
    - `deactivate` are ids of messages that leave the active branch, as the cut answer of a cancelled turn that
      is tried again.
    - `key` is the caller's own name for it: a chat has one turn of a key. Empty for none.
    """

    id: str
    chat_id: str
    owner: str
    revision: int
    generation_id: str
    provider: str
    model: str
    messages: tuple[NewMessage, ...]
    input_ids: tuple[str, ...]
    audit: Audit | None
    lease_holder: str
    lease_until: float
    now: float
    options: JsonObject = field(default_factory=dict, hash=False)
    deactivate: tuple[str, ...] = ()
    events: tuple[StoredEvent, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStep:
    """What a running turn writes on its way. Raises the chat's revision when there are messages.

    With `loop_state` the turn is paused and its lease given back.
    """

    turn_id: str
    fence: int
    now: float
    messages: tuple[NewMessage, ...] = ()
    audit: Audit | None = None
    loop_state: JsonObject | None = field(default=None, hash=False)
    lease_until: float = 0.0
    events: tuple[StoredEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class EditParts:
    """Give a message other parts. Its wire form, counts and whole text are dropped; the old revision is kept."""

    id: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinish:
    """What ends a turn.

    - `provider_state` is the envelope's text, None to store null, KEEP to leave what is there.
    - `edits` are of messages of this very turn, as a notice that is to say that all went well; they change no
      `history_revision`.
    - `counts`: message id → what it costs, for messages that were counted anew.
    - `body` of the audit replaces the stored one where it is given; its status and error code are set anyway.
    """

    turn_id: str
    fence: int
    now: float
    state: EndState
    messages: tuple[NewMessage, ...] = ()
    provider_state: str | Keep | None = KEEP
    context_state: JsonObject | Keep | None = field(default=KEEP, hash=False)
    carried: JsonObject | Keep | None = field(default=KEEP, hash=False)
    audit_body: JsonObject | None = field(default=None, hash=False)
    error: JsonObject | None = field(default=None, hash=False)
    finish: str | None = None
    partial: str = field(default="", repr=False)
    usage: JsonObject | None = field(default=None, hash=False)
    edits: tuple[EditParts, ...] = ()
    counts: Mapping[str, Counted] = field(default_factory=dict, hash=False)
    events: tuple[StoredEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class SetPinned:
    """Pin a message, or unpin it."""

    id: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class SetExcluded:
    """Leave a message out by hand (`meta.manualExcluded`), or no longer."""

    id: str
    excluded: bool


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a message out of the chat for good, its older revisions too. The one behind it gets its parent."""

    id: str


@dataclass(frozen=True, slots=True)
class Branch:
    """Make `leaf` the last message of the active branch; None leaves no message active.

    What stood behind it stays stored on its own branch and can be made active again.
    """

    leaf: str | None


Change: TypeAlias = EditParts | SetPinned | SetExcluded | Remove | Branch


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that was started: its chat as it is now, and the turn of another process that was found dead."""

    chat: StoredChat
    turn: StoredTurn
    seqs: tuple[int, ...]
    interrupted: tuple[str, ...] = ()


class KeyTakenError(Exception):
    """The chat has a turn of this key. It is no failure: `turn_id` is the turn that was asked for."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(turn_id)
        self.turn_id = turn_id


class Store(Protocol):
    """Keeps chats, messages, turns, audits and events.

    All methods raise StoreUnavailableError when the store cannot be reached, read or written, and NotFoundError
    for what the owner does not have.
    """

    async def open(self) -> None:
        """Connect and bring the schema up to date. Does nothing when it is open."""
        ...

    async def close(self) -> None:
        """Let everything go. Does nothing when it is not open."""
        ...

    async def create_chat(self, chat: NewChat, *, now: float) -> StoredChat:
        """Store a new chat. Raises InvalidRequestError when the id is taken."""
        ...

    async def get_chat(self, chat_id: str, *, owner: str) -> StoredChat:
        """Give a chat."""
        ...

    async def list_chats(
        self, *, owner: str, limit: int = 50, before: tuple[float, str] | None = None
    ) -> list[StoredChat]:
        """Give an owner's chats, last changed first; `before` is (`updated_at`, `id`) of the last one seen."""
        ...

    async def update_chat(
        self,
        chat_id: str,
        *,
        owner: str,
        now: float,
        settings: JsonObject | None = None,
        title: str | None = None,
        revision: int | None = None,
    ) -> StoredChat:
        """Change the settings or the title, at a revision when it is given (else ChatChangedError)."""
        ...

    async def delete_chat(self, chat_id: str, *, owner: str) -> None:
        """Delete a chat with everything of it. A turn that runs loses its lease."""
        ...

    async def messages(
        self, chat_id: str, *, owner: str, after: int = 0, limit: int | None = None
    ) -> list[StoredMessage]:
        """Give the messages of the active branch whose `seq` is over `after`, in order."""
        ...

    async def full_text(self, chat_id: str, message_id: str, *, owner: str) -> str | None:
        """Give the whole text of a shortened tool result."""
        ...

    async def message_at(self, chat_id: str, message_id: str, revision: int, *, owner: str) -> Message | None:
        """Give a message as it was at a revision of its own; None when that is gone."""
        ...

    async def change_messages(
        self, chat_id: str, changes: Sequence[Change], *, owner: str, now: float, revision: int | None = None
    ) -> StoredChat:
        """Change messages, all or none; `history_revision` follows.

        Raises TurnInProgressError while a turn runs or is paused, ChatChangedError at another revision.
        """
        ...

    async def begin_turn(self, turn: NewTurn, *, is_dead: Callable[[str], bool]) -> Begun:
        """Start a turn: input, lease and audit `prepared`.

        A turn in the way whose lease is over, or whose holder `is_dead`, is ended as failed with
        TURN_INTERRUPTED, its audit with it. Raises TurnInProgressError for one that lives or is paused, and
        ChatChangedError when the chat is at another revision (also when it just became another by ending a dead
        turn). Before all that, KeyTakenError when the chat has a turn of its key.
        """
        ...

    async def step_turn(self, step: TurnStep) -> tuple[int, ...]:
        """Write what a running turn did, and give the `seq` of each message. Raises TurnLostError."""
        ...

    async def resume_turn(
        self, turn_id: str, *, owner: str, lease_holder: str, lease_until: float, now: float
    ) -> StoredTurn:
        """Make a paused turn run again, with a raised fence. Raises TurnStateError when it is not paused.

        What is given back still has its `loop_state`; the stored one is dropped when the turn ends or pauses anew.
        """
        ...

    async def renew_lease(self, turn_id: str, fence: int, *, until: float) -> bool:
        """Keep a running turn leased, and tell whether its cancellation was requested. Raises TurnLostError."""
        ...

    async def finish_turn(self, finish: TurnFinish) -> tuple[int, ...]:
        """End a running or paused turn in one transaction and give the `seq` of each message; its loop state goes.

        Raises TurnLostError when the fence is another one or the turn has ended.
        """
        ...

    async def request_cancel(self, turn_id: str, *, owner: str) -> StoredTurn:
        """Note that a turn shall end, and give it as it is; one that has ended is not changed."""
        ...

    async def get_turn(self, turn_id: str, *, owner: str) -> StoredTurn:
        """Give a turn."""
        ...

    async def turn_of_key(self, chat_id: str, key: str, *, owner: str) -> StoredTurn | None:
        """Give the turn of a chat that was started with a key."""
        ...

    async def turn_messages(self, turn_id: str, *, owner: str) -> list[StoredMessage]:
        """Give the messages of the active branch that a turn has stored, its input among them, in order."""
        ...

    async def last_turn(self, chat_id: str, *, owner: str) -> StoredTurn | None:
        """Give the turn of a chat that was started last."""
        ...

    async def audit(self, chat_id: str, *, owner: str) -> Audit | None:
        """Give the audit of a chat's last generation."""
        ...

    async def add_events(self, turn_id: str, events: Sequence[StoredEvent], *, fence: int | None = None) -> bool:
        """Store events of a turn, and tell whether its cancellation was requested.

        Such as are there already are left as they are. Raises TurnLostError when the turn is gone, and with a
        `fence` also when that is another one or the turn does not run.
        """
        ...

    async def events(self, turn_id: str, *, owner: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Give the events of a turn whose number is over `after`, in order."""
        ...

    async def watch(self, heard: Callable[[str, int], None], connected: Callable[[bool], None]) -> None:
        """Call `heard` with a turn's id and the number of its last event, as soon as anybody has stored one.

        The number is 0 when somebody wants the turn to end. `connected` is told when nothing is missed from now
        on, and when something may be. Runs until it is cancelled; ends at once for a store that cannot tell.
        """
        ...

    async def prune_events(self, *, ended_before: float) -> int:
        """Delete the events of turns that ended before a time, and tell how many went."""
        ...

    async def recover(self, *, now: float, is_dead: Callable[[str], bool]) -> list[str]:
        """End every running turn whose lease is over or whose holder `is_dead`, and give their ids.

        Each becomes failed with TURN_INTERRUPTED, its audit with it, and gets a last event `turn_failed`; paused
        turns wait on.
        """
        ...
