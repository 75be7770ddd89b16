"""A fit of a held conversation, with all that an account of it may need."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from trimtab.fitting.account import Cuts
from trimtab.fitting.carrying import Carried
from trimtab.fitting.job import Job
from trimtab.fitting.pipeline import Outcome
from trimtab.fitting.reporting import Whole, make_fit
from trimtab.report import Diagnostic, Fit
from trimtab_sdk.codec import Encoded
from trimtab_sdk.counting import Cost
from trimtab_sdk.messages import Message


class InsertedText(NamedTuple):
    """A text that a plugin added, whose it is, and the ids of the dropped messages it stands for."""

    message: Message
    plugin: str
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldFit:
    """A fit with all that an account of it may need. Nothing in it changes when the conversation goes on.

    - `fit` is the report; its entries are made when somebody looks. `encoded` is what is sent.
    - `messages` are what is sent, in order: cut, repaired for the wire and with the texts of plugins among them.
    - `protected`: id → why a message had to stay. `left`: id → why a message is not sent, with what the fits
      before left out. `cuts`: id → path → the spans that are sent of a text.
    - `carried` is the edit to begin the next fit with. `over` tells that the strategy was due, since the
      conversation was over its budget.
    - `costs`: id → what a message costs as it is sent, or what it would cost whole when it is not.
    - `relevant` are ids that a plugin called so.
    """

    fit: Fit
    messages: tuple[Message, ...]
    encoded: Encoded
    protected: Mapping[str, str]
    left: Mapping[str, str]
    cuts: Mapping[str, Cuts]
    inserted: tuple[InsertedText, ...]
    carried: Carried
    over: bool
    costs: Mapping[str, Cost]
    relevant: frozenset[str] = frozenset()


def make_held_fit(
    job: Job,
    outcome: Outcome,
    *,
    whole: Whole,
    left: dict[str, str],
    notes: tuple[Diagnostic, ...],
    carried: Carried,
) -> HeldFit:
    """Put the fit together; `left` is what the fits before left out. Costs no more than writing the messages."""
    after, account = outcome.after, outcome.account
    encoded = outcome.encoded
    if encoded is None:
        encoded = job.setup.codec.encode(after.messages, job.originals)
    return HeldFit(
        fit=make_fit(job, outcome, whole=whole, notes=notes, encoded=encoded),
        messages=after.messages,
        encoded=encoded,
        protected=after.protected,
        left=ChainMap(account.left, left),
        cuts=account.cuts,
        inserted=_inserted(outcome) if account.inserted else (),
        carried=carried,
        over=outcome.over,
        costs=after.costs,
    )


def _inserted(outcome: Outcome) -> tuple[InsertedText, ...]:
    known = outcome.account.inserted
    return tuple(
        InsertedText(message, known[message.id].origin.plugin, known[message.id].covers)
        for message in outcome.after.messages
        if message.id in known
    )
