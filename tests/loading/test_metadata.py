from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loading.sites import OTHER, STRATEGIES, Wheel, candidates, every_row, refusal, rows
from trimtab.loading.candidates import all_candidates
from trimtab.loading.metadata import MAX_ENTRIES, BoundedDistribution, is_distribution, read_entries
from trimtab.loading.reading import UnreadableError, read_bounded, shown
from trimtab.loading.scanning import Folder

FILES = ("entry_points.txt", "METADATA", "RECORD")
READ = (*FILES, "direct_url.json")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def folder(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


def itself(path: Path) -> None:
    path.symlink_to(path)


def plug(path: Path) -> None:
    """A socket of the file system; it is bound from beside it, as such names are short."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


STRANGE = (fifo, device, terminal, folder, nothing, itself, plug)


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("name", READ)
def test_what_is_no_regular_file_is_refused_by_name_without_waiting_for_it(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    info = Wheel().put(tmp_path)
    (info / name).unlink(missing_ok=True)
    make(info / name)
    row = "trimtab-recap" if name == "entry_points.txt" else "recap"
    assert name in refusal(tmp_path, row)


@pytest.mark.parametrize(("name", "size"), [("entry_points.txt", 2**18), ("METADATA", 2**20), ("RECORD", 2**25)])
def test_a_giant_file_is_refused_by_name(tmp_path: Path, name: str, size: int) -> None:
    info = Wheel().put(tmp_path)
    with (info / name).open("ab") as file:
        file.truncate(size + 1)
    row = "trimtab-recap" if name == "entry_points.txt" else "recap"
    assert f"{name} is larger than {size // 1024} KiB" in refusal(tmp_path, row)


def test_a_device_is_not_even_opened_and_a_swapped_file_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("")
    opened: list[str] = []
    regular, real_open = os.stat(tmp_path / "file"), os.open

    def note(path: str, flags: int) -> int:
        opened.append(path)
        return real_open(path, flags)

    monkeypatch.setattr(os, "open", note)
    with pytest.raises(UnreadableError, match="FIFO"):
        read_bounded(str(tmp_path / "fifo"), 100)
    assert opened == []
    monkeypatch.setattr(os, "stat", lambda path: regular)
    with pytest.raises(UnreadableError, match="FIFO"):
        read_bounded(str(tmp_path / "fifo"), 100)
    assert opened == [str(tmp_path / "fifo")]


def test_a_file_at_its_limit_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    assert read_bounded(str(tmp_path / "f"), 100) == b"x" * 100
    assert read_bounded(str(tmp_path / "none"), 100) is None
    with pytest.raises(UnreadableError, match="larger"):
        read_bounded(str(tmp_path / "f"), 99)


@pytest.mark.parametrize("name", ["entry_points.txt", "METADATA"])
def test_what_is_not_utf8_is_refused(tmp_path: Path, name: str) -> None:
    info = Wheel().put(tmp_path)
    (info / name).write_bytes(b"\xff\xfe\0\n" + (info / name).read_bytes())
    row = "trimtab-recap" if name == "entry_points.txt" else "recap"
    assert "is not UTF-8" in refusal(tmp_path, row)


def test_a_line_of_a_record_that_is_not_utf8_names_some_other_file(tmp_path: Path) -> None:
    info = Wheel().put(tmp_path)
    (info / "RECORD").write_bytes(b"\xff\xfe\0,,\r\n" + (info / "RECORD").read_bytes())
    assert rows(tmp_path)["recap"].status == "ready"


def test_entry_points_in_utf16_are_seen_and_refused(tmp_path: Path) -> None:
    Wheel(entry_points=f"[{STRATEGIES}]\nrecap = recap_one\n".encode("utf-16")).put(tmp_path)
    assert "is not UTF-8" in refusal(tmp_path, "trimtab-recap")


@pytest.mark.parametrize("text", [f"[{STRATEGIES}]\nrecap\n", f"[{STRATEGIES}]\n= \n= =\nx\n"])
def test_malformed_entry_points_are_refused_by_the_distributions_name(tmp_path: Path, text: str) -> None:
    Wheel(entry_points=text).put(tmp_path)
    assert "malformed" in refusal(tmp_path, "trimtab-recap")
    assert rows(tmp_path)["trimtab-recap"].kind == "unknown"


def test_more_entry_points_than_anybody_needs_are_refused(tmp_path: Path) -> None:
    lines = [f"recap-{at} = recap_one\n" for at in range(MAX_ENTRIES + 1)]
    Wheel(entry_points=f"[{STRATEGIES}]\n" + "".join(lines)).put(tmp_path)
    assert f"{MAX_ENTRIES + 1} entry points" in refusal(tmp_path, "trimtab-recap")


@pytest.mark.parametrize(
    "name", ["Recap", "re cap", "-recap", "x" * 65, "recap\x1b[31m", "rec\u0430p", "recap\u202e", "re\x00cap"]
)
def test_a_name_that_nobody_can_type_is_refused_and_shown_in_plain_characters(tmp_path: Path, name: str) -> None:
    OTHER.put(tmp_path)
    Wheel(entry=name).put(tmp_path)
    (row,) = [row for row in every_row(tmp_path) if row.distribution == "trimtab-recap"]
    assert row.status == "refused"
    assert "its name is not made of" in row.reason
    assert row.name.isascii()
    assert row.name.isprintable()
    assert rows(tmp_path)["other"].status == "ready"


@pytest.mark.parametrize(
    "value",
    [
        "recap_one:",
        "os;system",
        "recap-one",
        "1recap",
        "recap_one:a b",
        "rec\u0430p_one",
        "a\x1b[31m",
        "x" * 201,
        ".a",
    ],
)
def test_a_value_that_is_no_module_and_attribute_is_refused_and_shown_in_plain_characters(
    tmp_path: Path, value: str
) -> None:
    Wheel(entry_points=f"[{STRATEGIES}]\nrecap = {value}\n").put(tmp_path)
    reason = refusal(tmp_path)
    assert "is no module or module:attribute" in reason
    assert reason.isascii()
    assert reason.isprintable()


def test_extras_and_blanks_of_a_value_do_not_reach_those_who_load_it(tmp_path: Path) -> None:
    Wheel(entry_points=f"[{STRATEGIES}]\nrecap = recap_one : plugin.part [fast]\n").put(tmp_path)
    assert rows(tmp_path)["recap"].candidate.value == "recap_one:plugin.part"


@pytest.mark.parametrize("group", ["trimtab.strategie", " Trimtab.Strategies "])
def test_an_unknown_group_of_ours_is_listed_with_those_that_there_are(tmp_path: Path, group: str) -> None:
    Wheel(group=group).put(tmp_path)
    reason = refusal(tmp_path)
    assert "there is no group" in reason
    assert STRATEGIES in reason


def test_a_name_given_twice_in_one_file_stands_for_neither_object(tmp_path: Path) -> None:
    Wheel(entry_points=f"[{STRATEGIES}]\nrecap = recap_one\nrecap = recap_one:b\n").put(tmp_path)
    found = [row for row in every_row(tmp_path) if row.name == "recap"]
    assert [row.status for row in found] == ["refused", "refused"]
    assert "more than one object" in found[0].reason


def test_the_same_line_twice_is_one_entry(tmp_path: Path) -> None:
    Wheel(entry_points=f"[{STRATEGIES}]\nrecap = recap_one\nrecap = recap_one\n").put(tmp_path)
    assert rows(tmp_path)["recap"].status == "ready"


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("Name: trimtab-honest\nVersion: 1.0\n", "its folder trimtab_recap-1.0.dist-info"),
        ("Name: trimtab-recap\nVersion: 2.0\n", "METADATA says trimtab-recap 2.0"),
        ("Name: trimtab-recap\nName: trimtab-honest\nVersion: 1.0\n", "2 lines Name:"),
        ("Name: trimtab-recap\nVersion: 1.0\nVersion: 1.0\n", "2 lines Version:"),
        ("Version: 1.0\n", "0 lines Name:"),
        ("Name: trimtab-rec\u0430p\nVersion: 1.0\n", "trimtab-rec\\u0430p"),
        ("Name: trimtab-recap\nVersion: new\n", "no version"),
        ("Name: trimtab-recap\x1b[31m\nVersion: 1.0\n", "\\x1b"),
        ("", "METADATA"),
        ("\n\nName: trimtab-recap\nVersion: 1.0\n", "METADATA"),
    ],
)
def test_metadata_that_contradict_their_folder_or_themselves_are_refused(
    tmp_path: Path, metadata: str, reason: str
) -> None:
    Wheel(metadata=metadata).put(tmp_path)
    told = refusal(tmp_path, trusted=["trimtab-recap", "trimtab-honest"])
    assert reason in told
    assert told.isprintable()


def test_a_distribution_whose_folder_has_a_look_alike_name_is_listed_as_a_whole(tmp_path: Path) -> None:
    Wheel(name="trimtab-rec\u0430p").put(tmp_path)
    OTHER.put(tmp_path)
    row = next(row for row in every_row(tmp_path) if row.kind == "unknown")
    assert "\\u0430" in row.name
    assert row.status == "refused"
    assert rows(tmp_path)["other"].status == "ready"


def test_what_is_left_of_a_distribution_of_ours_is_listed_and_other_remains_are_not(tmp_path: Path) -> None:
    (tmp_path / "trimtab_recap-1.0.dist-info").mkdir()
    (tmp_path / "numpy-1.0.dist-info").mkdir()
    assert "neither entry points nor METADATA" in refusal(tmp_path, "trimtab-recap")
    assert set(rows(tmp_path)) == {"trimtab-recap", "other"}


def test_distributions_that_publish_nothing_of_ours_are_no_matter(tmp_path: Path) -> None:
    Wheel(name="pytest-x", entry_points="[pytest11]\nx = y\n", metadata="broken").put(tmp_path)
    Wheel(name="trimtab-helpers", entry_points="", version="2").put(tmp_path)
    assert rows(tmp_path) == {}


def test_an_egg_info_alone_is_refused_and_beside_a_dist_info_it_is_nothing(tmp_path: Path) -> None:
    for name in ("trimtab_old", "trimtab_other"):
        egg = tmp_path / f"{name}.egg-info"
        egg.mkdir()
        (egg / "entry_points.txt").write_text(f"[{STRATEGIES}]\nold = old_one\n")
    assert "installed the old way" in refusal(tmp_path, "old")
    assert set(rows(tmp_path)) == {"old", "other"}


def test_a_distribution_reached_by_two_ways_is_one(tmp_path: Path) -> None:
    site = tmp_path / "lib"
    Wheel().put(site)
    (tmp_path / "lib64").symlink_to(site)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / Wheel().folder).symlink_to(site / Wheel().folder)
    found = all_candidates([str(tmp_path / name) for name in ("lib", "lib64", "more")], None)
    assert [one.name for one in found] == ["recap"]


def test_the_public_way_to_extend_importlib_metadata_reads_everything_bounded(tmp_path: Path) -> None:
    info = Wheel(requires=["trimtab>=0.1", "rich"], editable=tmp_path).put(tmp_path)
    dist = BoundedDistribution(str(info))
    assert (dist.metadata["Name"], dist.version, dist.requires) == (
        "trimtab-recap",
        "1.0",
        ["trimtab>=0.1", "rich"],
    )
    assert [(one.group, one.name, one.value) for one in dist.entry_points] == [(STRATEGIES, "recap", "recap_one")]
    assert dist.origin.dir_info.editable is True
    assert dist.origin.url == tmp_path.as_uri()


def test_names_are_those_of_pep_508_in_ascii() -> None:
    assert all(is_distribution(name) for name in ("a", "trimtab-recap", "A.b_c-1"))
    assert not any(is_distribution(name) for name in ("", "-a", "a-", "a b", "tr\u0456mtab", "a\n", "x" * 129))


def test_outside_words_are_shown_in_plain_characters_and_short() -> None:
    assert shown("plain text") == "plain text"
    assert shown("a\x1b[31m\u202e") == "'a\\x1b[31m\\u202e'"
    assert len(shown("x" * 10_000)) == 80
    assert len(shown("\0" * 10_000)) == 80


LINES = [
    *("[trimtab.strategies]", "recap = recap_one", "Name: trimtab-recap", "Version: 1.0", "x", "", "a = b:c"),
    *("recap_one.py,,", '"recap_one.py",sha256=x,1', "../x,,", "/,,", '"', "trimtab/x.py,,", "x" * 300, "\0,,"),
    *('{"url": "file:///tmp", "dir_info": {"editable": true}}', "{", "[" * 3000, "null", '{"url": 1}'),
]
TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.sampled_from(LINES),
        max_size=6,
    ).map(lambda lines: "\n".join(lines).encode()),
)


@given(data=st.dictionaries(st.sampled_from(READ), TEXTS, min_size=1))
@settings(max_examples=150, deadline=None)
def test_whatever_bytes_stand_in_the_files_the_listing_answers_and_the_others_are_there(
    data: dict[str, bytes],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        site = Path(name)
        OTHER.put(site)
        info = Wheel().put(site)
        for file, content in data.items():
            (info / file).write_bytes(content)
        listing = every_row(site)
    assert [row.status for row in listing if row.name == "other"] == ["ready"]
    assert [row.name for row in listing if row.name == "truncate" and row.status == "ready"] == ["truncate"]
    assert all(
        f"{row.name}{row.distribution}{row.version}".isascii() and row.reason.isprintable() for row in listing
    )


def test_one_that_breaks_in_a_way_nobody_thought_of_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trimtab.loading import candidates as module

    def read(info: Folder) -> object:
        if "recap" in info.name:
            raise MemoryError
        return read_entries(info)

    Wheel().put(tmp_path)
    monkeypatch.setattr(module, "read_entries", read)
    assert "MemoryError" in refusal(tmp_path, "trimtab-recap")


def test_candidates_say_where_the_code_stands(tmp_path: Path) -> None:
    replace(OTHER, module="pack.part", files={"pack/__init__.py": "", "pack/part/__init__.py": ""}).put(tmp_path)
    (one,) = [one for one in candidates(tmp_path) if one.name == "other"]
    site = os.path.realpath(tmp_path)
    assert (one.home, one.paths, one.file) == ("environment", (site,), f"{site}/pack/part/__init__.py")
