"""The fake Interactions server itself, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fakes.chat_loopback import LoopbackServer
from fakes.chat_prices import Count, rough_tokens
from fakes.chat_replies import Json
from fakes.chat_requests import Fate, Request
from fakes.chat_wire import Connection
from fakes.interactions_answering import InteractionsAnswerer, Manners
from fakes.interactions_context import View
from fakes.interactions_handlers import InteractionHandler
from fakes.interactions_judge import InteractionsJudge
from fakes.interactions_refusals import refusal
from fakes.interactions_rules import Rules
from fakes.interactions_signatures import Signer
from fakes.interactions_store import DAY, HandClock, Interaction, InteractionStore

if TYPE_CHECKING:
    import ssl

RETENTION = 55 * DAY
"""Seconds for which the paid tier keeps an interaction."""
_ENDED_EARLY: dict[Fate, str] = {"closed by client": "cancelled", "server closed": "cancelled", "cut": "failed"}


class InteractionsServer(LoopbackServer):
    """The server; `with InteractionsServer() as server` starts and ends it.

    - `handler` is asked for a reply to a View when no scripted one is left; without one that is a fault.
    - `judge`: False lets every body and every context through.
    - `count` gives the tokens of one step; above `max_context` a request is refused, and a fault. A prefix of
      fewer than `cache_minimum` tokens is not cached.
    - `clock` tells the seconds; an interaction is lost `retention` seconds after it was made, and with
      `chains_break` also when one that it was continued from is lost. `lost_status` is what that is answered.
    - `continuable`: the statuses in which an interaction can be continued.
    - `strict_prefix`: a thought may only be sent behind the steps that it was made behind. `strict_steps`:
      thoughts and calls that were made here must come as they were made.
    """

    def __init__(
        self,
        handler: InteractionHandler | None = None,
        *,
        judge: bool = True,
        count: Count = rough_tokens,
        max_context: int | None = None,
        api_key: str | None = None,
        retention: float = RETENTION,
        clock: HandClock | None = None,
        lost_status: int = 404,
        chains_break: bool = False,
        strict_prefix: bool = False,
        strict_steps: bool = True,
        continuable: Collection[str] = ("completed", "requires_action", "incomplete"),
        cache_minimum: int = 0,
        tls: ssl.SSLContext | None = None,
        record: bool = True,
        caching: bool = True,
        port: int = 0,
    ) -> None:
        faults: list[str] = []
        self.clock = clock or HandClock()
        self._signer = Signer()
        self._store = InteractionStore(clock=self.clock, retention=retention, chains_break=chains_break)
        self._answers = InteractionsAnswerer(
            handler=handler,
            judge=InteractionsJudge() if judge else None,
            rules=Rules(signer=self._signer, strict_prefix=strict_prefix, strict_steps=strict_steps),
            store=self._store,
            manners=Manners(
                max_context=max_context,
                api_key=api_key,
                lost_status=lost_status,
                continuable=continuable,
                cache_minimum=cache_minimum,
            ),
            count=count,
            caching=caching,
            faults=faults,
        )
        super().__init__(self._answers, faults=faults, tls=tls, record=record, port=port)

    @property
    def base_url(self) -> str:
        """What a client is configured with; it adds the version itself."""
        return self.origin

    @property
    def kept(self) -> list[str]:
        """The ids that can still be asked for, oldest first."""
        return list(self._store.ids())

    @property
    def last_id(self) -> str:
        """The id of the newest answer."""
        return self._answers.answers[max(self._answers.answers)].id

    def view(self, number: int) -> View:
        """Give the whole context of the request of that number. Raises KeyError when it had none."""
        return self._answers.views[number]

    def answer(self, number: int) -> Interaction:
        """Give what the request of that number made. Raises KeyError when it was refused."""
        return self._answers.answers[number]

    def chain(self, interaction_id: str) -> list[Json]:
        """Give all steps that an id stands for. Raises KeyError when it is lost."""
        found = self._store.find(interaction_id)
        if found is None:
            raise KeyError(interaction_id)
        return found.chain

    def forget(self, interaction_id: str) -> None:
        """Lose an interaction. Raises KeyError when it is not there."""
        self._store.forget(interaction_id)

    def forget_all(self) -> None:
        """Lose all interactions."""
        self._store.forget_all()

    def rotate_keys(self) -> None:
        """Let the signatures made until now be refused."""
        self._signer.keys += 1

    def refuse(
        self,
        kind: str,
        *,
        message: str | None = None,
        retry_after: float | str | None = None,
        retry_after_ms: float | None = None,
        should_retry: bool | None = None,
        legacy: bool = False,
    ) -> None:
        """Add a refusal of a kind in REFUSALS to the script; `legacy` writes it in the older shape."""
        self.reply(
            refusal(
                kind,
                message=message,
                retry_after=retry_after,
                retry_after_ms=retry_after_ms,
                should_retry=should_retry,
                legacy=legacy,
            )
        )

    def _settle(self, connection: Connection, request: Request, fate: Fate) -> None:
        made = self._answers.answers.get(request.number)
        if made is not None:
            made.status = _ENDED_EARLY.get(fate, made.outcome)
        super()._settle(connection, request, fate)
