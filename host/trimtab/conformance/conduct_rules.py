"""How a plugin behaves over several calls: what it changes, what it remembers, what it does to the prefix."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from trimtab.conformance.asking import Asker, Reply
from trimtab.conformance.corpus import Chat, said, talk
from trimtab.conformance.elsewhere import edit_values
from trimtab.conformance.requests import Case, case_at
from trimtab.loading.worker.writing import call_frame
from trimtab_sdk.errors import PluginRejectedError
from trimtab_sdk.request import Request
from trimtab_worker.frames import LENGTH, pack
from trimtab_worker.reading import read_request

_OWN_SHARE = 0.2
_QUICK = 0.03
_QUICK_BY_THE_CLOCK = 0.1
_TICK = 0.0001
SECRET = "The spare key lies under the seventh flowerpot"


def failures(reply: Reply, circumstance: str = "") -> Iterator[str]:
    """Tell that a call raised or was late. An answer that a worker could not carry is no failure of the call."""
    when = f" {circumstance}" if circumstance else ""
    if reply.late:
        yield f"no answer within {reply.seconds:.1f} s{when}"
    if reply.error is not None and not isinstance(reply.error, PluginRejectedError):
        yield f"raised {type(reply.error).__name__}: {reply.error}{when}"


def failures_now(asker: Asker, case: Case, reply: Reply, circumstance: str) -> Iterator[str]:
    """Tell that a call failed in a circumstance, and does not do so otherwise."""
    found = list(failures(reply, circumstance))
    if found and not any(failures(asker.ask(case))):
        yield from found


def changes_by(asker: Asker, case: Case) -> Iterator[str]:
    """Tell what a call changed of its request."""
    request = case.request(hook=asker.hook, settings=asker.settings)
    before = _snapshot(request)
    asker.hand(request)
    after = _snapshot(request)
    yield from (f"the call changed request.{name}" for name in before if before[name] != after[name])


def _snapshot(request: Request) -> dict[str, object]:
    return {
        "messages": copy.deepcopy([_plain(message) for message in request.messages]),
        "groups": list(request.groups),
        "tokens": dict(request.tokens),
        "settings": copy.deepcopy(dict(request.settings)),
    }


def _plain(message: object) -> dict[str, object]:
    slots: Sequence[str] = type(message).__dict__["__slots__"]
    return {name: dict(value) if name == "meta" else value for name in slots for value in [getattr(message, name)]}


def secret_chat() -> Chat:
    """Give a conversation that says something no other one may ever show."""
    return Chat(
        "with a secret", (*talk(15), said("secret", "assistant", f"{SECRET}. " * 40), *talk(6, first=20)[1:])
    )


def leaks_between(asker: Asker, one: Chat, other: Chat) -> Iterator[str]:
    """Tell how the answer to a conversation depends on those asked about before, or quotes one of them."""
    first = edit_values(asker.ask(case_at(one, 0.35)).edit)
    second = edit_values(asker.ask(case_at(other, 0.35)).edit)
    third = edit_values(asker.ask(case_at(one, 0.35)).edit)
    fourth = edit_values(asker.ask(case_at(other, 0.35)).edit)
    if SECRET in json.dumps([first, third]):
        yield f"{one!r}: the answer quotes another conversation: {third!s:.300}"
    if first != third:
        yield f"{one!r}: answered otherwise after another conversation: {first!s:.300} and then {third!s:.300}"
    if second != fourth:
        yield f"{other!r}: answered otherwise the second time: {second!s:.300} and then {fourth!s:.300}"


def as_in_a_worker(asker: Asker, case: Case) -> Request:
    """Give the request of a case as a confined plugin gets it, after its way through a frame."""
    request = case.request(hook=asker.hook, settings=asker.settings)
    frame = call_frame(request, hook=asker.hook, services=asker.offered, deadline=0.0, meta=())
    values: dict[str, object] = json.loads(pack(frame)[LENGTH.size :])
    return read_request(values, cost_of_insert=request.cost_of_insert)


def quickest(asker: Asker, case: Case, *, samples: int = 3) -> Reply:
    """Give the quickest of some calls; the first that failed, if one did."""
    replies = [asker.ask(case) for _ in range(samples)]
    return min(replies, key=lambda reply: (not any(failures(reply)), reply.work, reply.seconds))


def growth(few: Reply, many: Reply) -> float:
    """Tell how many times as long the second call took, 0 when it was quick whatever it did.

    By processor time, which other programs do not disturb; by wall time where most of the work is done by another
    process. The latter is halved, since it is that inexact.
    """
    if many.late:
        return inf
    if many.work >= _OWN_SHARE * many.seconds:
        return many.work / max(few.work, _TICK) if many.work > _QUICK else 0.0
    return many.seconds / max(few.seconds, _TICK) / 2 if many.seconds > _QUICK_BY_THE_CLOCK else 0.0


def new_prefixes(requests: Sequence[Sequence[object]]) -> int:
    """Tell how many of some requests do not begin with the whole of the one before."""
    return sum(list(after[: len(before)]) != list(before) for before, after in pairwise(requests))
