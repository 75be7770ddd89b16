"""Plugins as their authors would publish them, as wheels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from install.wheels import wheel

CLERK_PACKAGE = '''
"""Marks that it was imported, where it may write."""
import os

MARK = {mark!r}
try:
    with open(MARK, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
except OSError:
    pass
'''
CLERK = '''
from trimtab_sdk import AT_GAP, Edit, Insert, Traits, hookimpl, plain_text


class Clerk:
    """Leaves out the oldest and puts their first words in their place, as many as the budget takes."""

    @hookimpl
    def trimtab_traits(self):
        words = {"type": "integer", "minimum": 1}
        return Traits(settings_schema={
            "type": "object", "properties": {"words": words}, "additionalProperties": False
        })

    @hookimpl
    def trimtab_shift(self, request, services):
        texts = {message.id: plain_text(message) for message in request.messages}
        drop, lines, total = {}, [], request.total
        for group in request.groups:
            cost = request.cost_of_insert("\\n".join(lines)) if lines else 0
            if total + cost <= request.target:
                break
            if not request.protected.isdisjoint(group.ids):
                continue
            total -= group.tokens
            drop.update(dict.fromkeys(group.ids, "summarized"))
            first = " ".join(texts[group.ids[0]].split()[: request.settings.get("words", 4)])
            if first and services.count(first) < group.tokens:
                lines.append(first)
        summary = [Insert("\\n".join(lines), AT_GAP, covers=list(drop))] if lines else []
        return Edit(drop=drop, insert=summary, notes=[f"deadline set: {services.deadline > 0}"])


plugin = Clerk()
'''
STAMP = """
from trimtab_sdk import BEFORE_INPUT, Edit, Insert, hookimpl, texts_of


@hookimpl
def trimtab_intercept(request, services):
    shorten = {}
    for message in request.messages:
        for path, text in texts_of(message):
            if message.id not in request.protected and len(text) > 120:
                shorten[message.id, path] = [(0, 80)]
    return Edit(shorten=shorten, insert=[Insert("The desk closes at six.", BEFORE_INPUT)])
"""
OLDEST = """
from trimtab_sdk import Edit, hookimpl
{first}

@hookimpl
def trimtab_shift(request, services):
    drop, notes, total = {{}}, [], request.total
    {inside}
    for group in request.groups:
        if total > request.target and request.protected.isdisjoint(group.ids):
            drop.update(dict.fromkeys(group.ids, "context-shift"))
            total -= group.tokens
    return Edit(drop=drop, notes=notes)
"""


def clerk(folder: Path, *, mark: Path | None = None, requires: tuple[str, ...] = ("trimtab",)) -> Path:
    """The wheel of trimtab-clerk: a strategy with settings that asks the host for counts, and an interceptor.

    Where it may write, importing it adds the number of the process to the file `mark`.
    """
    files = {
        "trimtab_clerk/__init__.py": CLERK_PACKAGE.format(mark=str(mark or folder / "mark")),
        "trimtab_clerk/clerk.py": CLERK,
        "trimtab_clerk/stamp.py": STAMP,
    }
    entries = {
        "strategies": {"clerk": "trimtab_clerk.clerk:plugin"},
        "interceptors": {"stamp": "trimtab_clerk.stamp"},
    }
    return wheel(folder, "trimtab-clerk", files, entries=entries, requires=requires)


def strategy(
    folder: Path,
    name: str,
    *,
    first: str = "",
    inside: str = "pass",
    more: Mapping[str, str] | None = None,
    requires: tuple[str, ...] = (),
) -> Path:
    """The wheel of trimtab-NAME: a strategy that leaves out the oldest, in a module of its own.

    `first` are lines of its module, `inside` is a line of its hook and may add to `notes`, `more` are other files.
    """
    module = f"trimtab_{name}"
    files = {f"{module}.py": OLDEST.format(first=first, inside=inside), **(more or {})}
    return wheel(folder, f"trimtab-{name}", files, entries={"strategies": {name: module}}, requires=requires)
