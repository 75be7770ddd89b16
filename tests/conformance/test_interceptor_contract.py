from __future__ import annotations

import pytest

from conformance.broken_plugins import BROKEN
from conformance.kit_runs import both_runs
from trimtab.conformance import InterceptorContract
from trimtab.conformance.base import NOT_CLAIMED

INTERCEPTORS = [name for name, broken in BROKEN.items() if broken.contract is InterceptorContract]


@pytest.mark.parametrize("contract", ["TestReminds", "TestRedacts"])
def test_a_sound_interceptor_breaks_no_rule(contract: str) -> None:
    sound, _ = both_runs()
    skipped = [one.words for one in sound.outcomes[contract].values() if one.kind == "skipped"]

    assert sound.failed(contract) == {}
    assert [words for words in skipped if not words.startswith(NOT_CLAIMED)] == []
    assert sound.outcomes[contract].keys() == {
        name for name in dir(InterceptorContract) if name.startswith("test_")
    }


@pytest.mark.parametrize("name", INTERCEPTORS)
def test_a_broken_interceptor_fails_the_rule_it_breaks_and_no_other(name: str) -> None:
    _, broken = both_runs()
    failed = broken.failed(f"Test{name}")

    assert failed.keys() == {BROKEN[name].rule}
    assert BROKEN[name].words in failed[BROKEN[name].rule]


def test_what_an_interceptor_did_in_whole_fits_is_in_the_report() -> None:
    sound, _ = both_runs()
    reminds = sound.outcomes["TestReminds"]["test_a_second_fit_changes_nothing"].measures
    redacts = sound.outcomes["TestRedacts"]["test_a_second_fit_changes_nothing"].measures

    assert int(reminds["texts_inserted"]) > 0
    assert int(reminds["tokens_inserted"]) > 0
    assert int(redacts["messages_shortened"]) > 0
    assert int(redacts["texts_inserted"]) == 0
