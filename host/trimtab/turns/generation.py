"""From the context of a chat to a call that can be made: fit, decide how to carry on, write the body, audit.

The same for a turn and for a preview. Nothing here stores or sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from trimtab.audit import build_audit, prompt_digest, with_next_step, with_remarks
from trimtab.continuation import ContinueWithCursor
from trimtab.fitting.held import HeldFit
from trimtab.snapshot import ContextSnapshot
from trimtab.turns.context import ChatContext
from trimtab.turns.continuing import Course, Standing, keeps, messages_as_sent, messages_to_send, plot
from trimtab.turns.recipe import Recipe
from trimtab.turns.requesting import Prepared, prepare
from trimtab_sdk.codec import Encoded
from trimtab_sdk.provider import ProviderCall

_STALE = "the provider could not read its own reasoning of earlier answers any more, so these are sent without it"
COMPACT_AT = 0.9
"""The share of the budget from which a provider may compact what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Which generation a call is made for. `step` counts the calls of the turn from 1.

    `previous` is the body of the audit so far, where this is not the first call.
    """

    generation_id: str
    chat_id: str
    turn_id: str
    now: float
    step: int = 1
    previous: Mapping[str, object] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A call that can be made, and what is known of it.

    `prepared` is None for a provider without a server. `audit` is the body to store before the call is made.
    """

    fit: HeldFit
    call: ProviderCall
    prepared: Prepared | None
    course: Course
    snapshot: ContextSnapshot
    audit: dict[str, object] = field(repr=False)


def ready_call(context: ChatContext, standing: Standing, generation: Generation) -> Ready:
    """Fit a context and write the call.

    Raises what a fit raises, and what `prepare` raises for a request that the driver cannot write.
    """
    recipe = context.recipe
    fit = context.fit()
    course = plot(context, fit, standing)
    prompt = _prompt_of(context, fit, course)
    call = _call_of(recipe, prompt, course, generation)
    prepared = None if recipe.target.provider.offline else prepare(recipe.target, call, memo=context.memo)
    audit = build_audit(
        replace(fit, messages=messages_as_sent(course, fit)),
        conversation=context.decoded.messages,
        stored=context.stored,
        chat_id=generation.chat_id,
        provider=recipe.target.name,
        model=recipe.settings.model,
        generation_id=generation.generation_id,
        turn_id=generation.turn_id,
        step=generation.step,
        continuation=course.decision.to_dict() | _stale(recipe),
        behind_cursor=_behind_cursor(course),
        tools=recipe.tool_names,
        request_digest=sha256(prepared.body).hexdigest() if prepared is not None else "",
        prompt_digest=prompt_digest(prompt, memo=context.memo),
        created_at=generation.now,
    )
    if recipe.reader.stale_until:
        audit = with_remarks(audit, [_STALE])
    if generation.previous is not None:
        audit = with_next_step(generation.previous, audit)
    snapshot = ContextSnapshot.from_fit(fit.fit, excluded=len(fit.left))
    return Ready(fit=fit, call=call, prepared=prepared, course=course, snapshot=snapshot, audit=audit)


def _prompt_of(context: ChatContext, fit: HeldFit, course: Course) -> Encoded:
    messages = messages_to_send(course, fit)
    if messages is fit.messages:
        return fit.encoded
    return context.recipe.reader.codec.encode(messages, context.decoded.originals)


def _stale(recipe: Recipe) -> dict[str, object]:
    """Tell an audit up to where the provider's own answers are sent as somebody else's."""
    until = recipe.reader.stale_until
    return {"staleUntil": until} if until else {}


def _behind_cursor(course: Course) -> frozenset[str]:
    """Give the ids of what the provider holds, and is not sent."""
    decision = course.decision
    if not isinstance(decision, ContinueWithCursor):
        return frozenset()
    return frozenset(message.id for message in course.facts.history.messages[: decision.held])


def _call_of(recipe: Recipe, prompt: Encoded, course: Course, generation: Generation) -> ProviderCall:
    settings, keep = recipe.settings, keeps(recipe)
    compacts = keep and settings.context_settings.provider_compaction_enabled
    decision = course.decision
    return ProviderCall(
        model=settings.model,
        prompt=prompt,
        tools=recipe.tools,
        max_output_tokens=settings.max_output_tokens,
        response_format=settings.response_format,
        settings=recipe.target.endpoint.settings,
        options=settings.options,
        cursor=decision.cursor if isinstance(decision, ContinueWithCursor) else None,
        keep=keep,
        compact_at=int(recipe.setup.budget.available * COMPACT_AT) if compacts else None,
        conversation=sha256(generation.chat_id.encode()).hexdigest()[:32] if generation.chat_id else "",
    )
