"""What all turns of a host share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from trimtab.turns.heartbeat import LEASE_SECONDS
from trimtab.turns.remembered import RememberedEdits
from trimtab.turns.tools import ToolBox, ToolLimits

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab.store.protocol import Store
    from trimtab.turns.granting import Credentials
    from trimtab.turns.held_chats import HeldChats
    from trimtab.turns.live import LiveTurns
    from trimtab.turns.running import TurnRunner
    from trimtab.turns.stateless import GenerationStream
    from trimtab.turns.transport import Transport
    from trimtab.usage import UsageRatios

_MOST_NOTED = 1024
LOG = logging.getLogger("trimtab.turns")
_Result = TypeVar("_Result")


@dataclass(slots=True, kw_only=True)
class Machinery:
    """The parts that turns work with.

    - `clock` gives seconds since 1970, `sleep` waits for seconds. `environ` holds the keys, but
      for those that `credentials` hand out, by the name of the endpoint.
    - `stale` is chat id → the provider that cannot read its own reasoning in it any more, and the id of the last
      message that holds such: for another reason than a prefix that is known. Known to this process alone: another
      one finds out by one refused call.
    - `unkept` is chat id → the provider that refused to keep it.
    - `running` are the turns of this process by id, `tasks` all that run. `generations` are answers that belong to
      no chat.
    - `lease_seconds`: for how long a turn is leased without a sign of life.
    - `live` knows the turns that are read along.
    - `edits` are those of conversations that are stored nowhere.
    - `prune_at`: when old events are to be dropped next.
    """

    store: Store
    chats: HeldChats
    transport: Transport
    config: Config
    registry: ContextStrategyRegistry
    tools: ToolBox
    pool: Executor
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    environ: Mapping[str, str] = field(repr=False)
    credentials: Mapping[str, Credentials] = field(default_factory=dict, repr=False)
    ratios: UsageRatios
    live: LiveTurns
    tool_limits: ToolLimits = field(default_factory=ToolLimits)
    lease_seconds: float = LEASE_SECONDS
    edits: RememberedEdits = field(default_factory=RememberedEdits)
    prune_at: float = 0.0
    running: dict[str, TurnRunner] = field(default_factory=dict)
    stale: dict[str, tuple[str, str]] = field(default_factory=dict)
    unkept: dict[str, str] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    generations: set[GenerationStream] = field(default_factory=set)

    def note_unkept(self, chat_id: str, provider: str) -> None:
        """Remember that a provider does not keep a chat; of many chats, the last."""
        _note(self.unkept, chat_id, provider)

    def note_stale(self, chat_id: str, provider: str, until: str) -> None:
        """Remember up to which message of a chat a provider cannot read its reasoning; of many chats, the last.

        Of a generation without a chat nothing is remembered.
        """
        if chat_id:
            _note(self.stale, chat_id, (provider, until))

    def stale_until(self, chat_id: str, provider: str) -> str:
        """Give the id of the last message whose reasoning a provider cannot read, empty when it can read all."""
        known = self.stale.get(chat_id)
        return known[1] if known is not None and known[0] == provider else ""

    async def in_pool(self, function: Callable[..., _Result], *args: object, **options: object) -> _Result:
        """Run a fit, or what else takes the processor, on a thread of its own pool."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, partial(function, *args, **options))


def _note(known: dict[str, _Result], chat_id: str, fact: _Result) -> None:
    known.pop(chat_id, None)
    known[chat_id] = fact
    if len(known) > _MOST_NOTED:
        del known[next(iter(known))]
