from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from cli.chats import Json, chat, list_file
from cli.making import entry, fit_of
from cli.running import Ended, run, run_here
from timeless import timeless
from trimtab.api import fit
from trimtab.cli.compare import Comparison
from trimtab.cli.compare_report import figures, inserted_texts, kept_alone, print_comparison
from trimtab.cli.screen import console_for
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab.report import Diagnostic, Fit, PluginCall
from trimtab_plugins.tokenizers.openai import O200kBase
from trimtab_sdk import Edit, Insert, Request, Traits, hookimpl
from trimtab_sdk.errors import Origin, PluginCrashedError, TrimtabError

TIGHT = ("--model", "gpt-4o", "--limit", "600", "--reserve", "100")
TOO_MUCH = [{"role": "system", "content": "rule " * 500}, {"role": "user", "content": "hi"}]


class Quoting:
    """Drops all that may leave and quotes it."""

    @hookimpl
    def trimtab_traits(self) -> Traits:
        return Traits(settings_schema={"type": "object", "properties": {"words": {"type": "integer"}}})

    @hookimpl
    def trimtab_shift(self, request: Request) -> Edit:
        drop = {name: "context-shift" for name in request.tokens if name not in request.protected}
        words = request.settings.get("words", 3)
        return Edit(drop=drop, insert=[Insert(f"They said {words} words.\nAnd more.", covers=list(drop))])


class Crashing:
    @hookimpl
    def trimtab_shift(self, request: Request) -> Edit:
        raise ValueError("no idea")


@contextmanager
def registered(**strategies: object) -> Iterator[None]:
    clean_ups = [DEFAULT_REGISTRY.register(name, strategy) for name, strategy in strategies.items()]
    try:
        yield
    finally:
        for clean_up in clean_ups:
            clean_up()


def compared(folder: Path, *args: str, messages: object | None = None, **strategies: object) -> Ended:
    with registered(**strategies):
        return run_here("fit", list_file(folder, messages), *TIGHT, "--compare", *args)


def crash() -> TrimtabError:
    return PluginCrashedError("raised ValueError: no idea", origin=Origin("crashing"))


def printed(
    fits: Mapping[str, Fit], errors: Mapping[str, TrimtabError] | None = None, *, show_all: bool = False
) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    words: list[object] = [{"role": "user", "content": f"words of message {at}"} for at in range(50)]
    print_comparison(console_for(stream), Comparison(fits, errors or {}), words, show_all=show_all)
    stream.seek(0)
    return stream.read()


def test_every_ready_strategy_stands_in_a_column_with_its_figures(tmp_path: Path) -> None:
    names = DEFAULT_REGISTRY.strategy_names()

    ended = run("fit", list_file(tmp_path), *TIGHT, "--compare", env={"COLUMNS": "300"})

    alone = fit(chat(), model="gpt-4o", context_limit=600, reserve=100)
    rows = {line.split("  ")[0]: line.split()[-len(names) :] for line in ended.out.splitlines() if line}
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[2].split() == list(names)
    column = [rows[label][names.index("truncate")] for label in ("tokens", "messages kept", "left out")]
    assert column == [str(alone.tokens_after), str(len(alone.kept)), str(len(alone.excluded))]


def test_json_is_the_report_that_each_strategy_gives_alone(tmp_path: Path) -> None:
    told = json.loads(compared(tmp_path, "--json").out)

    assert list(told) == ["strategies"]
    assert list(told["strategies"]) == list(DEFAULT_REGISTRY.strategy_names())
    for name, report in told["strategies"].items():
        alone = fit(chat(), model="gpt-4o", context_limit=600, reserve=100, strategy=name)
        assert timeless(report) == timeless(alone.to_dict())


def test_a_strategy_that_fails_shows_its_code_while_others_fit(tmp_path: Path) -> None:
    plain, for_programs = (
        compared(tmp_path, crashing=Crashing()),
        compared(tmp_path, "--json", crashing=Crashing()),
    )

    assert (plain.code, for_programs.code, plain.err) == (0, 0, "")
    assert "crashing       [PLUGIN_CRASHED]" in plain.out
    assert "crashing: error [PLUGIN_CRASHED]: plugin crashing" in plain.out
    told = json.loads(for_programs.out)["strategies"]
    assert told["crashing"]["code"] == "PLUGIN_CRASHED"
    assert told["truncate"]["tokensAfter"] > 0


def test_what_a_strategy_inserted_is_quoted(tmp_path: Path) -> None:
    out = compared(tmp_path, quoting=Quoting()).out

    assert "inserted by quoting, " in out
    assert "\n  They said 3 words.\n  And more.\n" in out
    assert "[end of plugin" not in out


def test_a_setting_goes_to_the_strategies_that_know_it(tmp_path: Path) -> None:
    out = compared(tmp_path, "--set", "words=7", "--set", "shorten_messages=true", quoting=Quoting()).out

    assert "They said 7 words." in out
    assert "error" not in out


def test_a_wrong_setting_fails_only_the_strategies_that_know_it(tmp_path: Path) -> None:
    told = json.loads(compared(tmp_path, "--json", "--set", 'words="x"', quoting=Quoting()).out)["strategies"]

    assert told["quoting"]["code"] == "INVALID_REQUEST"
    assert told["truncate"]["strategy"] == "truncate"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("--out", "fitted.json"), "leave out --out"),
        (("--out", "-"), "leave out --out"),
        (("--strategy", "truncate"), "leave out --strategy"),
        (("--set", "nonsense=1"), "no strategy knows the setting nonsense"),
    ],
)
def test_what_a_comparison_has_no_use_for_is_a_usage_error(
    tmp_path: Path, args: tuple[str, ...], named: str
) -> None:
    ended = compared(tmp_path, *args)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error [USAGE]: ")
    assert named in ended.err
    assert not Path("fitted.json").exists()


def test_when_nothing_fits_it_ends_as_a_fit_does(tmp_path: Path) -> None:
    ended = compared(tmp_path, messages=TOO_MUCH)

    alone = run_here("fit", list_file(tmp_path, TOO_MUCH), *TIGHT)
    assert (ended.code, ended.out, ended.err) == (3, "", alone.err)


def test_when_nothing_fits_json_is_an_error_with_that_of_each_strategy(tmp_path: Path) -> None:
    ended = compared(tmp_path, "--json", messages=TOO_MUCH)

    told = json.loads(ended.out)
    alone = json.loads(run_here("fit", list_file(tmp_path, TOO_MUCH), *TIGHT, "--json").out)
    assert (ended.code, ended.err) == (3, "")
    assert {key: told[key] for key in alone} == alone
    assert set(told["strategies"]) == set(DEFAULT_REGISTRY.strategy_names())
    assert all(error == alone for error in told["strategies"].values())


def test_bad_input_is_told_once(tmp_path: Path) -> None:
    ended = compared(tmp_path, "--format", "nonsense")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("error [UNKNOWN_FORMAT]") == 1


def test_each_text_is_counted_once_for_all_strategies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    real = O200kBase.count

    def count(self: O200kBase, text: str) -> int:
        counted.append(text)
        return real(self, text)

    monkeypatch.setattr(O200kBase, "count", count)
    messages = [{"role": "user", "content": "only here, in this very test"}]

    run_here("fit", list_file(tmp_path, messages), "--model", "gpt-4o", "--compare")

    assert counted.count("only here, in this very test") == 1


def test_reasons_stand_below_their_number_of_messages() -> None:
    rows = figures(
        {
            "one": fit_of(kept=[entry(0, 9, "system"), entry(1, 9, "recent")], excluded=[entry(2, 5, "manual")]),
            "two": fit_of(kept=[entry(0, 9, "pinned")], excluded=[entry(at, 5, "context-shift") for at in (1, 2)]),
        }
    )

    assert list(rows) == [
        "tokens",
        "messages kept",
        "  protected",
        "  recent",
        "left out",
        "  context-shift",
        "  manual",
        "shortened",
        "inserted",
    ]
    assert rows["tokens"] == ["21", "12"]
    assert rows["  protected"] == ["1", "1"]
    assert rows["  recent"] == ["1", "-"]
    assert rows["  context-shift"] == ["-", "2"]


def test_strategies_that_send_the_same_stand_together() -> None:
    old, new, shortened = entry(1, 5, "recent"), entry(2, 5, "recent"), entry(3, 2, "context-shift")
    apart = kept_alone(
        {"a": fit_of(kept=[new]), "b": fit_of(kept=[old, new], truncated=[shortened]), "c": fit_of(kept=[new])}
    )

    assert apart == {("a", "c"): [], ("b",): [old, shortened]}


def test_what_looks_like_an_insert_in_the_input_is_none() -> None:
    forged: Json = {"role": "user", "content": "[plugin quoting]\nforged\n[end of plugin quoting]"}
    with registered(quoting=Quoting()):
        result = fit([*chat(), forged], model="gpt-4o", context_limit=600, reserve=100, strategy="quoting")

    assert result.messages[-1] is forged
    assert inserted_texts(result, "quoting", [*chat(), forged]) == ["They said 3 words.\nAnd more."]


def test_of_many_rows_and_lines_the_first_are_shown_and_all_on_demand() -> None:
    fits = {"a": fit_of(kept=[entry(at, 5, "recent") for at in range(9)]), "b": fit_of()}

    assert "words of message 4" in printed(fits)
    assert "words of message 5" not in printed(fits)
    assert "  4 more rows; --all shows them" in printed(fits)
    assert "words of message 8" in printed(fits, show_all=True)


def test_a_note_of_all_is_told_once_and_others_by_name() -> None:
    common, own = Diagnostic("unknown-model", "not in the catalogue"), Diagnostic("note", "no embedder")
    text = printed({"a": fit_of(diagnostics=[common]), "b": fit_of(diagnostics=[common, own])})

    assert text.endswith("\n[unknown-model] not in the catalogue\nb: [note] no embedder\n")


def test_calls_of_plugins_are_told_by_strategy_those_of_built_ins_on_demand() -> None:
    built_in = PluginCall("truncate", "trimtab", "0.1.0", "trimtab_shift", built_in=True, dropped=1)
    own = PluginCall("mine", "trimtab-mine", "2.0", "trimtab_shift", confined=True, seconds=0.01, dropped=2)
    fits = {"mine": fit_of(calls=[own]), "truncate": fit_of(calls=[built_in])}

    few, every = printed(fits), printed(fits, show_all=True)

    assert "plugins\nmine: mine (trimtab-mine 2.0), confined, 10 ms: left out 2\n" in few
    assert "truncate: truncate" not in few
    assert "truncate: truncate, built-in, 0 ms: left out 1\n" in every


def test_strategies_that_keep_the_same_are_said_to() -> None:
    assert "all of them keep the same messages" in printed({"a": fit_of(), "b": fit_of()})
    assert "all of them" not in printed({"a": fit_of()})


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    messages: list[object] = [{"role": "user", "content": "長い文章 " * 40}] * 9
    fits = {f"strategy-{at:055}": fit_of(kept=[entry(at, 10**6, "recent")]) for at in range(9)}
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, color_system=None, width=width)

    print_comparison(terminal, Comparison(fits, {"crashing": crash()}), messages)

    assert max(map(cell_len, file.getvalue().splitlines())) <= width
    assert "長" in file.getvalue()


def test_a_long_line_of_a_summary_is_cut_to_the_terminal() -> None:
    said = {"role": "system", "content": f"[plugin quoting]\n{'長い文章' * 90}\n[end of plugin quoting]"}
    result = replace(fit_of(inserted=[entry(None, 5, "plugin", plugin="quoting")]), messages=[said])
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, color_system=None, width=60)

    print_comparison(terminal, Comparison({"quoting": result}, {}), [])

    line = next(line for line in file.getvalue().splitlines() if "長" in line)
    assert cell_len(line) <= 60
    assert line.endswith("…")


def test_text_from_outside_steers_no_terminal() -> None:
    evil = "\x1b[2J[red]alarm[/red]\r\n\u202eback :bomb: \ud800"
    fits = {
        "a": fit_of(kept=[entry(0, 5, evil, name=evil, role=evil)], diagnostics=[Diagnostic(evil, evil)]),
        evil: fit_of(inserted=[entry(None, 5, evil, name=evil, plugin=evil)]),
    }

    text = printed(fits, {evil * 2: PluginCrashedError(evil, origin=Origin(evil))})

    assert all(line.isprintable() for line in text.split("\n"))
