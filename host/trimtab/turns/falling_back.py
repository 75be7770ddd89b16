"""The next model of a chat's list, when the one that was asked is overloaded or out of reach.

Only while nothing of the answer has been told. Everything the turn has stored, results of tools included, is
fitted again for the other model: to its own limit, with its own counter, in its own codec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.store.protocol import NewMessage
from trimtab.turns.context import open_context
from trimtab.turns.continuing import Standing
from trimtab.turns.events import ModelFallback
from trimtab.turns.generation import Generation, ready_call
from trimtab.turns.inputs import new_id
from trimtab.turns.machinery import LOG
from trimtab.turns.starting import open_recipe
from trimtab.turns.telling import tell_context
from trimtab_sdk.errors import ProviderError, StoreUnavailableError, TrimtabError
from trimtab_sdk.messages import Message, Notice

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.recorder import Recorder
    from trimtab.turns.settings import ChatSettings
    from trimtab.turns.work import TurnWork

OUTAGES = frozenset({"PROVIDER_OVERLOADED", "PROVIDER_FAILED", "PROVIDER_UNREACHABLE", "PROVIDER_TIMEOUT"})
"""The codes after which another model is tried."""


async def fall_back(machinery: Machinery, work: TurnWork, writer: Recorder, error: ProviderError) -> bool:
    """Make the call ready for the next model of the list; tell whether there was one.

    A model that cannot be asked at all (an unknown name, no key, too small a window) is passed over.
    """
    if error.code not in OUTAGES or work.has_begun_answer:
        return False
    while work.settings.fallbacks:
        settings = _next_settings(work.settings)
        try:
            await _make_ready(machinery, work, settings)
        except StoreUnavailableError:
            raise
        except TrimtabError as unusable:
            LOG.warning("the fallback %s %s cannot be asked: %s", settings.provider, settings.model, unusable.code)
            work.settings = _without_first(work.settings)
            continue
        await _tell(work, writer, error, settings)
        return True
    return False


def _next_settings(settings: ChatSettings) -> ChatSettings:
    first = settings.fallbacks[0]
    return settings.changed(
        provider=first.provider, model=first.model, options={}, fallbacks=settings.fallbacks[1:]
    )


def _without_first(settings: ChatSettings) -> ChatSettings:
    return settings.changed(fallbacks=settings.fallbacks[1:])


async def _make_ready(machinery: Machinery, work: TurnWork, settings: ChatSettings) -> None:
    recipe = await open_recipe(machinery, work.chat.id, settings, work.client_tools)
    stored = [*work.the_context.stored.values()]
    stored += [one for one in work.messages if one.message.id not in work.the_context.stored]
    context = await machinery.in_pool(open_context, recipe, work.chat, stored, running=work.turn.id)
    generation = Generation(
        generation_id=work.turn.generation_id,
        chat_id=work.turn.chat_id,
        turn_id=work.turn.id,
        now=machinery.clock(),
        step=work.step,
        previous=work.audit,
    )
    standing = Standing(is_fallback=True)
    ready = await machinery.in_pool(ready_call, context, standing, generation)
    work.settings, work.context, work.standing = settings, context, standing
    work.ready, work.audit, work.text = ready, ready.audit, ""


async def _tell(work: TurnWork, writer: Recorder, error: ProviderError, settings: ChatSettings) -> None:
    event = ModelFallback(
        code=error.code,
        provider=error.provider,
        model=error.model,
        next_provider=settings.provider,
        next_model=settings.model,
    )
    LOG.warning("%s: %s %s is asked in place of %s %s", error.code, *event.names)
    message = Message(new_id(), "system", (Notice(event.kind, event.to_dict()),))
    await writer.keep((NewMessage(message=message),), audit=work.audit)
    await writer.tell(event)
    await tell_context(work, writer, work.the_ready)
