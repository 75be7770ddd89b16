"""The lines of a Claude Code transcript: which of them are a talk, and how they hang together.

A line has a `uuid` and the `parentUuid` of the line before it. Besides messages there are lines of many other
types; those with a uuid are links of the chain all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab_plugins.codecs.reading import JsonObject, flag_if_any, object_in, read_object, shown, text_in, wrong

TALKERS = frozenset({"user", "assistant", "system"})
"""The types of the lines that hold a message."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `message` is None where it is a link of the chain and nothing else."""

    path: str
    kind: str
    uuid: str
    parent: str
    message: Mapping[str, object] | None
    is_summary: bool = False

    @property
    def answer_id(self) -> str:
        """The id that the lines of one answer share, empty where there is none."""
        value = self.message.get("id") if self.message is not None and self.kind == "assistant" else None
        return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Lines:
    """The lines of the talk in the order of the file, and how many of which kind were passed over."""

    talk: list[Line] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def read_lines(data: object) -> Lines:
    """Read all lines. Raises InvalidRequestError with the path of what is wrong."""
    raws = data if isinstance(data, list) else [data]
    objects = [read_object(raw, f"messages[{at}]") for at, raw in enumerate(raws)]
    aside = _is_subagent_file(objects)
    lines = Lines()
    seen: set[str] = set()
    for at, raw in enumerate(objects):
        line = _read_line(raw, f"messages[{at}]", lines.counts, aside=aside)
        if line is None:
            continue
        if line.uuid in seen:
            lines.counts["lines that stand there twice"] += 1
            continue
        if line.uuid:
            seen.add(line.uuid)
        lines.talk.append(line)
    return lines


def _is_subagent_file(objects: list[JsonObject]) -> bool:
    talk = [raw for raw in objects if "message" in raw]
    return bool(talk) and all(raw.get("isSidechain") is True for raw in talk)


def _read_line(raw: JsonObject, path: str, counts: Counter[str], *, aside: bool) -> Line | None:
    kind = text_in(raw, "type", path)
    if flag_if_any(raw, "isSidechain", path) and not aside:
        counts["lines of sidechains"] += 1
        return None
    uuid, parent = _link(raw, "uuid", path), _link(raw, "parentUuid", path)
    why_not = _why_no_message(raw, kind, path)
    if why_not:
        counts[why_not] += 1
        return Line(path, kind, uuid, parent, None) if uuid else None
    is_summary = flag_if_any(raw, "isCompactSummary", path)
    return Line(path, kind, uuid, parent, object_in(raw, "message", path), is_summary)


def _link(raw: JsonObject, key: str, path: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise wrong(f"{path}.{key}", "a text that is not empty, or null", value)
    return value


def _why_no_message(raw: JsonObject, kind: str, path: str) -> str:
    """The name for a line that says nothing to the model, empty for one that does."""
    if kind not in TALKERS or (kind == "system" and "message" not in raw):
        return f"{shown(kind)} lines"
    if flag_if_any(raw, "isApiErrorMessage", path):
        return "error lines"
    if flag_if_any(raw, "isMeta", path) and not _holds_result(raw):
        return "meta lines"
    return ""


def _holds_result(raw: JsonObject) -> bool:
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)
