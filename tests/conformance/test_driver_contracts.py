from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from conformance import sound_drivers
from conformance.broken_drivers import BROKEN, name_of
from conformance.kit_runs import Run, run_source
from trimtab.conformance.base import NOT_CLAIMED
from trimtab.conformance.driver_base import DriverContract
from trimtab.loading.discovery import built_in
from trimtab.loading.registry import CODECS, PROVIDERS, TOKENIZERS

SOUND_SOURCE = "from conformance.sound_drivers import *\n"
BROKEN_SOURCE = "from conformance.broken_drivers import broken_contracts\nglobals().update(broken_contracts())\n"
SOUND = [name for name in vars(sound_drivers) if name.startswith("Test")]
NO_SEALS = {"TestShareGPT", "TestChatGPTExport"}


@cache
def runs() -> tuple[Run, Run]:
    """The runs of the sound and the broken drivers, side by side; each broken one by the rule that it breaks."""
    wanted = " or ".join(f"({name_of(at)} and {broken.rule})" for at, broken in enumerate(BROKEN))
    with ThreadPoolExecutor(2) as pool, TemporaryDirectory() as one, TemporaryDirectory() as other:
        sound = pool.submit(run_source, Path(one), SOUND_SOURCE)
        broken = pool.submit(run_source, Path(other), BROKEN_SOURCE, "-k", wanted)
        return sound.result(), broken.result()


def rules(contract: type) -> set[str]:
    return {name for name in dir(contract) if name.startswith("test_")}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_driver_breaks_no_rule(name: str) -> None:
    sound, _ = runs()
    skipped = [one.words for one in sound.outcomes[name].values() if one.kind == "skipped"]
    unjudged = [words for words in skipped if not words.startswith(NOT_CLAIMED)]

    assert sound.failed(name) == {}
    assert sound.outcomes[name].keys() == rules(getattr(sound_drivers, name))
    assert [words for words in unjudged if name not in NO_SEALS or "opaque" not in words] == []


def test_every_driver_that_ships_is_tried() -> None:
    shipped = {
        row.candidate.value.rpartition(":")[2]
        for group in (CODECS, PROVIDERS, TOKENIZERS)
        for row in built_in(group)
    }

    assert {f"Test{name}" for name in shipped} <= set(SOUND)


@pytest.mark.parametrize("at", range(len(BROKEN)), ids=lambda at: f"{name_of(at)}-{BROKEN[at].rule}")
def test_a_broken_driver_fails_the_rule_it_breaks_and_is_told_what_to_do(at: int) -> None:
    _, broken = runs()
    failed = broken.failed(name_of(at))

    assert failed.keys() == {BROKEN[at].rule}
    assert BROKEN[at].words in failed[BROKEN[at].rule]
    assert "What to do: " in failed[BROKEN[at].rule]


def test_a_broken_driver_for_every_rule() -> None:
    contracts = {broken.contract for broken in BROKEN}
    tried = {(contract, broken.rule) for broken in BROKEN for contract in (broken.contract,)}
    untried = {
        (contract, rule) for contract in contracts for rule in rules(contract) - rules(DriverContract)
    } - tried

    assert {rule for _, rule in untried} == set()


def test_the_report_tells_how_quick_drivers_are() -> None:
    sound, _ = runs()
    codec = sound.outcomes["TestChatCompletions"]
    tokenizer = sound.outcomes["TestO200kBase"]

    assert float(codec["test_time_is_linear_in_the_conversation"].measures["milliseconds_to_decode_3000"]) > 0
    assert float(codec["test_splicing_reads_only_what_is_new"].measures["milliseconds_to_splice_3000"]) > 0
    assert float(tokenizer["test_time_is_linear_in_the_text"].measures["megabytes_per_second_prose"]) > 0
