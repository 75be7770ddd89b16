"""The fake Messages server itself, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from fakes.chat_loopback import LoopbackServer
from fakes.chat_prices import Count, rough_tokens
from fakes.chat_replies import Json
from fakes.chat_requests import Request
from fakes.interactions_store import HandClock
from fakes.messages_answering import ASK, Manners, MessagesAnswerer
from fakes.messages_cache import BreakpointCache
from fakes.messages_context import View
from fakes.messages_handlers import MessagesHandler
from fakes.messages_judge import MessagesJudge
from fakes.messages_refusals import refusal
from fakes.messages_seals import Seal, Signer
from fakes.messages_thinking import Binding
from fakes.messages_threads import ThreadStore

if TYPE_CHECKING:
    import ssl


class MessagesServer(LoopbackServer):
    """The server; `with MessagesServer() as server` starts and ends it.

    - `handler` is asked for a reply to a View when no scripted one is left; without one that is a fault.
    - `judge`: False lets every body through, and every signature.
    - `count` gives the tokens of one block; above `max_context` a request is refused, and a fault. With `overflow`
      "error" that goes for input and `max_tokens` together, with "stop" an answer that does not fit ends early.
    - `binding`: what becomes of a thought behind another prefix, unless the request itself decides.
    - `prefill`: whether the assistant may speak last. `max_output`: the largest `max_tokens`.
    - `loop_thinking`, `refuses`, `mid_system`: see MessagesJudge.
    - `threads_refuse`: keys of a body that is to be kept in a thread which the server does not take then.
    - `clock` tells when a cache entry ends; a prefix of fewer than `cache_minimum` tokens is not cached.
    """

    def __init__(
        self,
        handler: MessagesHandler | None = None,
        *,
        judge: bool = True,
        count: Count = rough_tokens,
        max_context: int | None = None,
        max_output: int | None = None,
        overflow: Literal["error", "stop"] = "error",
        api_key: str | None = None,
        binding: Binding = "error",
        prefill: bool = False,
        loop_thinking: Collection[str] = ("enabled",),
        refuses: Collection[str] = (),
        mid_system: bool = True,
        clock: HandClock | None = None,
        cache_minimum: int = 0,
        tls: ssl.SSLContext | None = None,
        record: bool = True,
        caching: bool = True,
        port: int = 0,
        threads_refuse: Collection[str] = (),
    ) -> None:
        faults: list[str] = []
        self.clock = clock or HandClock()
        self._signer = Signer()
        self._threads = ThreadStore(self.clock)
        messages_judge = MessagesJudge(loop_thinking=loop_thinking, refuses=refuses, mid_system=mid_system)
        self._answers = MessagesAnswerer(
            handler=handler,
            judge=messages_judge if judge else None,
            signer=self._signer,
            cache=BreakpointCache(count=count, now=self.clock, minimum=cache_minimum, caching=caching),
            manners=Manners(
                max_context=max_context,
                max_output=max_output,
                overflow=overflow,
                api_key=api_key,
                binding=binding,
                prefill=prefill,
                threads_refuse=tuple(threads_refuse),
            ),
            threads=self._threads,
            faults=faults,
        )
        super().__init__(self._answers, faults=faults, tls=tls, record=record, port=port)

    @property
    def base_url(self) -> str:
        """What a client is configured with; it adds the version itself."""
        return self.origin

    @property
    def asks(self) -> list[Request]:
        """The requests for an answer, without those that only count."""
        return [one for one in self.requests if urlsplit(one.path).path == ASK]

    @property
    def kept(self) -> list[str]:
        """The ids of the answers whose threads are kept, oldest first."""
        return self._threads.ids()

    @property
    def last_id(self) -> str:
        """The id of the newest answer."""
        return str(self._answers.answers[max(self._answers.answers)]["id"])

    def view(self, number: int) -> View:
        """Give the context of the request of that number. Raises KeyError when it had none."""
        return self._answers.views[number]

    def answer(self, number: int) -> Json:
        """Give the message that the request of that number made. Raises KeyError when it was refused."""
        return self._answers.answers[number]

    def forget_all(self) -> None:
        """Lose all threads."""
        self._threads.forget_all()

    def seal(self, signature: str) -> Seal | None:
        """Read a signature: what its thought was made behind; None for one that was not made here."""
        return self._signer.open(signature)

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
    ) -> None:
        """Add a refusal of a kind in REFUSALS to the script."""
        self.reply(
            refusal(
                kind,
                message=message,
                retry_after=retry_after,
                retry_after_ms=retry_after_ms,
                should_retry=should_retry,
            )
        )
