"""The room's public names."""

from __future__ import annotations

import subprocess
import sys

from trimtab import continuation


def test_all_lists_public_names_sorted_and_each_is_there() -> None:
    def order(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert continuation.__all__ == sorted(continuation.__all__, key=order)
    assert all(hasattr(continuation, name) for name in continuation.__all__)


def test_every_public_class_and_function_has_a_docstring() -> None:
    named = [getattr(continuation, name) for name in continuation.__all__]
    ours = [one for one in named if getattr(one, "__module__", "").startswith("trimtab.")]
    assert len(ours) > 20
    assert [one for one in ours if not (one.__doc__ or "").strip()] == []


def test_the_room_needs_only_the_standard_library_and_the_sdk() -> None:
    code = (
        "import sys, trimtab_sdk; before = set(sys.modules); import trimtab.continuation\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(roots - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.strip(" []\n").replace("'", "").split(", ")) == {"trimtab"}
