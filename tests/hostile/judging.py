"""The judge: what is wrong with the aftermath of an attack. It trusts nothing that the attacked process says.

Messages are compared with the judge's own copy, tokens are counted by the published recipe, and labels are looked
for as a reader would see them, whatever characters they are made of.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import judge
import trimtab
from hostile.attack import GOT_IT, NAME, Attack, Mode
from hostile.chat import GROUPS, PINS, PROTECTED, TEXT_SECRET, Chat, chat, next_step, next_turn
from hostile.running import MODEL, Aftermath

MARKER = "[…]"
MOST_MEMORY_MB = 700
MOST_PRINTED = 100_000
# Three before its texts are moved, three more before it is off, and one for each of these changes.
MOST_BREAKS = 8
INSERT_SHARE, ALL_SHARE, LEAST_SUMMARY = 0.15, 0.25, 128
_LABEL = re.compile(
    r"\[(?:summary of earlier messages by )?plugin (?P<plugin>[a-z0-9._-]+)\]\n(?P<body>.*)"
    r"\n\[end of plugin (?P=plugin)\]",
    re.DOTALL,
)
_SEEN_AS_LABEL = re.compile(r"\[\W*(?:end\W+of\W+)?(?:plugin|summary|trimtab)\b")
_LOOKS = str.maketrans("аеорсухіѕԁɡтмυιαονρ", "aeopcyxisdgtmuiaovp")
_OPENING = str.maketrans(dict.fromkeys("［⁅【〔〖⟦⦋❲﹝[", "["))
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def faults(attack: Attack, mode: Mode, seen: Aftermath) -> list[str]:
    """Say what is wrong after an attack; nothing where it was held."""
    found = [*_of_the_process(attack, seen), *_of_the_surroundings(seen)]
    if attack.play == "command":
        return [*found, *_of_the_terminal(seen)]
    if seen.answer is None:
        return [*found, f"the host app gave no answer: {seen.words[-300:]}"]
    results = seen.answer["results"]
    for at, result in enumerate(results):
        found += [
            f"fit {at}: {fault}"
            for fault in _of_a_result(attack, mode, result, _input(attack, seen, at), seen.budget)
        ]
    found += [*_of_the_secrets(results, seen), *_of_the_honest(seen)]
    return [*found, *of_the_turns(attack, results)]


def told(seen: Aftermath) -> str:
    """What the host said of plugins: a line for each remark, error and row of the listing."""
    if seen.answer is None:
        return seen.words
    lines = []
    for result in seen.answer["results"]:
        lines += [f"{result['code']} {result['message']}"] if "code" in result else []
        report = result.get("report", {})
        lines += [f"{one['code']} {one['message']}" for one in report.get("diagnostics", [])]
        lines += [f"insert {one['plugin']} {one['reason']}" for one in report.get("inserted", [])]
    lines += [f"row {row['name']} {row['trust']} {row['status']} {row['reason']}" for row in seen.answer["rows"]]
    return "\n".join(lines)


def _of_the_process(attack: Attack, seen: Aftermath) -> Iterator[str]:
    if seen.code is None:
        yield f"the host app did not end within {attack.within:g} s"
    elif bool(seen.code) != attack.ends:
        yield f"the host app ended with code {seen.code}: {seen.words[-300:]}"
    if seen.peak > MOST_MEMORY_MB:
        yield f"{seen.peak} MiB of memory were used"
    if seen.left:
        yield f"processes were left behind: {seen.left}"
    if attack.play != "command" and seen.words.strip():
        yield f"something was printed: {seen.words[:100]!r}"
    if len(seen.words) > MOST_PRINTED:
        yield f"{len(seen.words)} characters were printed"


def _of_the_surroundings(seen: Aftermath) -> Iterator[str]:
    if seen.heard:
        yield f"somebody was heard by {', '.join(seen.heard)}"
    changed = sorted({name for name, _ in seen.before.items() ^ seen.after.items()})
    if changed:
        yield f"files were made, changed or taken away: {changed[:5]}"
    if GOT_IT in seen.words:
        yield "it printed that it got what it wanted"


def _of_the_terminal(seen: Aftermath) -> Iterator[str]:
    hidden = sorted({f"U+{ord(one):04X}" for one in seen.words if _is_hidden(one) and one != "\n"})
    if hidden:
        yield f"characters that steer a terminal were printed: {hidden}"
    yield from (f"a secret came out: {secret}" for secret in seen.secrets if secret in seen.words)


def _of_the_honest(seen: Aftermath) -> Iterator[str]:
    rows = seen.answer["rows"] if seen.answer is not None else []
    if [row["status"] for row in rows if row["name"] == "honest"] != ["ready"]:
        yield "an honest plugin beside it does not run any more"


def _of_the_secrets(results: object, seen: Aftermath) -> Iterator[str]:
    text = json.dumps(results, ensure_ascii=False)
    if GOT_IT in text:
        yield f"it got what it wanted: {text[text.index(GOT_IT) :][:200]}"
    for secret in seen.secrets:
        place = json.dumps(results[1:] if secret == TEXT_SECRET else results, ensure_ascii=False)  # type: ignore[index]
        if secret in place:
            yield f"a secret came out: {secret}"


def _input(attack: Attack, seen: Aftermath, at: int) -> Chat:
    if attack.play == "scopes":
        return seen.chats[0 if at == 0 else 1]
    more = {"turns": next_turn, "tool loop": next_step}.get(attack.play)
    given = list(seen.chats[0])
    for number in range(1, at + 1) if more else ():
        given += more(number) if more else []
    return given


def _of_a_result(attack: Attack, mode: Mode, result: Mapping[str, Any], given: Chat, room: int) -> Iterator[str]:
    if "code" in result:
        yield from (
            f"a hidden character in an error: {result['message']!a}" for _ in [0] if _hides(result["message"])
        )
        refused = (
            result["code"] in {"PLUGIN_LOAD_FAILED", "INVALID_REQUEST"} or "was not loaded" in result["message"]
        )
        if attack.kind in {"strategy", "interceptor"} and not refused:
            yield f"the fit ended with {result['code']}: {result['message'][:200]}"
        return
    sent, report = result["messages"], result["report"]
    yield from _of_the_report(report, given)
    walk = Walk(given, sent)
    yield from walk.faults
    yield from _of_what_stays(walk, given)
    yield from _of_the_account(walk, report)
    yield from _of_the_tokens(attack, room, sent, report)
    yield from _of_the_inserts(walk, room, sent, report)
    yield from _of_a_rejection(attack, mode, sent, report, given, room)


class Walk:
    """What was sent, beside what was given: which message each one is, or that it is none.

    `same` and `cut` are places in what was given, `inserts` are texts with their plugin.
    """

    def __init__(self, given: Chat, sent: Sequence[object]) -> None:
        self.same: list[int] = []
        self.cut: list[int] = []
        self.inserts: list[tuple[str, str, int]] = []
        self.faults: list[str] = []
        self._given = given
        at = 0
        for place, message in enumerate(sent):
            at = self._step(message, at, place)

    @property
    def here(self) -> list[int]:
        """The places in what was given that were sent."""
        return sorted([*self.same, *self.cut])

    def _step(self, message: object, at: int, place: int) -> int:
        for later in range(at, len(self._given)):
            if message == self._given[later]:
                self.same.append(later)
                return later + 1
        if isinstance(message, dict) and self._is_insert(message, place):
            return at
        for later in range(at, len(self._given)):
            if isinstance(message, dict) and _is_cut(message, self._given[later]):
                self.cut.append(later)
                return later + 1
        self.faults.append(f"altered, doubled, moved or made up: {str(message)[:200]!a}")
        return at

    def _is_insert(self, message: Mapping[str, object], place: int) -> bool:
        text = message.get("content")
        found = _LABEL.fullmatch(text) if isinstance(text, str) and message.get("role") == "system" else None
        if found is None or message.keys() != {"role", "content"}:
            return False
        self.inserts.append((found["plugin"], found["body"], place))
        if _SEEN_AS_LABEL.search(as_seen(found["body"])):
            self.faults.append(f"a text of a plugin looks like a label: {found['body'][:200]!a}")
        return True


def _is_cut(message: Mapping[str, object], whole: Mapping[str, object]) -> bool:
    text, original = message.get("content"), whole.get("content")
    if not isinstance(text, str) or not isinstance(original, str) or MARKER not in text:
        return False
    pattern = ".+".join(re.escape(piece) for piece in text.split(MARKER))
    rest = {key: value for key, value in message.items() if key != "content"}
    return re.fullmatch(pattern, original, re.DOTALL) is not None and rest == {
        key: value for key, value in whole.items() if key != "content"
    }


def as_seen(text: str) -> str:
    """A text as a reader sees it: without what is hidden, one letter for all alike, turned text turned."""
    turned = re.sub(r"\u202e([^\u202c\n]*)", lambda part: part[1][::-1].translate(str.maketrans("[]", "][")), text)
    shown = "".join(
        one for one in unicodedata.normalize("NFKD", turned) if unicodedata.category(one) not in {"Cf", "Mn"}
    )
    return shown.casefold().translate(_LOOKS).translate(_OPENING)


def _of_what_stays(walk: Walk, given: Chat) -> Iterator[str]:
    must = {*PROTECTED[:2], *_last(given)}
    gone = sorted(must - set(walk.same))
    if gone:
        yield f"what is protected is gone or was changed: {gone}"
    for group in [*GROUPS, *_later_groups(given)]:
        there = [at in walk.here for at in group]
        if any(there) and not all(there):
            yield f"the group {group} is split"
        places = [at for at in group if at in walk.here]
        if places and not _is_together(walk, places):
            yield f"something stands inside the group {group}"


def _is_together(walk: Walk, group: Sequence[int]) -> bool:
    """Whether no text of a plugin was sent between the members of a group."""
    order = iter(walk.here)
    sent_at: dict[int, int] = {}
    taken = {place for _, _, place in walk.inserts}
    place = 0
    for at in order:
        while place in taken:
            place += 1
        sent_at[at] = place
        place += 1
    return not any(sent_at[group[0]] < one < sent_at[group[-1]] for one in taken)


def _last(given: Chat) -> list[int]:
    """The current input, and the step that is open."""
    last = max(at for at, one in enumerate(given) if one["role"] == "user")
    return [last, *(range(len(given) - 2, len(given)) if given[-1]["role"] == "tool" else ())]


def _later_groups(given: Chat) -> list[tuple[int, ...]]:
    return [(at - 1, at) for at in range(20, len(given)) if given[at]["role"] == "tool"]


def _of_the_account(walk: Walk, report: Mapping[str, Any]) -> Iterator[str]:
    lists = {name: [entry["index"] for entry in report[name]] for name in ("kept", "excluded", "truncated")}
    every = sorted(place for places in lists.values() for place in places)
    if every != list(range(len(walk._given))):
        yield f"not every message is accounted for once: {every}"
    if sorted(lists["kept"]) != walk.same or sorted(lists["truncated"]) != walk.cut:
        yield "what was sent is not what the report says"
    if [entry.get("plugin") for entry in report["inserted"]] != [plugin for plugin, _, _ in walk.inserts]:
        yield "the report does not name every text of a plugin"


def _of_the_tokens(
    attack: Attack, room: int, sent: list[dict[str, Any]], report: Mapping[str, Any]
) -> Iterator[str]:
    counted = judge.request_tokens(sent)
    # Where a driver was named for its lies, a safe figure stands in the place of what it said.
    named = any(one["code"] == "TOKENIZER_SUSPECT" for one in report["diagnostics"])
    most = room * (2 if named else 1)
    if counted > most:
        yield f"{counted} tokens are sent, {most} are allowed"
    if attack.kind != "tokenizer" and report["tokensAfter"] != counted:
        yield f"{counted} tokens are sent, the report says {report['tokensAfter']}"


def _of_the_inserts(walk: Walk, room: int, sent: list[dict[str, Any]], report: Mapping[str, Any]) -> Iterator[str]:
    costs: dict[str, int] = {}
    for plugin, _, place in walk.inserts:
        costs[plugin] = costs.get(plugin, 0) + judge.message_tokens(sent[place])
    least = LEAST_SUMMARY if any(entry["reason"] == "summary" for entry in report["inserted"]) else 0
    most, everyone = max(INSERT_SHARE * room, least), max(ALL_SHARE * room, least)
    yield from (f"the texts of {plugin} cost {cost} tokens" for plugin, cost in costs.items() if cost > most)
    if sum(costs.values()) > everyone:
        yield f"texts of plugins cost {sum(costs.values())} tokens"
    summaries = sum(entry["tokens"] for entry in report["inserted"] if entry["reason"] == "summary")
    told_of = sum(entry["tokens"] for entry in report["excluded"] if entry["reason"] == "summarized")
    if summaries > told_of:
        yield f"summaries of {summaries} tokens stand for {told_of} tokens"
    gone = [entry["index"] for entry in report["excluded"] if entry["reason"] == "final-budget"]
    kept = [at for at in walk.here if at not in PROTECTED and at < 19]
    if walk.inserts and gone and kept and max(gone) > min(kept):
        yield f"not the oldest was displaced: {gone}"


def _of_the_report(report: Mapping[str, Any], given: Chat) -> Iterator[str]:
    yield from (f"a hidden character in the report: {text[:200]!a}" for text in texts_in(report) if _hides(text))
    longest = max((len(text) for text in texts_in(report)), default=0)
    if longest > 3_000 or len(report["diagnostics"]) > 100:
        yield f"the report has a text of {longest} characters, {len(report['diagnostics'])} remarks"


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def _hides(text: str) -> bool:
    return any(_is_hidden(one) for one in text)


def _is_hidden(one: str) -> bool:
    return unicodedata.category(one) in _HIDDEN


def _of_a_rejection(
    attack: Attack, mode: Mode, sent: list[object], report: Mapping[str, Any], given: Chat, room: int
) -> Iterator[str]:
    rejected = [call for call in report["calls"] if call["plugin"] == NAME and call.get("rejected")]
    if (
        rejected
        and attack.play in {"fit", "scopes", "again"}
        and sent != without_it(given == chat(TEXT_SECRET), room)
    ):
        yield "it was rejected, and the fit is not the one without it"
    made = [call for call in report["calls"] if call["plugin"].startswith(NAME) and call["milliseconds"]]
    if mode == "confined" and not all(call["confined"] for call in made):
        yield "it ran in the host's own process"


@cache
def without_it(secret: bool, room: int) -> list[object]:
    """The conversation fitted without any plugin."""
    given = chat(TEXT_SECRET if secret else "")
    return trimtab.fit(given, model=MODEL, context_limit=room, reserve=0, pins=PINS).messages


def of_the_turns(attack: Attack, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what is wrong with the fits of a conversation together: no prefix that rests, a turn that takes long."""
    sent = [result["messages"] for result in results if "messages" in result]
    if attack.play == "turns" and (breaks := sum(_breaks(sent))) > MOST_BREAKS:
        yield f"the prefix that a provider caches was broken {breaks} times"
    spent = sum(_spent(result) for result in results)
    if attack.play == "tool loop" and spent > 3 * attack.seconds:
        yield f"it took {spent:.1f} s of one turn"


def _breaks(sent: Sequence[Sequence[object]]) -> Iterable[bool]:
    """Whether a request does not begin like the one before, up to the former input."""
    for before, after in pairwise(sent):
        yield after[: len(before) - 2] != before[: len(before) - 2]


def _spent(result: Mapping[str, Any]) -> float:
    calls = result.get("report", {}).get("calls", [])
    return float(sum(call["milliseconds"] for call in calls if call["plugin"] == NAME) / 1000)
