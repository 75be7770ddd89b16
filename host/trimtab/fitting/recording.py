"""What the books say of one call of a plugin: a record, field reports of a worker, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.fitting.account import Account, Deed, PluginKey
from trimtab.fitting.cleaning import clean_note
from trimtab.report import PluginCall
from trimtab_sdk.errors import Origin, PluginError, ProtectedContextRemovedError
from trimtab_sdk.messages import plain_text

if TYPE_CHECKING:
    from trimtab.fitting.calling import CallTrace
    from trimtab.fitting.context import Context
    from trimtab.fitting.guard import Applied, Placed

UNSTABLE = "prefix-unstable"


def used_call(plugin: PluginKey, trace: CallTrace, applied: Applied, *, built_in: bool) -> PluginCall:
    """Give the record of a call whose answer was used."""
    return _record(
        plugin,
        trace,
        built_in=built_in,
        dropped=len(applied.dropped),
        shortened=len(applied.cuts),
        inserted=len(applied.inserts),
        insert_tokens=sum(placed.tokens for placed in applied.inserts),
    )


def refused_call(plugin: PluginKey, trace: CallTrace, error: PluginError, *, built_in: bool) -> PluginCall:
    """Give the record of a call that failed or was not made, or whose answer was rejected."""
    restored = error.ids if isinstance(error, ProtectedContextRemovedError) else ()
    return _record(plugin, trace, built_in=built_in, rejected=error.code, restored=restored)


def switched_off(plugin: PluginKey) -> PluginCall:
    """Give the record of a plugin that is called no more, since it broke the prefix too often."""
    origin, hook = plugin
    return PluginCall(origin.plugin, origin.distribution, origin.version, hook, rejected=UNSTABLE)


def _record(
    plugin: PluginKey,
    trace: CallTrace,
    *,
    built_in: bool,
    dropped: int = 0,
    shortened: int = 0,
    inserted: int = 0,
    insert_tokens: int = 0,
    restored: tuple[str, ...] = (),
    rejected: str = "",
) -> PluginCall:
    origin, hook = plugin
    return PluginCall(
        plugin=origin.plugin,
        distribution=origin.distribution,
        version=origin.version,
        hook=hook,
        built_in=built_in,
        confined=trace.confined,
        seconds=trace.seconds,
        dropped=dropped,
        shortened=shortened,
        inserted=inserted,
        insert_tokens=insert_tokens,
        restored=restored,
        rejected=rejected,
        asked=trace.asked,
        output=clean_note(trace.output),
    )


def tell_field(account: Account, origin: Origin, trace: CallTrace) -> None:
    """Note what a confined plugin printed, and which steps of its confinement the platform refused."""
    if trace.refused:
        steps = "; ".join(f"{clean_note(step)}: {clean_note(why)}" for step, why in trace.refused.items())
        account.note(
            "confinement-incomplete", f"the platform refused steps of its confinement: {steps}", origin=origin
        )
    if trace.output:
        account.note("plugin-output", clean_note(trace.output), origin=origin)


def deed_of(applied: Applied, before: Context) -> Deed:
    """Give what a call did to the context `before`, for comparison with what the plugin did the last time."""
    inserts = tuple(
        (plain_text(placed.insert.message), _follower(placed, applied, before)) for placed in applied.inserts
    )
    return Deed(frozenset(applied.dropped), applied.cuts, inserts)


def _follower(placed: Placed, applied: Applied, before: Context) -> str:
    """The id of the message that an insert was meant for, or came to stand in front of; empty at the end."""
    if placed.target:
        return placed.target
    for message in before.messages[placed.edge :]:
        if message.id in before.places and message.id not in applied.dropped:
            return message.id
    return ""
