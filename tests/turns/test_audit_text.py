"""An audit as people read it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

from talks import count, talk, turn
from trimtab.audit import PromptContextAudit, parse_audit, with_call
from trimtab.audit_text import as_fit, call_lines, headline, left_table, sent_table
from trimtab.cli.report import print_report
from trimtab.cli.screen import console_for
from trimtab.cli.tables import print_table
from trimtab_sdk.provider import Usage
from turns.audited import Audited, audited


def summarized(**given: Any) -> Audited:
    chat = talk(20)
    return audited(chat, count(chat) // 2, strategy="summarize", **given)


def ended(done: Audited, status: Any = "completed", **call: Any) -> PromptContextAudit:
    body = with_call(done.body, step=1, estimated=done.held.fit.tokens_after, milliseconds=812.3, **call)
    return parse_audit(json.loads(json.dumps(body)), status=status, error_code=call.get("error_code", ""))


def test_one_sentence_says_what_was_sent_what_left_what_was_added_and_how_it_ended() -> None:
    done = summarized()
    fit = done.held.fit
    gone = len(fit.excluded)
    by_shift = sum(entry.reason == "context-shift" for entry in fit.excluded)
    told = headline(ended(done, usage=Usage(input_tokens=1_234), finish="stop"))
    assert told.startswith(
        f"openai-compatible was given {len(done.held.messages)} messages for gpt-4.1: "
        f"{fit.tokens_after:,} of {fit.budget.available:,} tokens. {gone} messages were left out ("
    )
    assert f"{by_shift} context-shift" in told
    assert "1 text of plugins was added" in told
    assert told.endswith("The provider counted 1,234 tokens in 1 call.")


def test_a_failed_a_cancelled_and_a_running_generation_say_so() -> None:
    done = audited(talk(2))
    assert headline(ended(done, "failed", error_code="PROVIDER_TIMEOUT")).endswith("It failed: PROVIDER_TIMEOUT.")
    assert headline(ended(done, "cancelled")).endswith("It was cancelled.")
    assert headline(done.audit) == (
        f"openai-compatible is being given 3 messages for gpt-4.1: {done.held.fit.tokens_after:,} of 100,000 "
        "tokens. No message was left out."
    )


def test_the_table_of_what_was_sent_remarks_what_is_not_usual() -> None:
    done = summarized()
    table = sent_table(done.audit)
    at = table["reason"].index("summary")
    covered = next(one.covers for one in done.held.inserted)
    assert table["message"][at] == f"added by summarize, in place of {len(covered)} messages"
    assert table["message"][0] == ""
    assert table["tokens"] == [f"{block.tokens:,}" for block in done.audit.blocks]
    assert {len(cells) for cells in table.values()} == {len(done.held.messages)}


def test_the_table_of_what_left_has_a_row_for_each_message() -> None:
    done = summarized()
    assert left_table(done.audit)["id"] == [entry.id for entry in done.held.fit.excluded]


def test_a_call_is_told_with_both_counts() -> None:
    done = audited(talk(2))
    tokens = done.held.fit.tokens_after
    assert call_lines(ended(done, usage=Usage(input_tokens=99), finish="stop")) == [
        f"call 1: stop after 812 ms, {tokens} tokens by our count, 99 reported"
    ]
    assert call_lines(ended(done, "failed", error_code="PROVIDER_TIMEOUT", attempts=3)) == [
        f"call 1: PROVIDER_TIMEOUT after 812 ms, {tokens} tokens by our count, 3 attempts"
    ]


def test_the_report_of_a_fit_is_printed_from_its_audit_alone() -> None:
    done = summarized()
    fit, again = done.held.fit, as_fit(done.audit)
    assert [(one.id, one.tokens, one.reason) for one in again.kept] == [
        (one.id, one.tokens, one.reason) for one in fit.kept
    ]
    assert again.inserted == fit.inserted
    assert [replace(one, index=None) for one in fit.excluded] == again.excluded
    assert (again.calls, again.diagnostics, again.tokens_before) == (fit.calls, fit.diagnostics, fit.tokens_before)
    stream = io.StringIO()
    console = console_for(stream)
    print_report(console, again, [])
    print_table(console, sent_table(done.audit))
    assert f"left out: {len(fit.excluded)} messages" in stream.getvalue()
    assert "added by summarize" in stream.getvalue()


def test_no_id_or_name_steers_a_terminal() -> None:
    done = audited([turn("a\x1b[2Jb", text="Why?")], provider="p\x1b]0;x\x07")
    said = headline(done.audit) + "".join(sent_table(done.audit)["id"])
    assert "\x1b" not in said
    assert "\x07" not in said
