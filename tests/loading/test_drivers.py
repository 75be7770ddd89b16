from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from loading.sites import Wheel, rows
from trimtab.loading.discovery import Candidate, Installed, built_in
from trimtab.loading.drivers import load_driver, load_object
from trimtab_sdk import PluginLoadError

SOURCE = "class Driver:\n    who = __file__\n"
DRIVER = Wheel(group="trimtab.codecs", source=SOURCE)


def install(site: Path, wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Put a trusted driver on the path and give its row; its modules are forgotten after the test."""
    wheel.put(site)
    monkeypatch.syspath_prepend(site)
    parts = wheel.module.split(".")
    for depth in range(len(parts)):
        name = ".".join(parts[: depth + 1])
        monkeypatch.setitem(sys.modules, name, sys)
        monkeypatch.delitem(sys.modules, name)
    (row,) = rows(site, trusted=[wheel.name]).values()
    assert (row.trust, row.status) == ("trusted", "ready"), row.reason
    return row


def put(site: Path, path: str, text: str = "raise SystemExit('the other one ran')\n") -> None:
    (site / path).parent.mkdir(parents=True, exist_ok=True)
    (site / path).write_text(text)


def refuse(row: Installed, match: str) -> None:
    for load in (load_object, load_driver):
        with pytest.raises(PluginLoadError, match=match) as caught:
            load(row)
        assert "the other one ran" not in str(caught.value)


def test_a_trusted_driver_is_loaded_from_the_file_that_was_vetted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = replace(DRIVER, module="box.deep.one", files={"box/__init__.py": "", "box/deep/one.py": SOURCE})
    row = install(
        tmp_path, replace(wheel, entry_points="[trimtab.codecs]\nrecap = box.deep.one:Driver\n"), monkeypatch
    )
    driver = load_driver(row)
    assert getattr(driver, "who", "") == row.candidate.file
    assert load_object(row) is type(driver)


def test_a_module_that_comes_first_on_the_path_is_not_loaded_and_both_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = install(tmp_path / "site", DRIVER, monkeypatch)
    put(tmp_path / "first", "recap_one.py")
    monkeypatch.syspath_prepend(tmp_path / "first")
    refuse(row, "first/recap_one.py")
    refuse(row, "site/recap_one.py was vetted")


def test_a_package_that_comes_first_is_not_loaded_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = replace(DRIVER, module="box.one", files={"box/__init__.py": "", "box/one.py": SOURCE})
    row = install(tmp_path / "site", wheel, monkeypatch)
    put(tmp_path / "first", "box/__init__.py")
    monkeypatch.syspath_prepend(tmp_path / "first")
    refuse(row, "a module box comes first on the path")


def test_a_file_that_nobody_lists_and_that_goes_before_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = install(tmp_path, DRIVER, monkeypatch)
    put(tmp_path, "recap_one/__init__.py")
    refuse(row, "recap_one/__init__.py")


def test_a_part_of_a_shared_package_is_looked_at_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = install(tmp_path / "site", replace(DRIVER, module="box.one", files={"box/one.py": SOURCE}), monkeypatch)
    put(tmp_path / "first", "box/one.py")
    monkeypatch.syspath_prepend(tmp_path / "first")
    refuse(row, "first/box/one.py")


def test_a_module_of_that_name_that_is_loaded_already_is_looked_at_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = install(tmp_path / "site", DRIVER, monkeypatch)
    monkeypatch.setitem(sys.modules, "recap_one", json)
    refuse(row, "json/__init__.py")


def test_a_module_that_puts_another_in_its_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import sys, json\nsys.modules[__name__] = json\n"
    row = install(tmp_path, replace(DRIVER, source=source), monkeypatch)
    refuse(row, "json/__init__.py")


def test_what_was_never_vetted_is_not_loaded() -> None:
    one = Candidate("trimtab.codecs", "json", "json", "stranger", "1.0")
    refuse(Installed("json", "codec", "stranger", "1.0", "trusted", "ready", "", one), "nothing was vetted")


def test_a_built_in_needs_no_file() -> None:
    row = next(row for row in built_in("trimtab.codecs") if row.name == "neutral")
    assert type(load_driver(row)).__name__ == "Neutral"


def test_the_words_of_a_plugins_error_carry_no_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = install(tmp_path, replace(DRIVER, source="raise ValueError('a\\x1b[31m' + 'b' * 10_000)\n"), monkeypatch)
    with pytest.raises(PluginLoadError) as caught:
        load_driver(row)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1_000


def test_a_poisoned_cache_of_stevedore_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path / "site", "poison.py")
    code = """
import json, os, sys
from stevedore import _cache
digest, _ = _cache._hash_settings_for_path(tuple(sys.path))
os.makedirs(_cache._get_cache_dir(), exist_ok=True)
entries = {"trimtab.codecs": [["neutral", "poison", "trimtab.codecs"]]}
with open(os.path.join(_cache._get_cache_dir(), digest), "w") as file:
    json.dump({"groups": entries, "path_values": []}, file)
poisoned = [entry.value for entry in _cache.get_group_all("trimtab.codecs")]
from trimtab.loading.discovery import built_in
from trimtab.loading.drivers import load_driver
row = next(row for row in built_in("trimtab.codecs") if row.name == "neutral")
print(json.dumps([poisoned, type(load_driver(row)).__name__]))
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [["poison"], "Neutral"]
