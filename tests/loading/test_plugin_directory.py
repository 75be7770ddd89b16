from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from loading.sites import OWN, Wheel, every_row, refusal, rows
from trimtab.config import Config
from trimtab.loading import scanning
from trimtab.loading.discovery import find, installed
from trimtab_sdk import ConfigError

RECAP = Wheel()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "plugins").mkdir()
    return tmp_path / "plugins"


def test_each_folder_is_looked_into_and_what_stands_there_runs_confined_from_there(
    site: Path, directory: Path
) -> None:
    RECAP.put(directory / "recap")
    row = rows(site, directory)["recap"]
    assert (row.origin, row.trust, row.status, row.reason) == ("directory", "confined", "ready", "")
    assert row.candidate.paths == (os.path.realpath(directory / "recap"),)
    assert row.candidate.file == os.path.realpath(directory / "recap" / "recap_one.py")


def test_nothing_there_can_be_trusted_and_the_listing_says_so(site: Path, directory: Path) -> None:
    RECAP.put(directory / "recap")
    row = rows(site, directory, trusted=["trimtab-recap"])["recap"]
    assert (row.trust, row.status) == ("confined", "ready")
    assert "nothing in a plugin directory can be trusted" in row.reason


def test_a_driver_there_is_refused(site: Path, directory: Path) -> None:
    replace(RECAP, group="trimtab.codecs").put(directory / "recap")
    reason = refusal(site, directory=directory, trusted=["trimtab-recap"])
    assert "nothing in a plugin directory can be trusted" in reason


def test_a_pth_file_there_is_no_matter_as_it_never_runs(site: Path, directory: Path) -> None:
    replace(RECAP, listed=["recap.pth"]).put(directory / "recap")
    assert rows(site, directory)["recap"].reason == ""


def test_it_takes_no_name_from_the_environment(site: Path, directory: Path) -> None:
    RECAP.put(site)
    replace(RECAP, entry="mine").put(directory / "recap")
    assert "more than one distribution has its name" in refusal(site, "mine", directory, trusted=["trimtab-recap"])
    row = rows(site, directory, trusted=["trimtab-recap"])["recap"]
    assert (row.trust, row.status) == ("trusted", "ready")


def test_two_folders_with_one_distribution_are_both_refused(site: Path, directory: Path) -> None:
    RECAP.put(directory / "one")
    replace(RECAP, entry="again").put(directory / "two")
    for name in ("recap", "again"):
        assert "more than one distribution" in refusal(site, name, directory)


def test_a_copy_of_trimtab_that_came_along_is_told_of_and_never_used(site: Path, directory: Path) -> None:
    RECAP.put(directory / "recap")
    files = {"trimtab/loading/provenance.py": "", "trimtab_sdk/__init__.py": ""}
    replace(OWN, version="0.1.1", editable=None, files=files).put(directory / "recap")
    assert "it is never used" in refusal(site, "trimtab", directory)
    assert rows(site, directory)["recap"].status == "ready"


def test_what_was_installed_into_the_directory_itself_is_refused_with_the_right_command(
    site: Path, directory: Path
) -> None:
    RECAP.put(directory)
    reason = refusal(site, directory=directory)
    assert "pip install --only-binary :all: --target" in reason
    assert f"{directory}/trimtab-recap trimtab-recap" in reason


def test_an_editable_install_there_is_judged_by_its_record(site: Path, directory: Path) -> None:
    tree = directory.parent / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").write_text('[project]\nname = "trimtab-recap"\n')
    (tree / "recap_one.py").write_text("")
    replace(RECAP, files={}, editable=tree).put(directory / "recap")
    assert "is not among the files that its RECORD lists" in refusal(site, directory=directory)


def test_plain_files_and_empty_folders_there_are_no_matter(site: Path, directory: Path) -> None:
    (directory / "notes.txt").write_text("")
    (directory / "empty").mkdir()
    os.mkfifo(directory / "fifo")
    assert rows(site, directory) == {}


def test_a_directory_that_is_not_there_is_an_error_of_the_configuration_and_spares_the_built_ins(
    tmp_path: Path,
) -> None:
    config = Config(plugin_directory=tmp_path / "gone")
    with pytest.raises(ConfigError, match="plugin directory"):
        installed(config=config)
    own = find("trimtab.strategies", "truncate", config=config)
    assert own is not None
    assert own.status == "ready"


def test_more_folders_or_distributions_than_anybody_has_are_told_of(
    site: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "MAX_FOLDERS", 2)
    monkeypatch.setattr(scanning, "MAX_DISTRIBUTIONS", 3)
    for at in range(3):
        replace(RECAP, name=f"recap-{at}", module=f"recap_{at}", entry=f"recap-{at}").put(directory / str(at))
        Wheel(name=f"quiet-{at}", files={}, entry_points="").put(site)
    unknown = [row.reason for row in every_row(site, directory) if row.kind == "unknown"]
    assert any("1 more folders of" in reason for reason in unknown)
    assert any("1 more distributions in" in reason for reason in unknown)


def test_blocking_works_there_too(site: Path, directory: Path) -> None:
    RECAP.put(directory / "recap")
    assert rows(site, directory, blocked=["trimtab-recap"])["recap"].status == "blocked"
