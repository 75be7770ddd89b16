"""Case files: reading them, expanding their short forms, and telling which of them can run."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

from case_formats import HEAD, PROVIDERS, WIRES

Json: TypeAlias = Any
"""A JSON value out of a case file."""
Key: TypeAlias = str | int
"""How a case names a message: by id in `neutral`, by place in the wire formats, the text of the head as HEAD."""

FOLDER = Path(__file__).parent / "cases"
DRIVERS = frozenset(entry.name for entry in entry_points(group="trimtab.providers"))
PRODUCT = frozenset(
    {
        "fit",
        "plugins",
        "turns",
        "http",
        *(f"codec:{wire.codec}" for wire in WIRES.values()),
        *(f"provider:{name}" for name in DRIVERS),
        *(f"cursor:{name}" for name in DRIVERS & {"openai", "gemini"}),
    }
)
STRATEGIES = frozenset({"truncate", "summarize", "vector-recall", "manual"})
KNOWN_KEYS = frozenset(
    {
        "id",
        "title",
        "area",
        "format",
        "needs",
        "messages",
        "messages_b",
        "append",
        "tools",
        "settings",
        "request",
        "active_leaf",
        "raw_json",
        "expect",
        *(wire.head_key for wire in WIRES.values() if wire.head_key),
    }
)
"""The keys that the runner understands; a case with any other would be run only in part."""


@dataclass(frozen=True)
class Case:
    """One case with its short forms expanded. `data` is the whole file."""

    id: str
    file: str
    data: Mapping[str, Json]

    @property
    def format(self) -> str:
        return str(self.data["format"])

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.data["needs"])

    @property
    def has_turns(self) -> bool:
        """Whether it runs through the turns of a chat, not through a fit alone."""
        return "turns" in self.needs

    @property
    def is_http(self) -> bool:
        """Whether it is about what a client sees of the HTTP host."""
        return "http" in self.needs

    @property
    def provider(self) -> str:
        """Whom its turns go to; where it does not say, any provider that gets the whole conversation each time."""
        named = self.data.get("request", self.expect).get("provider", "openai-compatible")
        return str(named)

    @property
    def messages(self) -> list[Json]:
        return list(self.data["messages"])

    @property
    def append(self) -> list[Json]:
        return list(self.data.get("append", ()))

    @property
    def head(self) -> Json:
        """The system text of the head, None when there is none."""
        return self.data.get(WIRES[self.format].head_key)

    @property
    def settings(self) -> Mapping[str, Json]:
        return dict(self.data["settings"])

    @property
    def expect(self) -> Mapping[str, Json]:
        return dict(self.data["expect"])

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(self.expect.get("facts", ()))

    @property
    def is_own(self) -> bool:
        return self.file.startswith("own-")

    def key(self, name: Json) -> Key:
        """Give a name used in the file as a key: in the wire formats a place, also where JSON made it a text."""
        return str(name) if self.format == "neutral" or name == HEAD else int(name)

    def with_data(self, **changes: Json) -> Case:
        """Give the case with some of its keys replaced."""
        return replace(self, data={**self.data, **changes})


def load_cases(folder: Path = FOLDER) -> tuple[Case, ...]:
    """Read every case of a folder, ordered by file name."""
    return tuple(_load(path) for path in sorted(folder.glob("*.json")))


def _load(path: Path) -> Case:
    data = expand(json.loads(path.read_text(encoding="utf-8")))
    return Case(data["id"], path.name, data)


def expand(value: Json) -> Json:
    """Replace every `repeat` and `concat` in a value by the text it stands for."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"repeat"}:
        text, times = value["repeat"]
        return expand(text) * times
    if value.keys() == {"concat"}:
        return "".join(expand(piece) for piece in value["concat"])
    return {key: expand(item) for key, item in value.items()}


def missing(case: Case) -> tuple[str, ...]:
    """Tell what a case needs and the product has not; nothing when it can run."""
    lacking = [need for need in case.needs if need not in PRODUCT]
    strategy = case.settings["strategy"]
    if strategy not in STRATEGIES and "plugins" not in case.needs:
        lacking.append(f"strategy:{strategy}")
    if case.has_turns and case.provider not in PROVIDERS and not any("cursor:" in need for need in lacking):
        lacking.append(f"provider:{case.provider}")
    return tuple(lacking)


def unknown_keys(case: Case) -> frozenset[str]:
    """Give the top-level keys of a case that the runner does not understand."""
    return frozenset(case.data) - KNOWN_KEYS


def dump(value: object) -> str:
    """Write a value as JSON with its own key order: two values with one dump are equal byte for byte."""
    return json.dumps(value, ensure_ascii=True)


def copy_of(value: Json) -> Json:
    """Give a deep copy of JSON data."""
    return copy.deepcopy(value)
