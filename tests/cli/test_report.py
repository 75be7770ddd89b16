from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from cli.making import entry, fit_of
from trimtab.cli.report import print_report, totals
from trimtab.cli.screen import console_for
from trimtab.report import Budget, Diagnostic, Fit, PluginCall, TokenizerInfo

TRUNCATE = PluginCall("truncate", "trimtab", "0.1.0", "trimtab_shift", built_in=True, seconds=0.002, dropped=3)
MANY = [entry(at, 10 + at, "context-shift") for at in range(1, 41)]
WORDS = [{"role": "user", "content": f"words of message {at}"} for at in range(50)]


def printed(
    fit: Fit,
    messages: list[object] | None = None,
    *,
    width: int = 100,
    show_all: bool = False,
    encoding: str = "utf-8",
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    console = console_for(stream)
    console.width = width
    print_report(console, fit, list(WORDS) if messages is None else messages, show_all=show_all)
    stream.flush()
    return raw.getvalue().decode(encoding)


def row_of(text: str, start: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [start])


def test_the_legend_gives_the_figures_of_each_segment() -> None:
    text = printed(
        fit_of(
            kept=[entry(0, 100, "system"), entry(3, 200, "recent"), entry(4, 50, "current-input")],
            truncated=[entry(2, 30, "context-shift", original_tokens=90)],
            inserted=[entry(None, 17, "summary", name="s1", plugin="summarize")],
            budget=Budget(available=1000, reserve=200, context_limit=1200),
        )
    )

    figures = {name: row_of(text, mark)[1:] for mark, name in zip("▚█▓▒▞·░", "opksifr", strict=True) if mark}
    assert figures["p"] == ["protected", "150", "12.5", "%"]
    assert figures["k"] == ["kept", "200", "16.7", "%"]
    assert figures["s"] == ["shortened", "30", "2.5", "%"]
    assert figures["i"] == ["inserted", "17", "1.4", "%"]
    assert figures["f"] == ["free", "600", "50.0", "%"]
    assert figures["r"] == ["reserve", "200", "16.7", "%"]
    assert row_of(text, "window") == ["window", "1,200"]


def test_the_bar_is_drawn_to_scale() -> None:
    fit = fit_of(
        kept=[entry(0, 400, "system")], budget=Budget(available=800, reserve=0, context_limit=800), overhead=0
    )

    assert "█" * 36 + "·" * 36 in printed(fit)


def test_what_left_is_listed_with_reason_and_first_words() -> None:
    text = printed(fit_of(excluded=[entry(7, 1234, "context-shift", name="abc")]))

    assert row_of(text, "7") == ["7", "abc", "user", "1,234", "context-shift", "words", "of", "message", "7"]
    assert "left out: 1 message, 1,234 tokens (1 context-shift)" in text


def test_a_fit_that_leaves_nothing_out_has_no_table() -> None:
    text = printed(fit_of(kept=[entry(0, 10, "system")]))

    assert "left out:" not in text
    assert text.rstrip().endswith("no message left out")


def test_twenty_rows_are_shown_whole() -> None:
    text = printed(fit_of(excluded=MANY[:20]))

    assert all(row_of(text, str(at)) for at in range(1, 21))
    assert "more" not in text


def test_of_many_rows_the_first_and_last_are_shown() -> None:
    text = printed(fit_of(excluded=MANY))

    shown = [int(line.split()[0]) for line in text.splitlines() if re.match(r" *\d+ +m\d", line)]
    assert shown == [*range(1, 11), *range(36, 41)]
    assert "25 more" in text
    assert "25 more rows; --all shows them" in text


def test_all_rows_are_shown_on_demand() -> None:
    text = printed(fit_of(excluded=MANY), show_all=True)

    assert [int(line.split()[0]) for line in text.splitlines() if re.match(r" *\d+ +m\d", line)] == [*range(1, 41)]
    assert "--all" not in text


def test_a_tool_result_hangs_below_its_call() -> None:
    left = [
        entry(1, 5, "context-shift", role="assistant"),
        entry(2, 5, "context-shift", role="tool"),
        entry(3, 5, "context-shift", role="tool"),
        entry(4, 5, "context-shift", role="user"),
        entry(5, 5, "unpaired", role="tool"),
    ]

    text = printed(fit_of(excluded=left))

    assert [row_of(text, str(at))[2:4] for at in range(1, 6)] == [
        ["assistant", "5"],
        ["└", "tool"],
        ["└", "tool"],
        ["user", "5"],
        ["tool", "5"],
    ]


def test_a_shortened_message_shows_both_costs() -> None:
    text = printed(fit_of(truncated=[entry(7, 30, "context-shift", original_tokens=1200)]))

    assert "shortened: 1 message" in text
    assert "1,200 → 30" in text
    assert "words of message 7" in text


def test_an_inserted_text_names_its_plugin() -> None:
    text = printed(fit_of(inserted=[entry(None, 12, "summary", name="s1", role="system", plugin="summarize")]))

    assert "inserted: 1 text" in text
    assert row_of(text, "s1") == ["s1", "system", "12", "summarize", "summary"]


def test_diagnostics_are_lines_with_their_code() -> None:
    noted = Diagnostic("PLUGIN_CRASHED", "it raised", ("m1", "m2"), "shrink", "trimtab-shrink", "1.2")

    text = printed(fit_of(diagnostics=[noted]))

    assert "[PLUGIN_CRASHED] it raised (m1, m2) [shrink trimtab-shrink 1.2]" in text


def test_a_call_of_a_plugin_is_a_line_with_what_it_did() -> None:
    recap = PluginCall(
        "recap",
        "trimtab-recap",
        "1.2",
        "trimtab_intercept",
        confined=True,
        seconds=1.2345,
        dropped=3,
        shortened=1,
        inserted=2,
        insert_tokens=1040,
    )
    tap = PluginCall("tap", "", "", "trimtab_intercept", seconds=0.0004)

    text = printed(fit_of(calls=[recap, tap]))

    did = "left out 3, shortened 1, inserted 2 (1,040 tokens)"
    assert f"plugins\nrecap (trimtab-recap 1.2), confined, 1,234 ms: {did}\n" in text
    assert "tap, trusted, 0 ms: changed nothing\n" in text


def test_a_call_of_which_nothing_was_used_says_why_and_what_was_restored() -> None:
    late = PluginCall("late", "", "", "trimtab_intercept", seconds=5, rejected="PLUGIN_TIMEOUT")
    thief = PluginCall(
        "thief",
        "",
        "",
        "trimtab_shift",
        restored=tuple(f"m{at}" for at in range(7)),
        rejected="PROTECTED_CONTEXT_REMOVED",
    )

    text = printed(fit_of(calls=[late, thief]))

    assert "late, trusted, 5,000 ms: [PLUGIN_TIMEOUT] nothing used\n" in text
    restored = "m0, m1, m2, m3, m4 and 2 more"
    assert f"thief, trusted, 0 ms: [PROTECTED_CONTEXT_REMOVED] nothing used; restored {restored}\n" in text


def test_calls_of_built_ins_are_told_on_demand() -> None:
    assert "truncate, built-in" not in printed(fit_of(calls=[TRUNCATE]))
    assert "plugins" not in printed(fit_of(calls=[TRUNCATE]))
    assert "truncate, built-in, 2 ms: left out 3\n" in printed(fit_of(calls=[TRUNCATE]), show_all=True)


def test_of_many_diagnostics_the_first_are_shown() -> None:
    notes = [Diagnostic("wire-rule", f"note {at}.") for at in range(100)]

    assert "and 80 more notes; --all shows them" in printed(fit_of(diagnostics=notes))
    assert "note 99." in printed(fit_of(diagnostics=notes), show_all=True)


@pytest.mark.parametrize(
    ("tokenizer", "told"),
    [
        (TokenizerInfo("o200k_base", "1", approximate=False), "(o200k_base, exact)"),
        (TokenizerInfo("approximate-v1", "1", approximate=True), "(approximate-v1, approximate)"),
        (TokenizerInfo("o200k_base", "1", False, framing="approximate"), "(o200k_base, framing approximate)"),
        (
            TokenizerInfo("o200k_base", "1", False, framing="approximate", images="approximate"),
            "(o200k_base, framing and images approximate)",
        ),
    ],
)
def test_totals_say_how_exact_they_are(tokenizer: TokenizerInfo, told: str) -> None:
    fit = fit_of(kept=[entry(0, 984, "system")], excluded=[entry(1, 247, "manual")], tokenizer=tokenizer)

    assert totals(fit) == f"1,234 → 987 tokens of 1,000 {told}; 1 of 2 messages left out"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = [{"role": "user", "content": "長い文章 " * 40}] * 50
    left = [entry(at, 10**6, "context-shift", role="assistant", name=f"chatcmpl-{at:030}") for at in range(30)]
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)

    print_report(terminal, fit_of(excluded=left), wide)

    assert isinstance(terminal.file, io.StringIO)
    lines = terminal.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert any("長" in line for line in lines)


def test_a_line_that_a_program_reads_is_not_broken() -> None:
    text = printed(fit_of(excluded=MANY), width=40)

    assert text.splitlines()[-1] == totals(fit_of(excluded=MANY))


def test_sixty_columns_hold_every_column() -> None:
    text = printed(fit_of(excluded=[entry(7, 1234, "context-shift", role="assistant")]), width=60)

    row = row_of(text, "7")
    assert row[:5] == ["7", "m7", "assistant", "1,234", "context-shift"]
    assert row[5] == "words"


def test_text_from_outside_steers_neither_terminal_nor_layout() -> None:
    evil = "\x1b[2J[red]alarm[/red]\r\n\u202eback :bomb: \ud800"
    fit = fit_of(
        excluded=[entry(0, 5, evil, name=evil, role=evil)],
        inserted=[entry(None, 5, "plugin", name=evil, plugin=evil)],
        diagnostics=[Diagnostic(evil, evil, (evil,), evil, evil, evil)],
        calls=[PluginCall(evil, evil, evil, evil, restored=(evil,), rejected=evil, output=evil)],
    )

    text = printed(fit, [{"content": evil}], width=200)

    assert "[2J[red]alarm[/red] back :bomb:" in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_an_ascii_terminal_gets_ascii() -> None:
    fit = fit_of(
        kept=[entry(0, 100, "system"), entry(3, 100, "recent")],
        excluded=[entry(1, 5, "manual", role="assistant"), entry(2, 5, "manual", role="tool")],
        truncated=[entry(4, 10, "context-shift", original_tokens=20)],
    )

    text = printed(fit, encoding="ascii")

    assert "#" in text
    assert "=" in text
    assert "20 -> 10" in text
    assert "?" not in text


def test_without_a_terminal_there_are_no_colours() -> None:
    assert "\x1b" not in printed(fit_of(kept=[entry(0, 100, "system")], excluded=MANY))


def test_colours_go_when_the_user_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def coloured() -> bool:
        console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=100)
        print_report(console, fit_of(kept=[entry(0, 100, "system")]), WORDS)
        assert isinstance(console.file, io.StringIO)
        return "\x1b[3" in console.file.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert coloured()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured()
