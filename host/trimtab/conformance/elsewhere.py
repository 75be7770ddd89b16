"""A plugin made anew in another process, with another hash seed: what depends on either shows there.

`python -m trimtab.conformance.elsewhere ORDER ANSWERS` is the other process. ORDER is a pickle that this module
wrote, ANSWERS the file it writes: an object with `answers`, or with `unmade` and the reason why there are none.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TypeAlias, cast

from trimtab.conformance.asking import Asker
from trimtab.conformance.corpus import chat_named
from trimtab.conformance.requests import SUBJECT, Case
from trimtab.loading.plugins import make_plugin
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import Origin
from trimtab_worker.answer import answer_values

Answer: TypeAlias = "Mapping[str, object] | None"
"""An edit as JSON values, None where there was none to judge."""

_SEEDS = ("1", "2")


class UnmadeError(Exception):
    """The plugin cannot be made anew in another process; the text says why."""


def edit_values(edit: Edit | None) -> Answer:
    """Give an edit as JSON values, with nothing in an order that means nothing."""
    if edit is None:
        return None
    values = cast("dict[str, dict[str, list[object]]]", json.loads(json.dumps(answer_values(edit))))["edit"]
    return {**values, "shorten": _sorted(values["shorten"]), "relevant": _sorted(values["relevant"])}


def _sorted(values: Sequence[object]) -> list[object]:
    return sorted(values, key=json.dumps)


def answers_elsewhere(subject: object, asker: Asker, cases: Sequence[Case]) -> list[Answer]:
    """Give what a plugin made anew answers to some cases of the corpus, in order.

    Raises UnmadeError when the subject is neither a module that can be imported nor an object that can be pickled.
    """
    order = {
        "subject": _told(subject),
        "hook": asker.hook,
        "settings": dict(asker.settings),
        "offered": sorted(asker.offered),
        "seconds": asker.seconds,
        "cases": [(case.chat.name, case.budget, case.target) for case in cases],
    }
    with TemporaryDirectory() as folder:
        done = _run(Path(folder), order)
    if "unmade" in done:
        raise UnmadeError(str(done["unmade"]))
    return cast("list[Answer]", done["answers"])


def _told(subject: object) -> bytes | str:
    if isinstance(subject, ModuleType):
        return subject.__name__
    try:
        return pickle.dumps(subject)
    except Exception as error:
        raise UnmadeError(f"it cannot be pickled ({type(error).__name__}: {error})") from error


def _run(folder: Path, order: Mapping[str, object]) -> Mapping[str, object]:
    asked, told = folder / "order", folder / "answers"
    asked.write_bytes(pickle.dumps(order))
    seed = next(one for one in _SEEDS if one != os.environ.get("PYTHONHASHSEED"))
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(asked), str(told)],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if not told.exists():
        return {"unmade": f"the other process ended with code {done.returncode}: {done.stderr[-400:]}"}
    return cast("Mapping[str, object]", json.loads(told.read_text("utf-8")))


def _answer(order: Mapping[str, object]) -> dict[str, object]:
    hook = cast("str", order["hook"])
    try:
        subject = _made(cast("bytes | str", order["subject"]))
        plugin = make_plugin(subject, Origin(SUBJECT), hook=hook)
    except Exception as error:
        return {"unmade": f"it cannot be made in another process ({type(error).__name__}: {error})"}
    asker = Asker(
        plugin,
        hook,
        cast("dict[str, object]", order["settings"]),
        frozenset(cast("list[str]", order["offered"])),
        cast("float", order["seconds"]),
    )
    cases = [Case(chat_named(name), *room) for name, *room in cast("list[tuple[str, int, int]]", order["cases"])]
    return {"answers": [edit_values(asker.ask(case).edit) for case in cases]}


def _made(told: bytes | str) -> object:
    return import_module(told) if isinstance(told, str) else pickle.loads(told)


if __name__ == "__main__":
    answer = _answer(pickle.loads(Path(sys.argv[1]).read_bytes()))
    Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
