"""`trimtab new-plugin`: what it makes works at once, and what it cannot make it says."""

from __future__ import annotations

import ast
import errno
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from examples.projects import install_editable, own_tests, project_of
from install.fresh_environment import FreshEnvironment, calls_of, settings
from install.wheels import ROOT
from trimtab.cli import main
from trimtab.cli.new_plugin import name_fault, project_files

TEMPLATE_WORDS = ("my-strategy", "my_strategy", "MyStrategy", "my-interceptor", "my_interceptor", "MyInterceptor")


@pytest.mark.parametrize(("name", "options"), [("demo", ()), ("demo-note", ("--interceptor",))])
def test_what_it_makes_passes_its_own_tests_and_runs_confined(
    environment: FreshEnvironment, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    place = tmp_path / name
    told = environment.trimtab("new-plugin", name, *options, "--dir", place)
    assert told.code == 0, told.err
    install_editable(environment, tmp_path, place)
    ended = own_tests(environment, place)
    assert ended.code == 0, ended.out + ended.err
    assert " passed" in ended.out
    row = environment.rows()[name]
    assert (row["origin"], row["status"]) == ("editable", "ready")
    config = settings(tmp_path, f"interceptors = {[name] if options else []}")
    words = () if options else ("--strategy", name)
    report = environment.fit(*words, "--config", config)
    environment.uninstall(f"trimtab-{name}")
    assert (calls_of(report)[name]["confined"], "rejected" in calls_of(report)[name]) == (True, False)


def test_the_project_stands_in_a_folder_of_its_name_and_the_next_commands_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-plugin", "demo"]) == 0
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert made == ["demo/README.md", "demo/pyproject.toml", "demo/tests/test_demo.py", "demo/trimtab_demo.py"]
    told = capsys.readouterr().out
    assert [line in told for line in ("  cd demo", "pip install -e '.[test]'", "plugins --load demo")] == [
        True
    ] * 3


@pytest.mark.parametrize("kind", ["strategy", "interceptor"])
@pytest.mark.parametrize("name", ["demo", "3d", "a.b-c_d", "x" * 64])
def test_nothing_of_the_templates_name_is_left_and_everything_can_be_read(name: str, kind: str) -> None:
    files = dict(project_files(name, kind))
    said = "\n".join([*files, *files.values()])
    assert [word for word in TEMPLATE_WORDS if word in said] == []
    module = "trimtab_" + name.replace(".", "_").replace("-", "_")
    assert {f"{module}.py", "pyproject.toml", "README.md"} < files.keys()
    trees = {path: ast.parse(text) for path, text in files.items() if path.endswith(".py")}
    assert len(trees) == 2
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == f"trimtab-{name}"
    assert list(project["entry-points"].values()) == [{name: module}]
    assert project["dependencies"] == [f"trimtab>={'.'.join(version('trimtab').split('.')[:2])}"]


def test_the_template_among_the_examples_is_the_one_that_is_copied() -> None:
    for kind in ("strategy", "interceptor"):
        place = ROOT / "examples" / "plugin-template" / kind
        same = dict(project_files(f"my-{kind}", kind))
        assert {path: (place / path).read_text(encoding="utf-8") for path in same} == same
        assert project_of(place)["name"] == f"trimtab-my-{kind}"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Demo", "is no name for a plugin"),
        ("demo-", "is no name for a plugin"),
        ("../demo", "is no name for a plugin"),
        ("a b", "is no name for a plugin"),
        ("x" * 65, "is no name for a plugin"),
        ("dém", "is no name for a plugin"),
        ("trimtab-demo", "leave it out"),
        ("truncate", "taken by Trimtab itself"),
        ("o200k_base", "taken by Trimtab itself"),
        ("sdk", "taken by Trimtab itself"),
        ("worker", "taken by Trimtab itself"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-plugin", name]) == 2
    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_can_be_is_not() -> None:
    assert [name_fault(name) for name in ("demo", "3d", "a.b-c_d", "redact")] == [""] * 4


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    assert main(["new-plugin", "demo", "--dir", str(place)]) == 2
    assert "exists already; nothing was written" in capsys.readouterr().err
    assert [path.name for path in place.iterdir()] == ["notes.txt"]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo").symlink_to(tmp_path / "elsewhere")
    assert main(["new-plugin", "demo", "--dir", str(tmp_path / "demo")]) == 2
    assert not (tmp_path / "elsewhere").exists()


def test_where_nothing_can_be_written_the_reason_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["new-plugin", "demo", "--dir", str(tmp_path / "file" / "demo")]) == 2
    assert "cannot be written: Not a directory" in capsys.readouterr().err


def test_a_disk_that_runs_full_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = Path.write_text

    def write_or_fail(path: Path, text: str, **options: str) -> int:
        if path.name.startswith("test_"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", write_or_fail)
    assert main(["new-plugin", "demo", "--dir", str(tmp_path / "demo")]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
