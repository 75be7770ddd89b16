"""`fit` and `afit`: the library's front door."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ParamSpec

from trimtab.config import Config
from trimtab.fitting.allocation import gc_paused
from trimtab.fitting.job import Job
from trimtab.fitting.pipeline import run_pipeline
from trimtab.fitting.reporting import make_fit
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab.naming import named_ids
from trimtab.opening import Options, open_conversation
from trimtab.report import Fit

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_Options = ParamSpec("_Options")

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def fit(
    messages: object,
    *,
    model: str,
    strategy: str = "truncate",
    context_limit: int | None = None,
    reserve: int | None = None,
    pins: Sequence[int | str] = (),
    excluded: Sequence[int | str] = (),
    tools: Sequence[object] | None = None,
    response_format: Mapping[str, object] | None = None,
    format: str | None = None,
    settings: Mapping[str, object] | None = None,
    scope: str | None = None,
    config: Config | None = None,
    registry: ContextStrategyRegistry | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Fit a conversation into a model's token budget and account for every message.

    - `messages`: a list of messages, or a whole request body (then `Fit.request` comes back too). It is not
      changed; messages that stay as they are come back as the same objects.
    - `model`: a name of the catalogue; an unknown one needs `context_limit`.
    - `strategy`: the name of the plugin that chooses what leaves; `settings` are its settings.
    - `context_limit`, `reserve`: tokens of the window, and tokens kept free for the answer. Left out, the
      catalogue gives the limit, and the reserve is what the body asks for, else the smaller of the longest
      answer and a quarter of the limit.
    - `pins`, `excluded`: messages that must stay or leave; an int is an index, a str an id.
    - `tools`, `response_format`: counted as part of the request, when `messages` is no body that has them.
    - `format`: the codec's name; left out, the format is recognized.
    - `scope`: the key of the conversation or tenant that plugins' counts are kept under; None keeps none.
    - `config`, `registry`: the host app's decisions and its own plugins.
    - `on_progress`: called with (counted messages, all messages) while counting.

    Raises InvalidRequestError, InvalidBudgetError, UnknownModelError, UnknownStrategyError,
    UnknownFormatError, ConfigError or PluginError for what cannot be done, and TokenBudgetExceededError when
    what must stay is over the budget. Safe to call from many threads.
    """
    options = Options(
        model=model,
        strategy=strategy,
        context_limit=context_limit,
        reserve=reserve,
        tools=tools,
        response_format=response_format,
        format=format,
        settings=settings,
        scope=scope,
        config=config,
        registry=registry,
    )
    with gc_paused():
        opened = open_conversation(messages, options)
        decoded = opened.decoded
        job = Job(
            setup=opened.setup,
            messages=decoded.messages,
            originals=decoded.originals,
            places={message.id: at - decoded.leading for at, message in enumerate(decoded.messages)},
            pins=named_ids("pins", pins, decoded.messages, leading=decoded.leading),
            excluded=named_ids("excluded", excluded, decoded.messages, leading=decoded.leading),
            on_progress=on_progress,
        )
        return make_fit(job, run_pipeline(job), notes=opened.notes)


def _in_pool(function: Callable[_Options, Fit]) -> Callable[_Options, Coroutine[object, object, Fit]]:
    async def run(*args: _Options.args, **options: _Options.kwargs) -> Fit:
        import asyncio

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads(), partial(function, *args, **options))

    run.__name__ = run.__qualname__ = "afit"
    run.__doc__ = "Do what `fit` does, in a pool of threads of its own, so that the event loop goes on."
    return run


afit = _in_pool(fit)


def _threads() -> ThreadPoolExecutor:
    global _pool
    from concurrent.futures import ThreadPoolExecutor

    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="trimtab-fit")
        return _pool
