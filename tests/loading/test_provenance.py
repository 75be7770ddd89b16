from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from loading.sites import OTHER, OWN, STRATEGIES, Wheel, candidates, every_row, refusal, rows
from trimtab.loading.api_gate import api_fault
from trimtab.loading.provenance import files_on_the_way, module_files, own_distribution, own_places
from trimtab.loading.scanning import Folder

RECAP = Wheel()
INFO = RECAP.folder


def project(tree: Path, name: str = "trimtab-recap") -> Path:
    tree.mkdir(parents=True)
    (tree / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    return tree


def test_the_module_of_an_entry_must_stand_in_the_distributions_own_record(tmp_path: Path) -> None:
    replace(RECAP, record=f"{INFO}/METADATA,,\n").put(tmp_path)
    assert "its module recap_one is not among the files that its RECORD lists" in refusal(tmp_path)


def test_a_module_that_the_record_lists_must_be_there(tmp_path: Path) -> None:
    RECAP.put(tmp_path)
    (tmp_path / "recap_one.py").unlink()
    assert "install it again" in refusal(tmp_path)


def test_nobody_can_publish_a_module_of_somebody_else(tmp_path: Path) -> None:
    replace(RECAP, module="json", files={}).put(tmp_path)
    assert "its module json is not among" in refusal(tmp_path)


def test_without_a_record_nothing_is_its_own(tmp_path: Path) -> None:
    (RECAP.put(tmp_path) / "RECORD").unlink()
    assert "it has no RECORD" in refusal(tmp_path)


@pytest.mark.parametrize(
    "spelling",
    [
        "recap_one.py",
        "./recap_one.py",
        "x/../recap_one.py",
        '"recap_one.py"',
        ".//recap_one.py",
        "recap_one.pyc",
        "recap_one/__init__.py",
        f"recap_one.{'cpython-311-x86_64-linux-gnu'}.so"
        if sys.version_info[:2] == (3, 11)
        else "recap_one.abi3.so",
        f"__pycache__/recap_one.{sys.implementation.cache_tag}.pyc",
    ],
)
def test_a_file_that_another_distribution_lists_too_is_nobodys(tmp_path: Path, spelling: str) -> None:
    RECAP.put(tmp_path)
    Wheel(name="shadow", files={}, entry_points="", listed=[spelling]).put(tmp_path)
    assert "the RECORD of shadow lists files of recap_one too" in refusal(tmp_path, trusted=["trimtab-recap"])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_ends_a_line_of_a_record(tmp_path: Path, ending: str) -> None:
    RECAP.put(tmp_path)
    info = Wheel(name="shadow", files={}, entry_points="").put(tmp_path)
    (info / "RECORD").write_bytes(ending.join(["a.py,,", "recap_one.py,,", "b.py,,", ""]).encode())
    assert "the RECORD of shadow" in refusal(tmp_path)


def test_an_absolute_path_in_a_record_hides_nothing(tmp_path: Path) -> None:
    RECAP.put(tmp_path)
    Wheel(name="shadow", files={}, entry_points="", listed=[str(tmp_path / "recap_one.py")]).put(tmp_path)
    assert "shadow" in refusal(tmp_path)


def test_the_packages_on_the_way_to_a_module_count_as_its_files(tmp_path: Path) -> None:
    replace(RECAP, module="pack.deep.one", files={"pack/deep/one.py": ""}).put(tmp_path)
    Wheel(name="shadow", files={}, entry_points="", listed=["pack/__init__.py"]).put(tmp_path)
    assert "the RECORD of shadow lists files of pack.deep.one too" in refusal(tmp_path)


def test_two_distributions_may_share_a_package_without_code_of_its_own(tmp_path: Path) -> None:
    replace(RECAP, module="pack.one", files={"pack/one.py": ""}).put(tmp_path)
    replace(OTHER, module="pack.two", files={"pack/two.py": ""}).put(tmp_path)
    assert {name: row.status for name, row in rows(tmp_path).items()} == {"recap": "ready", "other": "ready"}


def test_a_metadata_folder_that_another_wheel_planted_is_refused_and_so_is_that_wheel(tmp_path: Path) -> None:
    RECAP.put(tmp_path)
    planter = Wheel(name="planter", module="planter_one", entry="plant", listed=[f"{INFO}/METADATA"])
    planter.put(tmp_path)
    assert "its metadata folder is listed in the RECORD of planter" in refusal(tmp_path, trusted=["trimtab-recap"])
    assert "its RECORD lists the metadata folder of trimtab-recap" in refusal(tmp_path, "plant")


@pytest.mark.parametrize("spelling", [f"./{INFO}/RECORD", f'"{INFO}/a,b"', f"a/../{INFO}/METADATA"])
def test_no_spelling_hides_a_planted_metadata_folder(tmp_path: Path, spelling: str) -> None:
    RECAP.put(tmp_path)
    Wheel(name="planter", files={}, entry_points="", listed=[spelling]).put(tmp_path)
    assert "RECORD of planter" in refusal(tmp_path)


def test_a_planter_in_another_folder_of_the_path_is_found(tmp_path: Path) -> None:
    from trimtab.loading.candidates import all_candidates

    near, far = tmp_path / "near", tmp_path / "far"
    OWN.put(near)
    RECAP.put(near)
    Wheel(name="planter", files={}, entry_points="", listed=[f"../near/{INFO}/METADATA"]).put(far)
    faults = {one.name: one.fault for one in all_candidates([str(near), str(far)], None)}
    assert "RECORD of planter" in faults["recap"]
    assert faults["truncate"] == ""


def test_two_distributions_of_one_name_are_both_refused_and_named(tmp_path: Path) -> None:
    OTHER.put(tmp_path)
    RECAP.put(tmp_path)
    replace(RECAP, version="2.0", entry="late").put(tmp_path)
    listing = rows(tmp_path, trusted=["trimtab-recap"])
    assert listing["other"].status == "ready"
    for name in ("recap", "late"):
        assert listing[name].status == "refused"
        assert "trimtab_recap-1.0.dist-info" in listing[name].reason
        assert "trimtab_recap-2.0.dist-info" in listing[name].reason


def test_a_second_one_that_publishes_nothing_counts_too_in_any_spelling(tmp_path: Path) -> None:
    RECAP.put(tmp_path)
    Wheel(name="Trimtab.Recap", version="3", files={}, entry_points="").put(tmp_path)
    assert "more than one distribution has its name" in refusal(tmp_path)


@pytest.mark.parametrize(
    "path", ["trimtab/evil.py", "trimtab_sdk/__init__.py", "trimtab_worker.py", "x/../trimtab/a.py"]
)
def test_who_puts_files_into_trimtabs_own_packages_is_refused_by_name(tmp_path: Path, path: str) -> None:
    place = path if ".." not in path else f"{own_places()[0]}/evil.py"
    replace(RECAP, listed=[place]).put(tmp_path)
    assert "puts files into Trimtab's own packages" in refusal(tmp_path)


def test_an_intruder_that_publishes_nothing_is_listed_too(tmp_path: Path) -> None:
    Wheel(name="quiet", files={}, entry_points="", listed=["trimtab/evil.py"]).put(tmp_path)
    assert "puts files into Trimtab's own packages" in refusal(tmp_path, "quiet")


def test_who_touches_trimtabs_own_metadata_is_an_intruder_and_the_built_ins_stay(tmp_path: Path) -> None:
    replace(RECAP, listed=[f"{OWN.folder}/entry_points.txt"]).put(tmp_path)
    assert "Trimtab's own packages" in refusal(tmp_path)
    (own,) = [row for row in every_row(tmp_path) if row.trust == "built-in"]
    assert (own.name, own.status) == ("truncate", "ready")


@pytest.mark.parametrize("spelled", ["bin/trimtab", "../{site}/bin/trimtab", "./bin//trimtab"])
def test_who_replaces_trimtabs_own_command_is_refused_by_name(tmp_path: Path, spelled: str) -> None:
    site = tmp_path / "lib"
    replace(OWN, listed=["../bin/trimtab"]).put(site)
    way = spelled.format(site=tmp_path.name)
    replace(RECAP, listed=[f"../{way}"]).put(site)
    assert "puts files into Trimtab's own packages or commands" in refusal(site)


def test_a_command_of_its_own_makes_nobody_an_intruder(tmp_path: Path) -> None:
    site = tmp_path / "lib"
    replace(OWN, listed=["../bin/trimtab"]).put(site)
    replace(RECAP, listed=["../bin/trimtab-recap"]).put(site)
    assert rows(site)["recap"].status == "ready"


def test_a_bystander_whose_record_cannot_be_read_is_listed_and_stops_nobody(tmp_path: Path) -> None:
    info = Wheel(name="quiet", files={}, entry_points="").put(tmp_path)
    (info / "RECORD").unlink()
    os.mkfifo(info / "RECORD")
    assert "nobody can tell which files came with it" in refusal(tmp_path, "quiet")


@pytest.mark.parametrize("name", ["recap.pth", "sitecustomize.py", "../site/recap.pth"])
def test_what_runs_in_every_start_of_python_is_told_and_changes_nothing_else(tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    replace(RECAP, listed=[name]).put(site)
    row = rows(site, trusted=["trimtab-recap"])["recap"]
    assert (row.trust, row.status) == ("trusted", "ready")
    assert row.reason == f"it brings {Path(name).name}, which runs in every start of this Python"


def test_an_editable_install_is_found_through_its_pth_file(tmp_path: Path) -> None:
    site, tree = tmp_path / "site", project(tmp_path / "tree")
    (tree / "code").mkdir()
    (tree / "code" / "recap_one.py").write_text("")
    replace(RECAP, files={"_recap.pth": f"import os\n# no\n/elsewhere\n{tree}/code\n"}, editable=tree).put(site)
    row = rows(site, trusted=["trimtab-recap"])["recap"]
    assert (row.origin, row.trust, row.status, row.reason) == ("editable", "trusted", "ready", "")
    assert row.candidate.paths == (os.path.realpath(tree / "code"), os.path.realpath(site))
    assert row.candidate.file == os.path.realpath(tree / "code" / "recap_one.py")


@pytest.mark.parametrize("folder", ["src", "."])
def test_an_editable_install_without_plain_pth_lines_is_found_in_src_or_its_tree(
    tmp_path: Path, folder: str
) -> None:
    site, tree = tmp_path / "site", project(tmp_path / "a tree")
    (tree / folder).mkdir(exist_ok=True)
    (tree / folder / "recap_one.py").write_text("")
    replace(RECAP, files={"x.pth": "import finder; finder.install()\n"}, editable=tree).put(site)
    row = rows(site)["recap"]
    assert (row.trust, row.status, row.candidate.paths) == (
        "unprotected-install",
        "ready",
        (os.path.realpath(tree / folder), os.path.realpath(site)),
    )


def test_a_wheel_cannot_call_any_folder_its_source_tree(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    (home / "recap_one.py").write_text("")
    replace(RECAP, files={}, editable=home).put(site)
    assert "no pyproject.toml there has this project.name" in refusal(site)
    project(tmp_path / "home" / "other", "somebody-else")
    (site / INFO / "direct_url.json").write_text(
        f'{{"url": "{(home / "other").as_uri()}", "dir_info": {{"editable": true}}}}'
    )
    assert "no pyproject.toml there has this project.name" in refusal(site)


@pytest.mark.parametrize("url", ["https://example.org/x", "file://far/away", "file:", "x", "http://[", ""])
def test_an_editable_install_from_no_folder_here_is_refused(tmp_path: Path, url: str) -> None:
    info = RECAP.put(tmp_path)
    (info / "direct_url.json").write_text(f'{{"url": "{url}", "dir_info": {{"editable": true}}}}')
    if url:
        assert "url" in refusal(tmp_path) or "no folder here" in refusal(tmp_path)
    else:
        assert rows(tmp_path)["recap"].candidate.home == "environment"


def test_an_editable_install_is_not_led_out_of_its_tree(tmp_path: Path) -> None:
    site, tree = tmp_path / "site", project(tmp_path / "tree")
    (tmp_path / "recap_one.py").write_text("")
    replace(RECAP, files={"x.pth": f"{tree}/..\n"}, editable=tree).put(site)
    assert "not in its source tree" in refusal(site)


def test_the_files_of_a_module_are_named_in_the_order_python_looks() -> None:
    files = module_files("a.b")
    assert files.index("a/b/__init__.py") < files.index("a/b.py")
    assert {"a/__init__.py", "a.py", "a/b.pyc", f"a/__pycache__/b.{sys.implementation.cache_tag}.pyc"} <= set(
        files_on_the_way("a.b")
    )


def test_trimtab_is_the_distribution_whose_code_runs(tmp_path: Path) -> None:
    honest, forged = tmp_path / "honest", tmp_path / "forged"
    this = honest / "trimtab/loading/provenance.py"
    real = replace(OWN, editable=None, files={"trimtab/loading/provenance.py": ""})
    real.put(honest)
    real.put(forged)
    folders = [Folder(os.path.realpath(site), OWN.folder) for site in (forged, honest)]
    assert own_distribution(folders, str(this)) == folders[1]
    (honest / OWN.folder / "RECORD").write_text("")
    assert own_distribution(folders, str(this)) is None


def test_another_that_calls_itself_trimtab_is_refused_as_a_whole_and_the_built_ins_work(tmp_path: Path) -> None:
    forged = replace(
        OWN, version="9.9", editable=None, entry_points=f"[{STRATEGIES}]\ntruncate = evil\nmore = evil\n"
    )
    forged.put(tmp_path)
    assert "calls itself trimtab" in refusal(tmp_path, "trimtab")
    own = [row for row in every_row(tmp_path) if row.trust == "built-in"]
    assert [(row.name, row.status) for row in own] == [("truncate", "ready")]
    assert not [row for row in every_row(tmp_path) if row.name == "more"]


def test_metadata_of_trimtab_that_name_foreign_code_are_refused(tmp_path: Path) -> None:
    text = f"[{STRATEGIES}]\ntruncate = trimtab_strategies.truncate\nextra = trimtab_strategies_evil\n"
    replace(OWN, entry_points=text).put(tmp_path)
    verdicts = {row.name: row.status for row in every_row(tmp_path)}
    assert verdicts == {"truncate": "ready", "extra": "refused"}


def test_without_trimtabs_own_metadata_nothing_of_others_runs(tmp_path: Path) -> None:
    from trimtab.loading.candidates import all_candidates

    RECAP.put(tmp_path)
    (one,) = all_candidates([str(tmp_path)], None)
    assert "install Trimtab again" in one.fault


def test_the_versions_of_trimtab_that_a_distribution_needs_are_a_gate(tmp_path: Path) -> None:
    replace(RECAP, requires=["rich", "trimtab>=2"]).put(tmp_path)
    assert "it needs trimtab>=2, this is 0.1.0" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("trimtab", True),
        ("trimtab>=0.1,<1", True),
        ("Trimtab[exact] >= 0.1", True),
        ("trimtab<0.1", False),
        ("trimtab==0.1.*; python_version >= '3'", True),
        ("trimtab>=2; python_version < '3'", True),
        ("trimtab>=2; extra == 'full'", True),
        ("trimtab>=2; python_version >= '3'", False),
        ("trimtab-sdk>=99", True),
        ("trimtab >=> 2", False),
        ("trimtab>=2; nonsense == '3'", False),
        ("\x1b???", True),
    ],
)
def test_the_gate_reads_a_requirement_as_an_installer_does(line: str, stands: bool) -> None:
    assert (api_fault(["rich>=99", line], "0.1.0") == "") is stands


def test_a_pre_release_of_trimtab_is_in_the_range_that_names_it() -> None:
    assert api_fault(["trimtab>=0.2a1"], "0.2rc1") == ""


def test_many_entries_and_a_large_record_are_read_once(tmp_path: Path) -> None:
    lines = "".join(f"recap_one/part_{at}.py,sha256=x,1\n" for at in range(50_000))
    names = "".join(f"recap-{at} = recap_one.part_{at}\n" for at in range(500))
    files = {f"recap_one/part_{at}.py": "" for at in range(500)}
    replace(RECAP, files=files, record=lines, entry_points=f"[{STRATEGIES}]\n{names}").put(tmp_path)
    found = [one for one in candidates(tmp_path) if not one.own]
    assert len(found) == 500
    assert all(one.file and not one.fault for one in found)
