"""The branch of a Claude Code transcript that is the talk as it stands.

Edited prompts and repeated tries leave dead branches behind. The talk is the way from its last message back to
the first. Calls made at the same time fork too: each result hangs on the line of its own call, so of these the way
back passes one only, and the others are put back in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.claude_code_lines import Line
from trimtab_plugins.codecs.reading import shown, wrong
from trimtab_sdk import InvalidRequestError


@dataclass(frozen=True, slots=True)
class Branch:
    """The lines with a message, first to last, and how many were passed over."""

    lines: tuple[Line, ...]
    counts: Counter[str] = field(default_factory=Counter)


def read_branch(talk: Sequence[Line]) -> Branch:
    """Choose the lines; without a uuid anywhere all of them, in their order.

    Raises InvalidRequestError when the links go in a circle, or lead to a line that is not there.
    """
    said = [line for line in talk if line.message is not None]
    if not any(line.uuid for line in said):
        return Branch(tuple(said))
    unlinked = next((line for line in said if not line.uuid), None)
    if unlinked is not None:
        raise wrong(f"{unlinked.path}.uuid", "a text, as other lines have it")
    way = _way_back(talk, said)
    chosen = _with_forks([line for line in way if line.message is not None], said)
    left = len(said) - len(chosen)
    return Branch(tuple(chosen), Counter({"lines of other branches": left} if left else {}))


def _way_back(talk: Sequence[Line], said: Sequence[Line]) -> list[Line]:
    by_uuid = {line.uuid: line for line in talk}
    way: list[Line] = []
    passed: set[str] = set()
    line = _last_leaf(said)
    while True:
        passed.add(line.uuid)
        way.append(line)
        if not line.parent:
            return way[::-1]
        if line.parent in passed:
            raise _circle(line)
        if line.parent not in by_uuid:
            raise InvalidRequestError(
                f"{line.path}.parentUuid names the line {shown(line.parent)}, which is not there; "
                "give the whole transcript",
                path=f"{line.path}.parentUuid",
            )
        line = by_uuid[line.parent]


def _last_leaf(said: Sequence[Line]) -> Line:
    parents = {line.parent for line in said}
    leaf = next((line for line in reversed(said) if line.uuid not in parents), None)
    if leaf is None:
        raise _circle(said[-1])
    return leaf


def _circle(line: Line) -> InvalidRequestError:
    return InvalidRequestError(
        f"{line.path}.parentUuid leads in a circle; break it where the talk begins, with null",
        path=f"{line.path}.parentUuid",
    )


def _with_forks(way: Sequence[Line], said: Sequence[Line]) -> list[Line]:
    """Put back the other lines of an answer, and results of its calls that have none on the way.

    They go where the file has them, but never before the line they belong to.
    """
    spot_of = {line.uuid: at for at, line in enumerate(way)}
    spot_of_answer = {line.answer_id: at for at, line in enumerate(way) if line.answer_id}
    spot_of_call = {call: at for at, line in enumerate(way) for call in _ids_in(line, "tool_use", "id")}
    answered = {call for line in way for call in _ids_in(line, "tool_result", "tool_use_id")}
    beside: dict[int, list[Line]] = {}
    here = 0
    for line in said:
        if line.uuid in spot_of:
            here = spot_of[line.uuid]
            continue
        results = [call for call in _ids_in(line, "tool_result", "tool_use_id") if call not in answered]
        spot = spot_of_call.get(results[0]) if results else spot_of_answer.get(line.answer_id)
        if spot is None:
            continue
        answered.update(results)
        spot_of_call.update((call, spot) for call in _ids_in(line, "tool_use", "id"))
        beside.setdefault(max(spot, here), []).append(line)
    return [line for at, own in enumerate(way) for line in (own, *beside.get(at, ()))]


def _ids_in(line: Line, kind: str, key: str) -> Iterator[str]:
    content = line.message.get("content") if line.message is not None else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind and isinstance(block.get(key), str):
            yield block[key]
