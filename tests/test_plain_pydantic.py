"""Pydantic looks for plugins of its own when a model is made; not when ours are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trimtab.plain_pydantic import no_pydantic_plugins

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import trimtab
trimtab.Config(trusted=["somebody"])
trimtab.load_config()
print(trimtab.fit([{"role": "user", "content": "hello"}], model="gpt-4o").tokens_after, "eavesdrop" in sys.modules)
"""


def run_beside(site: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(site)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pipe_in_place_of_somebodys_metadata_never_stops_the_configuration(tmp_path: Path) -> None:
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    os.mkfifo(info / "entry_points.txt")
    assert run_beside(tmp_path).split()[1] == "False"


def test_a_plugin_of_pydantic_is_not_imported(tmp_path: Path) -> None:
    info = tmp_path / "eavesdrop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: eavesdrop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pydantic]\neavesdrop = eavesdrop:plugin\n")
    (tmp_path / "eavesdrop.py").write_text("raise SystemExit('imported')\n")
    assert run_beside(tmp_path).split()[1] == "False"


def test_the_environment_is_as_before() -> None:
    before = dict(os.environ)
    with no_pydantic_plugins():
        assert os.environ["PYDANTIC_DISABLE_PLUGINS"] == "__all__"
    assert dict(os.environ) == before
