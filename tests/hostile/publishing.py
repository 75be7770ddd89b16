"""Puts an attack where an installer would have put it: a module and its metadata."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hostile.attack import DISTRIBUTION, GROUPS, MODULE, Attack

VERSION = "1.0"
INFO = f"{DISTRIBUTION.replace('-', '_')}-{VERSION}.dist-info"
METADATA = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {VERSION}\n\n"
HONEST = """
import re
from trimtab_sdk import Edit, hookimpl, texts_of

@hookimpl
def trimtab_intercept(request, services):
    shorten = {}
    for message in request.messages:
        for path, text in texts_of(message):
            found = re.search("key-[0-9a-z-]+", text)
            if found:
                shorten[message.id, path] = [(0, found.start()), (found.end(), len(text))]
    return Edit(shorten=shorten, notes=["the honest one ran"])
"""


def publish(attack: Attack, folder: Path, facts: Mapping[str, object]) -> None:
    """Install an attack into `folder`, which may be a site folder or one of a plugin directory."""
    files = {f"{MODULE}.py": attack.code(facts)} if attack.kind != "none" else {}
    files |= {path: filled(text, facts) for path, text in attack.files.items()}
    info = {
        "METADATA": attack.metadata or METADATA,
        "entry_points.txt": attack.entry_points or _entry_points(attack),
        "RECORD": _record(files, attack) if attack.record is None else attack.record,
    }
    write(folder, {**{f"{INFO}/{name}": text for name, text in info.items()}, **files})


def filled(text: str, facts: Mapping[str, object]) -> str:
    """Put the places of an arena into a text: `@canary@` stands for the fact of that name."""
    for name, value in facts.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def publish_honest(folder: Path) -> None:
    """Install an honest interceptor beside it, which takes keys out."""
    write(folder, {"honest_code.py": HONEST})
    info = "trimtab_honest-1.0.dist-info"
    write(
        folder / info,
        {
            "METADATA": METADATA.replace(DISTRIBUTION, "trimtab-honest"),
            "entry_points.txt": "[trimtab.interceptors]\nhonest = honest_code\n",
            "RECORD": f"honest_code.py,,\n{info}/METADATA,,\n{info}/RECORD,,\n",
        },
    )


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts into files of a folder.

    `-> PLACE` makes a link, `| ` a named pipe, `! ` at the beginning a file that everybody may write to.
    """
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            place.symlink_to(text[3:])
        elif text.startswith("| "):
            os.mkfifo(place)
        else:
            place.write_text(text.removeprefix("! "), encoding="utf-8")
            place.chmod(0o666 if text.startswith("! ") else 0o644)


def _entry_points(attack: Attack) -> str:
    names = "".join(f"{name} = {MODULE}\n" for name in (attack.entry, *attack.more_entries))
    return f"[{GROUPS.get(attack.kind, GROUPS['strategy'])}]\n{names}"


def _record(files: Mapping[str, str], attack: Attack) -> str:
    own = [f"{INFO}/{name}" for name in ("METADATA", "entry_points.txt", "RECORD")]
    return "".join(f"{path},,\n" for path in [*files, *attack.listed, *own])
