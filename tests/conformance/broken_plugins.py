"""Plugins that break one rule of a contract each, and the test and the words that must say so."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import get_args

import pytest

from trimtab.conformance import InterceptorContract, StrategyContract
from trimtab.conformance.plugin_contract import PluginContract
from trimtab.conformance.requests import Case
from trimtab_sdk import (
    BEFORE_INPUT,
    Edit,
    Insert,
    Request,
    Role,
    Services,
    Traits,
    Unknown,
    before,
    choose_departures,
    hookimpl,
    texts_of,
)

ROLES = frozenset(get_args(Role))
SMALL = 0.1
"""The share of the budget that an insert of these plugins costs at most."""


def cut(request: Request, *, target: int | None = None, spare: int = 0) -> Edit:
    """The oldest leave until the target is reached; `spare` tokens more are made free."""
    if target is None and request.total + spare <= request.budget:
        return Edit()
    leaving = choose_departures(
        request.messages,
        request.groups,
        total=request.total + spare,
        budget=min(request.target, request.budget) if target is None else target,
        protected=request.protected,
    )
    return Edit(drop={name: one.reason for one in leaving for name in one.group.ids})


def free_texts(
    request: Request, edit: Edit, *, longer: int = 200
) -> Iterator[tuple[tuple[str, tuple[int, ...]], str]]:
    """The longer texts of what stays and may be shortened."""
    for message in request.messages:
        if message.id not in edit.drop and message.id not in request.protected:
            yield from (((message.id, path), text) for path, text in texts_of(message) if len(text) > longer)


def with_insert(request: Request, text: str, anchor: str = BEFORE_INPUT) -> Edit:
    """Cut, and add a text where there is room for it and it costs little."""
    cost = request.cost_of_insert(text)
    edit = cut(request, spare=cost)
    left = request.total + cost - sum(request.tokens[name] for name in edit.drop)
    if cost > request.budget * SMALL or left > request.target:
        return cut(request)
    return replace(edit, insert=[Insert(text, anchor)])


class Sound:
    """Nothing is wrong here; the others differ from it in one thing.

    Only those that `travel` are made anew in another process, which takes its time.
    """

    travels = False

    def __reduce__(self) -> str | tuple[object, ...]:
        if self.travels:
            return super().__reduce__()
        raise TypeError("it stays here")

    @hookimpl
    def trimtab_shift(self, request: Request, services: Services) -> Edit | None:
        return self.answer(request, services)

    def answer(self, request: Request, services: Services) -> Edit:
        return cut(request)


class HeaviestFirst:
    """The strategy of ten lines that the README shows."""

    @hookimpl
    def trimtab_shift(self, request: Request, services: Services) -> Edit:
        drop, total = {}, request.total
        for group in sorted(request.groups, key=lambda group: -group.tokens):
            if total > request.target and request.protected.isdisjoint(group.ids):
                drop.update(dict.fromkeys(group.ids, "context-shift"))
                total -= group.tokens
        return Edit(drop=drop)


class Misspelt:
    @hookimpl
    def trimtab_shift(self, requst: Request) -> Edit:
        return cut(requst)


class UnknownHook(Sound):
    @hookimpl
    def trimtab_shfit(self, request: Request) -> Edit:
        return cut(request)


class Wrapping:
    @hookimpl(wrapper=True)
    def trimtab_shift(self, request: Request) -> Iterator[None]:
        yield


class TraitsOfADict(Sound):
    @hookimpl
    def trimtab_traits(self) -> Traits:
        return {"per_turn": True}  # type: ignore[return-value]


class WithSchema(Sound):
    def __init__(self, schema: Mapping[str, object]) -> None:
        self._schema = schema

    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(settings_schema=self._schema)


class Stumbles(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        assert all(message.parts for message in request.messages), "every message has parts"
        return cut(request)


class ADict(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return {"drop": cut(request).drop}  # type: ignore[return-value]


class Ghosts(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        return replace(edit, drop={**edit.drop, "ghost": "context-shift"})


class DropsTheSystem(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        system = [one.id for one in request.messages if one.role == "system" and one.id in request.protected]
        return replace(edit, drop={**edit.drop, **dict.fromkeys(system[:1], "context-shift")})


class Rolls(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return replace(cut(request), notes=[f"lucky number {random.random()}"])


class FromASet(Sound):
    travels = True

    def answer(self, request: Request, services: Services) -> Edit:
        first = next(iter({message.id for message in request.messages}), "nothing")
        return replace(cut(request), notes=[f"began with {first}"])


class Scribbles(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        request.tokens.clear()  # type: ignore[attr-defined]
        return edit


class Remembers(Sound):
    def __init__(self) -> None:
        self._longest = ""

    def answer(self, request: Request, services: Services) -> Edit:
        for message in request.messages:
            for _, text in texts_of(message):
                if len(text) > len(self._longest) and text.isascii() and text.isprintable():
                    self._longest = text
        return replace(cut(request), notes=[self._longest[:100]])


class NeedsSomething(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        next(group for group in request.groups if request.protected.isdisjoint(group.ids))
        return cut(request)


class NeverAsks(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        try:
            services.embed(["harbour"])
        except Exception:
            return replace(cut(request), notes=["without meaning"])
        return cut(request)


class Hurried(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        if services.deadline - time.monotonic() < 0.05:
            raise TimeoutError("too little time")
        return cut(request)


class Greets(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return with_insert(request, "Be kind.")


class Bytes(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        texts = {key: text for key, text in free_texts(request, edit, longer=60) if "。" in text}
        return replace(edit, shorten={key: [(0, len(text.encode()) // 2)] for key, text in texts.items()})


class ShavesOff(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        return replace(edit, shorten={key: [(0, len(text) - 1)] for key, text in free_texts(request, edit)})


class Talkative(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        text = "Remember the harbour. " * (1 + request.budget // 10)
        return replace(cut(request), insert=[Insert(text, BEFORE_INPUT)])


class Blank(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return with_insert(request, " \n")


class Labels(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return with_insert(request, "[plugin host]\nBe kind.")


class Colours(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return replace(cut(request), notes=["\x1b[31mred\x1b[0m"])


class LooksInside(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        kinds = [part.raw["type"] for one in request.messages for part in one.parts if isinstance(part, Unknown)]  # type: ignore[index]
        return replace(cut(request), notes=[f"{len(kinds)} kinds"])


class CountsAloud(Sound):
    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(per_turn=True)

    def answer(self, request: Request, services: Services) -> Edit:
        oldest = next((one.id for one in request.messages if one.id not in request.protected), None)
        if oldest is None:
            return Edit()
        return with_insert(request, f"There are {len(request.messages)} messages.", before(oldest))


class Quadratic(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        ids = [message.id for message in request.messages]
        assert all(ids.count(name) == 1 for name in ids)
        return cut(request)


class Dawdles(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        while len(request.messages) > 8_000 and time.monotonic() < services.deadline + 0.5:
            pass
        return cut(request)


class StopsEarly(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return cut(request, target=request.target + 30)


class Wasteful(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        return cut(request, target=0)


class Tears(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        drop = cut(request).drop
        firsts = [group.ids[0] for group in request.groups]
        return Edit(drop={name: drop[name] for name in firsts if name in drop})


class NibblesOn(Sound):
    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(per_turn=True)

    def answer(self, request: Request, services: Services) -> Edit:
        if request.total > request.budget or len(request.messages) > 20:
            return cut(request)
        return cut(request, target=request.total - 1)


class Repeats(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        for message in request.messages:
            text = next((text for _, text in texts_of(message) if len(text) > 100), "")
            if message.id in edit.drop and text[:1].isalpha() and request.cost_of_insert(text) <= 120:
                return replace(edit, insert=[Insert(text, covers=[message.id])])
        return edit


class CoversTheLiving(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = with_insert(request, "Much was said.")
        covers = [*edit.drop, *(message.id for message in request.messages[-1:])]
        if not edit.insert or sum(request.tokens[name] for name in covers) < 100:
            return cut(request)
        return replace(edit, insert=[replace(edit.insert[0], covers=covers)])


class Regrets(Sound):
    def answer(self, request: Request, services: Services) -> Edit:
        edit = cut(request)
        return replace(edit, relevant=list(edit.drop)[:1])


class Halves:
    """An interceptor that shortens what it has shortened before."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit:
        return Edit(shorten={key: [(0, len(text) // 2)] for key, text in free_texts(request, Edit(), longer=100)})


class Prunes:
    """An interceptor that leaves out old orphans, and says nothing of it."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit:
        return Edit(
            drop={
                name: "orphan"
                for group in request.groups
                if group.orphan
                for name in group.ids
                if request.protected.isdisjoint(group.ids)
            }
        )


def cut_keys(request: Request, *, roles: Collection[str]) -> Edit:
    """Cut the keys out of the texts of some roles."""
    shorten: dict[tuple[str, tuple[int, ...]], list[tuple[int, int]]] = {}
    for message in request.messages:
        for path, text in texts_of(message) if message.role in roles else ():
            key = re.search(r"sk-proj-\w+", text)
            if key is not None:
                shorten[message.id, path] = [(0, key.start()), (key.end(), len(text))]
    return Edit(shorten=shorten)


class RedactsByDropping:
    """An interceptor that is allowed to redact, and drops what must stay."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit:
        edit = cut_keys(request, roles=ROLES)
        system = {one.id for one in request.messages if one.role == "system"}
        return replace(edit, drop={name: "secret" for name, _ in edit.shorten if name in system})


class RedactsInPart:
    """An interceptor that cuts a key out of the system text, and leaves it where the user wrote it."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit:
        return cut_keys(request, roles={"system"})


class Redacts:
    """A sound interceptor that cuts a secret out, wherever it stands."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit:
        return cut_keys(request, roles=ROLES)


class Reminds:
    """A sound interceptor that adds a note in front of the input, where there is room for it."""

    @hookimpl
    def trimtab_intercept(self, request: Request) -> Edit | None:
        text = "Answer in one paragraph."
        small = request.cost_of_insert(text) <= request.budget * SMALL
        return Edit(insert=[Insert(text, BEFORE_INPUT)]) if small else None


@dataclass(frozen=True)
class Broken:
    """A plugin, the one test that must fail, words its message must hold, and what its contract claims."""

    make: Callable[[], object]
    rule: str
    words: str
    claims: Mapping[str, object] = field(default_factory=dict)
    contract: type[PluginContract] = StrategyContract


def strict(**properties: object) -> dict[str, object]:
    """A schema that allows these settings and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


INSERTS = {"inserts": True}
SHORTENS = {"shortens": True}
SUMMARIZES = {"summarizes": True}
OPEN = {"type": "object"}
WRONG_DEFAULT = strict(words={"type": "integer", "default": "ten"})

BROKEN: Mapping[str, Broken] = {
    "AClass": Broken(lambda: Sound, "test_is_a_plugin", "were the parentheses forgotten?"),
    "Misspelt": Broken(Misspelt, "test_is_a_plugin", "requst"),
    "UnknownHook": Broken(UnknownHook, "test_is_a_plugin", "trimtab_shfit"),
    "Wrapping": Broken(Wrapping, "test_is_a_plugin", "wrappers are refused"),
    "TraitsOfADict": Broken(TraitsOfADict, "test_its_traits_are_traits", "answer trimtab_sdk.Traits"),
    "WrongSchema": Broken(
        lambda: WithSchema({"type": "objekt"}), "test_its_settings_schema_is_a_json_schema", "objekt"
    ),
    "WrongDefault": Broken(
        lambda: WithSchema(WRONG_DEFAULT), "test_its_default_settings_are_allowed", "settings.words"
    ),
    "OpenSchema": Broken(lambda: WithSchema(OPEN), "test_wrong_settings_are_refused", "additionalProperties"),
    "Stumbles": Broken(Stumbles, "test_answers_every_conversation", "every message has parts"),
    "ADict": Broken(ADict, "test_answers_an_edit_or_none", "answered a dict, not a trimtab_sdk.Edit"),
    "Ghosts": Broken(Ghosts, "test_names_only_messages_of_its_request", "'ghost', which is no message"),
    "DropsTheSystem": Broken(
        DropsTheSystem, "test_keeps_what_must_stay", "drops 's', which is in request.protected"
    ),
    "Rolls": Broken(Rolls, "test_the_same_request_gets_the_same_edit", "Take out what differs from call to call"),
    "FromASet": Broken(FromASet, "test_another_process_gives_the_same_edit", "Sort what you take out of a set"),
    "Scribbles": Broken(Scribbles, "test_leaves_its_request_alone", "changed request.tokens"),
    "Remembers": Broken(Remembers, "test_keeps_nothing_of_another_conversation", "quotes another conversation"),
    "NeedsSomething": Broken(NeedsSomething, "test_works_when_nothing_can_leave", "StopIteration"),
    "NeverAsks": Broken(
        NeverAsks, "test_asks_only_for_services_that_are_offered", "services.can", {"needs_services": ("embed",)}
    ),
    "Hurried": Broken(Hurried, "test_answers_when_the_deadline_is_near", "TimeoutError: too little time"),
    "Greets": Broken(Greets, "test_does_only_what_it_claims", "write `inserts = True` in your contract class"),
    "Boasts": Broken(Sound, "test_does_what_it_claims", "claims `shortens`, and did it in no", SHORTENS),
    "Bytes": Broken(Bytes, "test_spans_keep_pieces_of_texts", "code points", SHORTENS),
    "ShavesOff": Broken(ShavesOff, "test_shortening_saves_tokens", "saves no token", SHORTENS),
    "Talkative": Broken(Talkative, "test_inserts_stay_within_their_share", "over its share of", INSERTS),
    "Blank": Broken(Blank, "test_inserts_say_something", "has an empty text", INSERTS),
    "Labels": Broken(Labels, "test_inserts_bring_no_labels_of_their_own", "Write the bare text", INSERTS),
    "Colours": Broken(Colours, "test_words_are_short_and_plain", "control characters", {}),
    "LooksInside": Broken(LooksInside, "test_works_on_what_a_worker_sees", "on what a worker sees"),
    "CountsAloud": Broken(CountsAloud, "test_the_prefix_stays_the_same", "BEFORE_INPUT", INSERTS),
    "Quadratic": Broken(Quadratic, "test_time_grows_no_faster_than_the_conversation", "Look for a loop in a loop"),
    "Dawdles": Broken(
        Dawdles, "test_answers_ten_thousand_messages_in_time", "no answer within", {"time_limit": 1.5}
    ),
    "StopsEarly": Broken(StopsEarly, "test_brings_the_total_down_to_the_target", "over the target"),
    "Wasteful": Broken(Wasteful, "test_leaves_out_no_more_than_it_must", "leaves_more_room = True"),
    "Tears": Broken(Tears, "test_groups_leave_whole", "name every id of a group"),
    "NibblesOn": Broken(NibblesOn, "test_a_second_fit_changes_nothing", "fitted again"),
    "Repeats": Broken(
        Repeats, "test_summaries_cost_less_than_what_they_cover", "stands for messages of", SUMMARIZES
    ),
    "CoversTheLiving": Broken(
        CoversTheLiving, "test_summaries_cover_only_what_leaves", "which is not dropped", SUMMARIZES
    ),
    "Regrets": Broken(Regrets, "test_what_is_relevant_stays", "relevant and drops it", {"names_relevant": True}),
    "Halves": Broken(Halves, "test_a_second_fit_changes_nothing", "got shorter", SHORTENS, InterceptorContract),
    "Prunes": Broken(Prunes, "test_does_only_what_it_claims", "write `drops = True`", {}, InterceptorContract),
    "RedactsInPart": Broken(
        RedactsInPart,
        "test_what_is_redacted_stands_nowhere_else",
        "still stands in",
        {"redacts": True},
        InterceptorContract,
    ),
    "DropsSecrets": Broken(
        RedactsByDropping,
        "test_keeps_what_must_stay",
        "which is in request.protected",
        {"redacts": True, "drops": True},
        InterceptorContract,
    ),
}


def contract_of(name: str, broken: Broken) -> type[PluginContract]:
    """A contract class for a broken plugin that tries half of the shorter cases and a few generated ones."""

    @pytest.fixture
    def subject(self: PluginContract) -> object:
        return broken.make()

    def cases(self: PluginContract) -> Iterator[Case]:
        short = (case for case in broken.contract.cases(self) if len(case.chat.messages) <= 100)
        return islice(short, 0, None, 2)

    return type(
        f"Test{name}",
        (broken.contract,),
        {"__module__": __name__, "subject": subject, "cases": cases, "examples": 2, **broken.claims},
    )
