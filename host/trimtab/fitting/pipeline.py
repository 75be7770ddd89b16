"""The guarded pipeline: from a decoded conversation to a fit.

messages → exclusions → adapt → protect → count → strategy → GUARD → interceptors, each GUARDED → adapt → recount
→ final shift → recount → Fit
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from trimtab.fitting.account import Account, PluginKey
from trimtab.fitting.allocation import gc_resumed
from trimtab.fitting.calling import CallTrace, Room, make_request
from trimtab.fitting.carrying import reapply
from trimtab.fitting.conduct import turn_of
from trimtab.fitting.context import Context, first_context
from trimtab.fitting.exclusion import exclude_by_hand
from trimtab.fitting.final import final_shift, host_shift, over_budget, without
from trimtab.fitting.guard import Applied, Caller, guard_answer
from trimtab.fitting.job import Job, Step
from trimtab.fitting.openings import with_opening
from trimtab.fitting.reasoning import strip_bound_reasoning, strip_stale_reasoning
from trimtab.fitting.recording import deed_of, refused_call, switched_off, tell_field, used_call
from trimtab.loading.plugins import INTERCEPT, SHIFT
from trimtab_sdk.codec import Encoded
from trimtab_sdk.counting import Cost
from trimtab_sdk.errors import InvalidRequestError, PluginError
from trimtab_sdk.groups import link_groups, with_tokens
from trimtab_sdk.messages import Message, Reasoning
from trimtab_sdk.protection import protection_reasons

LEFT_OUT = {
    "unpaired": "left out, since the wire takes no tool call without its result and no result without its call",
    "empty": "left out, since nothing is in it",
    "wire-rule": "left out, since the wire does not take it",
}
_REASONING = "left out the reasoning of another provider, which only that provider can take back"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the pipeline made: the context as it came in, as it goes out, and the books.

    `over` says that the strategy was due because the conversation was over its budget. `encoded` is what goes out
    as it is written, where that was needed already.
    """

    before: Context
    after: Context
    account: Account
    over: bool
    encoded: Encoded | None = None


def run_pipeline(job: Job) -> Outcome:
    """Fit a conversation into the budget of its setup.

    Raises TokenBudgetExceededError when what must stay is over the budget, InvalidRequestError when the wire
    cannot carry something protected, and PluginError when the config asks for that.
    """
    account = Account()
    before, context = _prepare(job, account)
    if _fits_without_stale(job, context):
        context, _ = _strip_stale(job, context, account)
    over = context.total > job.setup.budget.available
    context = _run_strategy(job, context, account)
    for step in job.setup.interceptors:
        context = _run_interceptor(job, step, context, account)
    after, encoded = _settle(job, context, account)
    return Outcome(before, after, account, over, encoded)


def _prepare(job: Job, account: Account) -> tuple[Context, Context]:
    """Give the context as it came in, and as the strategy will see it."""
    before = _read(job)
    context = _adapt(job, without(before, exclude_by_hand(before, job.excluded, account)), account)
    context = _protect_open_step(job, before, context)
    _check_protected(job, context)
    if job.carried is not None:
        context = reapply(job.carried, context, account, job.setup.counter)
    return before, context


def _read(job: Job) -> Context:
    messages = job.messages
    costs = job.costs
    if costs is None:
        costs = job.setup.counter.messages(messages, job.on_progress)
    groups = link_groups(messages, [costs[message.id].tokens for message in messages])
    protected = protection_reasons(messages, groups, pins=job.pins, tail=job.tail)
    if job.setup.codec.user_first:
        protected = with_opening(messages, groups, protected)
    return first_context(
        messages,
        groups,
        costs=costs,
        protected=protected,
        places=job.places,
        overhead=job.setup.overhead.tokens,
    )


def _adapt(job: Job, context: Context, account: Account) -> Context:
    """Let the codec make the repairs its wire demands, and book them."""
    adapted = job.setup.codec.adapt(context.messages, job.originals, protected=context.protected.keys())
    if adapted.refused:
        raise InvalidRequestError(
            "; ".join(f"{name}: {why}" for name, why in list(adapted.refused.items())[:5]),
            path=_path(context.places[next(iter(adapted.refused))]),
            ids=tuple(adapted.refused),
        )
    for reason in dict.fromkeys(adapted.left_out.values()):
        names = [name for name, why in adapted.left_out.items() if why == reason]
        silent = names if reason == "empty" else _reasoning_in(context, frozenset(names))
        account.silent.update(name for name in silent if name not in account.shortened)
        account.leave(names, reason)
        _note_left(context, names, reason, account)
    for repair in adapted.repairs:
        account.note("wire-rule", repair.text, ids=repair.ids)
    if adapted.messages == context.messages:
        return context
    return context.with_messages(adapted.messages, _costs_after(job, context, adapted.messages))


def _note_left(context: Context, names: Sequence[str], reason: str, account: Account) -> None:
    """Say why messages left; what is empty on this wire may be reasoning of another provider."""
    thinking = _reasoning_in(context, frozenset(names)) if reason == "empty" else {}
    if thinking:
        account.note("wire-rule", _REASONING, ids=thinking)
    if rest := [name for name in names if name not in thinking]:
        account.note(reason, LEFT_OUT.get(reason, LEFT_OUT["wire-rule"]), ids=rest)


def _reasoning_in(context: Context, names: Collection[str]) -> dict[str, None]:
    """Give those of some messages that hold nothing but reasoning, in order."""
    messages = (message for message in context.messages if message.id in names and message.parts)
    return {one.id: None for one in messages if all(isinstance(part, Reasoning) for part in one.parts)}


def _path(place: int) -> str:
    return f"messages[{place}]" if place >= 0 else ""


def _costs_after(job: Job, context: Context, messages: tuple[Message, ...]) -> Mapping[str, Cost]:
    known = {message.id: message for message in context.messages}
    changed = [message for message in messages if known.get(message.id) is not message]
    return {**context.costs, **job.setup.counter.messages(changed)}


def _protect_open_step(job: Job, before: Context, context: Context) -> Context:
    """Protect the step that the list ends in only now, since what stood behind it has left."""
    if len(before.messages) == len(context.messages) or job.tail is not None:
        return context
    now = protection_reasons(context.messages, context.groups)
    steps = {name: reason for name, reason in now.items() if reason == "open-step"}
    return replace(context, protected={**steps, **context.protected})


def _check_protected(job: Job, context: Context) -> None:
    """Raise when what must stay is over the budget by itself, before any plugin is called."""
    if job.setup.config.may_redact_protected:
        return
    names = [message.id for message in context.messages if message.id in context.protected]
    if context.overhead + sum(context.costs[name].tokens for name in names) > job.setup.budget.available:
        raise over_budget(context, job.setup.budget, job.setup.rule)


def _run_strategy(job: Job, context: Context, account: Account) -> Context:
    plugin = job.setup.strategy.plugin
    if context.total <= job.setup.budget.available and not plugin.traits.per_turn:
        return context
    key = (plugin.origin, SHIFT)
    if job.stages.get(key) == "off":
        account.calls.append(switched_off(key))
        return host_shift(context, job.setup.budget.available, job.setup.target, account)
    try:
        return _call_guarded(job, job.setup.strategy, SHIFT, context, account)
    except PluginError as error:
        if job.setup.config.on_violation == "error":
            raise
        account.blame(error, "the host's own shift answered in its place")
        return host_shift(context, job.setup.budget.available, job.setup.target, account)


def _run_interceptor(job: Job, step: Step, context: Context, account: Account) -> Context:
    key = (step.plugin.origin, INTERCEPT)
    if job.stages.get(key) == "off":
        account.calls.append(switched_off(key))
        return context
    try:
        return _call_guarded(job, step, INTERCEPT, context, account)
    except PluginError as error:
        if job.setup.config.on_violation == "error":
            raise
        account.blame(error, "it was skipped")
        return context


def _call_guarded(job: Job, step: Step, hook: str, context: Context, account: Account) -> Context:
    """Call a plugin, guard its answer, and keep the books on both."""
    key = (step.plugin.origin, hook)
    built_in = step.plugin.is_built_in
    trace = CallTrace()
    try:
        with _watched(job, step, key, trace) as seconds:
            applied = _answer(job, step, hook, context, account, trace=trace, seconds=seconds)
    except PluginError as error:
        account.calls.append(refused_call(key, trace, error, built_in=built_in))
        raise
    finally:
        tell_field(account, step.plugin.origin, trace)
    account.calls.append(used_call(key, trace, applied, built_in=built_in))
    if not built_in:
        account.deeds[key] = deed_of(applied, context)
    return applied.context


def _watched(job: Job, step: Step, key: PluginKey, trace: CallTrace) -> AbstractContextManager[float | None]:
    """Give the seconds of a call, within the allowance of its turn; built-ins have their usual limit."""
    if step.plugin.is_built_in:
        return nullcontext(None)
    origin, hook = key
    config = job.setup.config
    return job.setup.conduct.watch(
        key,
        turn_of(job.messages, job.tail),
        trace,
        seconds=config.seconds_for(origin.plugin, strategy=hook == SHIFT),
        turn_seconds=config.turn_seconds_for(origin.plugin, strategy=hook == SHIFT),
    )


def _answer(
    job: Job,
    step: Step,
    hook: str,
    context: Context,
    account: Account,
    *,
    trace: CallTrace,
    seconds: float | None,
) -> Applied:
    setup = job.setup
    origin = step.plugin.origin
    request = make_request(
        context,
        room=Room(setup.budget.available, setup.target),
        counter=step.counter,
        plugin=origin.plugin,
        summary=hook == SHIFT,
        settings=step.settings,
        leaves=step.plugin.confined is not None,
    )
    with nullcontext() if step.plugin.is_built_in else gc_resumed():
        answer = setup.caller.call(
            step.plugin,
            hook,
            request,
            step.counter,
            config=setup.config,
            trace=trace,
            scope=setup.scope,
            seconds=seconds,
        )
    confined = step.plugin.confined is not None
    caller = Caller(
        origin,
        hook,
        may_redact=hook == INTERCEPT and setup.config.may_redact(origin.plugin, confined=confined),
        at_input=(origin, hook) in job.stages,
    )
    return guard_answer(
        answer,
        context,
        caller=caller,
        counter=setup.counter,
        budget=setup.budget.available,
        account=account,
    )


def _settle(job: Job, context: Context, account: Account) -> tuple[Context, Encoded | None]:
    """Let the wire have its say on what the plugins made, then bring the count under the budget."""
    while True:
        if account.touched:
            context = _adapt(job, context, account)
        if job.setup.codec.binds_reasoning:
            context = strip_bound_reasoning(
                context,
                account,
                job.setup.counter,
                carried=job.carried,
                since=job.since,
                binding=job.binding,
            )
        context, encoded = _strip_stale(job, context, account)
        context = _recount(job, context)
        if context.total <= job.setup.budget.available:
            return context, encoded
        shifted = final_shift(context, job.setup.budget.available, account)
        if len(shifted.messages) == len(context.messages):
            raise over_budget(context, job.setup.budget, job.setup.rule)
        context = shifted


def _fits_without_stale(job: Job, context: Context) -> bool:
    """Tell whether a conversation is over its budget only for reasoning that cannot be sent any more.

    What a plugin still does may make a prefix again what it was, so this is told where none has to be called.
    """
    called = job.setup.interceptors or job.setup.strategy.plugin.traits.per_turn
    if job.binding is None or called or context.total <= job.setup.budget.available:
        return False
    stripped, _ = _strip_stale(job, context, Account())
    return stripped.total <= job.setup.budget.available


def _strip_stale(job: Job, context: Context, account: Account) -> tuple[Context, Encoded | None]:
    if job.binding is None:
        return context, None
    return strip_stale_reasoning(
        context,
        account,
        job.setup.counter,
        binding=job.binding,
        encode=lambda messages: job.setup.codec.encode(messages, job.originals),
    )


def _recount(job: Job, context: Context) -> Context:
    """Count again whatever is not the very message that was counted at the start."""
    counted = {message.id: message for message in job.messages}
    changed = [message for message in context.messages if counted.get(message.id) is not message]
    if not changed:
        return context
    costs = {**context.costs, **job.setup.counter.messages(changed)}
    tokens = [costs[message.id].tokens for message in context.messages]
    return context.with_messages(context.messages, costs, groups=with_tokens(context.groups, tokens))
