import json
import pickle

from talks import count, fit, talk
from trimtab import Entry
from trimtab.report import Entries


def entry(name: str) -> Entry:
    return Entry(id=name, index=0, role="user", tokens=3, reason="recent")


def test_entries_are_made_once_and_only_when_somebody_looks() -> None:
    made: list[int] = []

    def make() -> list[Entry]:
        made.append(1)
        return [entry("a"), entry("b")]

    entries = Entries(make)
    assert made == []
    assert [one.id for one in entries] == ["a", "b"]
    assert entries[-1] == entry("b")
    assert entries[:1] == (entry("a"),)
    assert len(entries) == 2
    assert made == [1]


def test_entries_are_equal_to_any_sequence_with_the_same_entries() -> None:
    entries = Entries(lambda: [entry("a")])
    assert entries == (entry("a"),)
    assert entries == [entry("a")]
    assert entries != ()
    assert (entry("a"),) == entries


def test_a_fit_survives_pickling_and_its_report_is_json() -> None:
    chat = talk()
    result = fit(chat, count(chat) - 1)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    report = json.loads(json.dumps(result.to_dict()))
    assert [one["id"] for one in report["excluded"]] == ["m0"]
    assert report["budget"]["available"] == count(chat) - 1
    keys = {"model", "strategy", "format", "tokenizer", "budget", "tokensBefore", "tokensAfter", "overhead"}
    assert report.keys() == keys | {"kept", "excluded", "truncated", "inserted", "diagnostics", "calls"}
