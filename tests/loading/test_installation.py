from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from trimtab.loading.installation import Environment, Installation, installation, this_environment

RECEIPT = """
[tool]
requirements = [
    { name = "trimtab", extras = ["exact"] },
    { name = "trimtab-recap", specifier = ">=1,<2" },
    { name = "idna", marker = "python_version >= '3'" },
    { name = "trimtab-own", editable = "/home/me/own" },
    { name = "trimtab-built", path = "/home/me/trimtab_built-1.0-py3-none-any.whl" },
]
python = "3.12"
entrypoints = [{ name = "trimtab", install-path = "/home/me/.local/bin/trimtab", from = "trimtab" }]
"""


def environment(prefix: Path, *, virtual: bool = True, has_pip: bool = True) -> Environment:
    prefix.mkdir(exist_ok=True)
    return Environment(prefix, prefix / "bin" / "python", prefix / "lib", virtual=virtual, has_pip=has_pip)


def tool(folder: Path, receipt: str) -> Installation:
    prefix = folder / "trimtab"
    prefix.mkdir()
    (prefix / "uv-receipt.toml").write_text(receipt)
    return installation(environment(prefix, has_pip=False), None)


def test_in_a_virtual_environment_its_own_pip_adds_plugins(tmp_path: Path) -> None:
    found = installation(environment(tmp_path), tmp_path / "plugins")

    assert found.manager == "virtual-environment"
    assert found.add == f"{tmp_path}/bin/python -m pip install NAME"
    assert found.add_confined == (
        f"{tmp_path}/bin/python -m pip install --only-binary :all: --target {tmp_path}/plugins/NAME NAME"
    )
    assert found.notes == ()


def test_an_environment_of_uv_without_pip_is_filled_by_uv(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n")

    found = installation(environment(tmp_path, has_pip=False), tmp_path / "plugins")

    assert found.add == f"uv pip install --python {tmp_path}/bin/python NAME"
    assert f"uv pip install --python {tmp_path}/bin/python --only-binary" in found.add_confined


def test_uv_tool_is_told_again_everything_it_was_told_before(tmp_path: Path) -> None:
    found = tool(tmp_path, RECEIPT)

    assert found.manager == "uv-tool"
    assert shlex.split(found.add) == [
        *("uv", "tool", "install", "trimtab[exact]"),
        *("--with", "trimtab-recap>=1,<2"),
        *("--with", "idna ; python_version >= '3'"),
        *("--with-editable", "/home/me/own"),
        *("--with", "trimtab-built @ file:///home/me/trimtab_built-1.0-py3-none-any.whl"),
        *("--python", "3.12", "--with", "NAME"),
    ]
    assert found.notes == ()


def test_a_trimtab_that_is_itself_editable_stays_so(tmp_path: Path) -> None:
    found = tool(tmp_path, "[tool]\nrequirements = [{ name = 'trimtab', editable = '/home/me/trimtab' }]")

    assert found.add == "uv tool install --editable /home/me/trimtab --with NAME"


def test_an_address_of_the_receipt_is_not_shown_since_it_may_hold_a_password(tmp_path: Path) -> None:
    found = tool(
        tmp_path,
        "[tool]\nrequirements = [{ name = 'trimtab' }, { name = 'recap', git = 'https://me:secret@host/recap' }]",
    )

    assert found.add == "uv tool install trimtab --with recap --with NAME"
    assert "recap came from" in found.notes[0]
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    "receipt", ["", "[tool", "[tool]\nrequirements = 5", "tool = 5", "[tool]\nrequirements = [5]"]
)
def test_a_receipt_that_cannot_be_read_leaves_a_line_to_complete(tmp_path: Path, receipt: str) -> None:
    found = tool(tmp_path, receipt)

    assert found.add == "uv tool install trimtab --with NAME"
    assert found.notes == ("the receipt of uv cannot be read; repeat every --with of before",)


def test_pipx_injects_into_the_environment_by_its_name(tmp_path: Path) -> None:
    prefix = tmp_path / "trimtab-2"
    prefix.mkdir()
    (prefix / "pipx_metadata.json").write_text("{}")

    found = installation(environment(prefix), None)

    assert (found.manager, found.add) == ("pipx", "pipx inject trimtab-2 NAME")
    assert found.add_confined == ""


def test_conda_is_known_by_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()

    found = installation(environment(tmp_path, virtual=False), None)

    assert (found.manager, found.add) == ("conda", f"{tmp_path}/bin/python -m pip install NAME")


def test_a_python_of_the_system_gets_no_plugin_by_pip_but_the_plugin_directory_does(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "EXTERNALLY-MANAGED").write_text("")

    found = installation(environment(tmp_path, virtual=False), tmp_path / "plugins")

    assert (found.manager, found.add) == ("externally-managed", "")
    assert "virtual environment" in found.notes[0]
    assert "--target" in found.add_confined
    assert installation(environment(tmp_path), None).manager == "virtual-environment"


def test_any_other_python_is_the_system_s(tmp_path: Path) -> None:
    found = installation(environment(tmp_path, virtual=False), None)

    assert found.to_dict() == {
        "manager": "system",
        "add": f"{tmp_path}/bin/python -m pip install NAME",
        "addConfined": None,
        "notes": [],
    }


def test_blanks_in_paths_are_quoted_for_the_shell(tmp_path: Path) -> None:
    found = installation(environment(tmp_path / "my env"), tmp_path / "my plugins")

    assert shlex.split(found.add)[0] == f"{tmp_path}/my env/bin/python"
    assert f"{tmp_path}/my plugins/NAME" in shlex.split(found.add_confined)


def test_a_plugin_directory_that_others_may_write_to_is_noted(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    folder.chmod(0o777)

    assert "others may write to" in installation(environment(tmp_path / "env"), folder).notes[0]
    folder.chmod(0o755)
    assert installation(environment(tmp_path / "env"), folder).notes == ()


def test_the_environment_of_this_process_is_where_it_runs() -> None:
    here = this_environment()

    assert (here.prefix, here.python) == (Path(sys.prefix), Path(sys.executable))
    assert here.virtual == (sys.prefix != sys.base_prefix)
    assert (here.stdlib / "os.py").is_file()
