"""What a turn is asked, and a turn in work."""

from __future__ import annotations

from dataclasses import dataclass, field

from trimtab.store.protocol import NewMessage, StoredChat, StoredMessage, StoredTurn
from trimtab.turns.context import ChatContext
from trimtab.turns.continuing import Standing
from trimtab.turns.generation import Ready
from trimtab.turns.held_chats import HeldChat
from trimtab.turns.settings import ChatSettings
from trimtab.turns.telling import Notices
from trimtab_sdk.messages import Message, ToolCall
from trimtab_sdk.provider import ToolSpec, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a turn is asked.

    - `input`: what the user says; empty for a turn that goes on from what is stored.
    - `again`: the turn that is tried again, or None.
    - `client_tools`: tools that the caller runs itself.
    - `key`: the caller's own name for the turn, so that asking again begins no second one; empty for none.
      `fingerprint` tells whether the same was asked.
    """

    chat_id: str
    owner: str
    input: tuple[Message, ...] = ()
    again: StoredTurn | None = None
    client_tools: tuple[ToolSpec, ...] = ()
    key: str = ""
    fingerprint: str = ""


@dataclass(slots=True, kw_only=True)
class TurnWork:
    """A turn in work. Belongs to the task that runs it.

    - `held` is the chat as stored, `context` what its requests are made of; None when it could not be opened.
    - `revision` is the chat's revision after what this turn has written so far.
    - `ready` is the next call, or `failure` why there is none. `audit` is the body of the generation's record.
    - `messages` are those stored since `held`, `earlier_ids` those of the turn that `held` has already.
    - `arrived` are results that a resumed turn goes on with; they are not stored yet.
    - `standing` is how it carries on with the provider, `notices` what people are told of that, `told` the reasons
      that it has told; `cursor_spent` tells that the stored cursor is of no use to the next turn either.
    - `has_begun_answer` tells that something of the running answer was told, `has_new_key` that the host app was
      asked for a new key, `wants_new_key` that it is to be asked before the next call.
    - `calls` are those of an answer that paused; they are run when it is complete.
    - `usages` is what the provider reported of its calls. `step` counts them from 1, `text` is the text so far of
      the running answer.
    """

    chat: StoredChat
    turn: StoredTurn
    settings: ChatSettings
    held: HeldChat
    context: ChatContext | None
    revision: int
    ready: Ready | None = None
    failure: Exception | None = None
    audit: dict[str, object] | None = None
    client_tools: tuple[ToolSpec, ...] = ()
    messages: list[StoredMessage] = field(default_factory=list)
    earlier_ids: tuple[str, ...] = ()
    arrived: tuple[NewMessage, ...] = ()
    usages: list[Usage] = field(default_factory=list)
    standing: Standing = field(default_factory=Standing)
    notices: Notices = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    cursor_spent: bool = False
    has_begun_answer: bool = False
    has_new_key: bool = False
    wants_new_key: bool = False
    calls: list[ToolCall] = field(default_factory=list)
    step: int = 1
    first_event: int = 1
    text: str = ""

    @property
    def the_ready(self) -> Ready:
        """The call that is ready. Only asked while there is one."""
        if self.ready is None:
            raise AssertionError("no call is ready")
        return self.ready

    @property
    def the_context(self) -> ChatContext:
        """The context. Only asked while there is one."""
        if self.context is None:
            raise AssertionError("the context could not be opened")
        return self.context

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The ids of what the turn has stored, in order."""
        return (*self.earlier_ids, *(one.message.id for one in self.messages))
