"""Where function calls stand in a conversation, and where their results must stand: directly behind.

A run is a row of assistant messages. The wire sees one turn in it, so all results of its calls follow its last
call, together. System messages go elsewhere on these wires and break no run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.message_kinds import has_call, has_result
from trimtab_sdk import ContentPart, Message, Pairing, Place, ToolCall, pair_calls

SYSTEM_ROLES = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a conversation that hold function calls.

    `callers` are the positions of the calling messages of each run; `home_of` gives for each calling position
    that of the last call of its run.
    """

    callers: tuple[tuple[int, ...], ...]
    home_of: dict[int, int]


def find_runs(messages: Sequence[Message], hosted: Collection[str]) -> Runs:
    """Find the runs; messages whose ids are `hosted` hold calls of the provider's own tools, which are none."""
    runs: list[list[int]] = [[]]
    for position, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            continue
        if message.role != "assistant":
            if runs[-1]:
                runs.append([])
        elif calls_functions(message, hosted):
            runs[-1].append(position)
    callers = tuple(tuple(run) for run in runs if run)
    return Runs(callers, {position: run[-1] for run in callers for position in run})


def calls_functions(message: Message, hosted: Collection[str]) -> bool:
    """Tell whether a message asks for a tool that the caller runs."""
    return message.id not in hosted and has_call(message)


def answers(message: Message) -> bool:
    """Tell whether a message holds a result of a function call; results of hosted tools are the assistant's."""
    return message.role != "assistant" and has_result(message)


def is_mixed(message: Message) -> bool:
    """Tell whether a message holds results and words of the user."""
    return answers(message) and any(isinstance(part, ContentPart) for part in message.parts)


def homes_of(messages: Sequence[Message], pairing: Pairing, runs: Runs) -> dict[int, frozenset[int]]:
    """Give for each answering position the positions that its results must follow; none for an orphan."""
    homes: dict[int, set[int]] = {}
    for (position, _), (call, _) in pairing.call_of.items():
        if call in runs.home_of and answers(messages[position]):
            homes.setdefault(position, set()).add(runs.home_of[call])
    return {position: frozenset(found) for position, found in homes.items()}


def arranged(messages: Sequence[Message], homes: dict[int, frozenset[int]]) -> tuple[list[int], list[int]]:
    """Give the order of positions with all results behind their home, and those of them that stood elsewhere."""
    behind: dict[int, list[int]] = {}
    for position in sorted(homes, key=lambda at: (is_mixed(messages[at]), at)):
        behind.setdefault(max(homes[position]), []).append(position)
    order: list[int] = []
    for position in range(len(messages)):
        if position not in homes:
            order.append(position)
            order += behind.get(position, ())
    return order, _away(messages, behind)


def _away(messages: Sequence[Message], behind: dict[int, list[int]]) -> list[int]:
    spoken = [at for at, message in enumerate(messages) if message.role not in SYSTEM_ROLES]
    place = {position: index for index, position in enumerate(spoken)}
    return [
        position
        for home, positions in behind.items()
        for expected, position in enumerate(positions, start=place[home] + 1)
        if place[position] != expected
    ]


def call_names(messages: Sequence[Message]) -> dict[Place, str]:
    """Give for the place of each tool result the name of the function it answers."""
    names: dict[Place, str] = {}
    for result, (position, index) in pair_calls(messages).call_of.items():
        call = messages[position].parts[index]
        if isinstance(call, ToolCall):
            names[result] = call.name
    return names
