from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.reading import Form
from trimtab.cli.writing import UnwritableOutputError, json_pieces, write_file

texts = st.text(max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(value=st.lists(values, max_size=4) | st.dictionaries(texts, values, max_size=4))
def test_pieces_are_what_json_itself_would_write(value: object) -> None:
    def written(*, indented: bool, spaced: bool) -> str:
        return "".join(json_pieces(value, Form("list", indented=indented, spaced=spaced)))

    assert written(indented=True, spaced=True) == json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    assert written(indented=False, spaced=True) == json.dumps(value, ensure_ascii=False) + "\n"
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert written(indented=False, spaced=False) == compact + "\n"


def test_lines_hold_one_message_each() -> None:
    lines = "".join(json_pieces([{"role": "user"}, {"role": "tool"}], Form("lines", spaced=False)))

    assert lines == '{"role":"user"}\n{"role":"tool"}\n'


def test_half_a_surrogate_pair_goes_out_as_the_escape_it_was(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    message = json.loads('["\\ud83d é 😀"]')

    write_file(str(path), json_pieces(message, Form("list")))

    assert path.read_bytes() == '["\\ud83d é 😀"]\n'.encode()
    assert json.loads(path.read_bytes()) == message


def test_a_file_is_replaced_with_its_permissions_kept(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text("old")
    path.chmod(0o640)

    write_file(str(path), ["new"])

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["chat.json"]


def test_a_new_file_has_the_permissions_the_process_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")

    write_file(str(tmp_path / "chat.json"), ["new"])

    assert (tmp_path / "chat.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")

    write_file(str(tmp_path / "link"), ["new"])

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_file(os.devnull, ["gone"])

    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_failure_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "x" * 3_000_000
        raise RecursionError

    path = tmp_path / "chat.json"
    path.write_text("old")

    with pytest.raises(RecursionError):
        write_file(str(path), pieces())

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["chat.json"]


@pytest.mark.parametrize("place", ["", "nowhere/chat.json", "file/chat.json"])
def test_a_place_that_takes_no_file_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UnwritableOutputError, match="cannot be written") as caught:
        write_file(str(tmp_path / place), ["new"])

    assert caught.value.code == "INVALID_REQUEST"
    assert caught.value.details == {"file": str(tmp_path / place)}
    assert os.listdir(tmp_path) == ["file"]
