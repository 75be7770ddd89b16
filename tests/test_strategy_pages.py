"""The pages on strategies show what the strategies do today."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from trimtab.config import Config
from trimtab.loading import installed
from trimtab.loading.registry import DEFAULT_REGISTRY

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "strategies"
NAMES = [row.name for row in installed("trimtab.strategies") if row.trust == "built-in"]
SVG = "{http://www.w3.org/2000/svg}"


def script(name: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / name, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def test_the_pictures_are_those_that_the_script_draws(tmp_path: Path) -> None:
    done = script("draw_strategies.py", "--output", tmp_path)

    assert done.returncode == 0, done.stderr
    drawn = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(drawn) == NAMES
    assert [name for name, picture in drawn.items() if picture != (PAGES / f"{name}.svg").read_bytes()] == []


def test_the_pages_show_what_the_commands_print() -> None:
    done = script("renew_output.py", "--check")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_with_other_output_is_told_and_renewed(tmp_path: Path) -> None:
    old = tmp_path / "page.md"
    old.write_text("Before\n\n```console\n$ trimtab models gpt-4o --json\nold\nold\n```\n\nAfter\n")

    assert script("renew_output.py", "--check", old).returncode == 1
    assert "old\nold" in old.read_text()
    assert script("renew_output.py", old).returncode == 0
    assert script("renew_output.py", "--check", old).returncode == 0
    before, shown, after = old.read_text().split("```")
    assert (before, after) == ("Before\n\n", "\n\nAfter\n")
    assert shown.startswith('console\n$ trimtab models gpt-4o --json\n[{"name": ')


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_has_a_page_with_its_picture_an_example_and_its_settings(name: str) -> None:
    text = page(name)
    schema = DEFAULT_REGISTRY.strategy(name, Config()).traits.settings_schema or {}
    properties = schema["properties"]

    assert text.startswith(f"# {name}\n")
    assert f"]({name}.svg)" in text
    assert "```console\n$ trimtab fit " in text
    assert f"[{name}]({name}.md)" in page("README")
    assert isinstance(properties, dict)
    assert [setting for setting in properties if f"`{setting}`" not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_says_in_words_what_it_shows(name: str) -> None:
    root = ElementTree.parse(PAGES / f"{name}.svg").getroot()
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")

    assert title is not None
    assert description is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert f"strategy {name} " in str(title.text)
    words = [str(line.text) for line in root.iter(f"{SVG}text")]
    assert [line for line in words if not line.startswith("budget") and line not in str(description.text)] == []
    assert "prefers-color-scheme:dark" in str(root.findtext(f"{SVG}style"))


@pytest.mark.parametrize("name", NAMES)
def test_the_bars_lie_inside_the_picture_and_do_not_overlap(name: str) -> None:
    root = ElementTree.parse(PAGES / f"{name}.svg").getroot()
    rows: dict[float, list[tuple[float, float]]] = {}
    for bar in root.iter(f"{SVG}rect"):
        x, y, width, height = (float(bar.get(key, "")) for key in ("x", "y", "width", "height"))
        rows.setdefault(round(y + height), []).append((x, x + width))

    edges = [edge for row in rows.values() for bar in row for edge in bar]
    assert min(edges) >= 0
    assert max(edges) <= float(root.get("width", ""))
    upper, lower = sorted(rows)[:2]
    for row in (rows[upper], rows[lower]):
        assert all(left[1] <= right[0] for left, right in pairwise(row))


def test_what_the_pages_link_exists() -> None:
    for path in PAGES.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)", path.read_text(encoding="utf-8")):
            assert (PAGES / target).exists(), f"{path.name} links {target}"
