from trimtab.config import Config
from trimtab.loading.discovery import Candidate, Installed, by_name, installed

GROUP = "trimtab.strategies"


def candidate(name: str, distribution: str, version: str = "1.0", value: str = "mod:obj") -> Candidate:
    return Candidate(GROUP, name, value, distribution, version)


def listing(*candidates: Candidate, **config: object) -> list[Installed]:
    return list(installed(GROUP, config=Config(**config), candidates=candidates))


def verdicts(rows: list[Installed]) -> list[tuple[str, str, str]]:
    return [(row.name, row.trust, row.status) for row in rows]


def test_the_listing_is_sorted_and_without_doubles_whatever_the_order_of_the_directory() -> None:
    one, two = candidate("b", "x"), candidate("a", "y")
    assert listing(one, two, one) == listing(two, one)
    assert [row.name for row in listing(one, two, one)] == ["a", "b"]


def test_a_stranger_is_listed_and_refused_with_the_line_to_add() -> None:
    (row,) = listing(candidate("recap", "trimtab-recap"))
    assert (row.trust, row.status) == ("needs-trust", "refused")
    assert "'trimtab-recap'" in row.reason
    assert "trusted" in row.reason


def test_a_trusted_distribution_is_ready_within_its_version_range_in_any_spelling() -> None:
    rows = listing(candidate("recap", "trimtab-recap", "1.4"), trusted=["Trimtab_Recap>=1,<2"])
    assert verdicts(rows) == [("recap", "trusted", "ready")]
    rows = listing(candidate("recap", "trimtab-recap", "2.0"), trusted=["trimtab-recap>=1,<2"])
    assert verdicts(rows) == [("recap", "needs-trust", "refused")]


def test_the_name_of_a_built_in_is_reserved_also_for_the_trusted() -> None:
    rows = listing(candidate("truncate", "trimtab"), candidate("truncate", "trimtab-x"), trusted=["trimtab-x"])
    assert verdicts(rows) == [("truncate", "built-in", "ready"), ("truncate", "trusted", "refused")]
    assert by_name(rows)["truncate"].distribution == "trimtab"


def test_two_trusted_owners_of_a_name_are_refused_and_each_names_the_other() -> None:
    rows = listing(candidate("recap", "one"), candidate("recap", "two"), trusted=["one", "two"])
    assert [row.status for row in rows] == ["refused", "refused"]
    assert "two" in rows[0].reason
    assert "one" in rows[1].reason


def test_a_stranger_cannot_switch_off_a_trusted_plugin_by_taking_its_name() -> None:
    rows = listing(candidate("recap", "one"), candidate("recap", "evil"), trusted=["one"])
    assert by_name(rows)["recap"].distribution == "one"
    assert by_name(rows)["recap"].status == "ready"


def test_blocking_goes_by_distribution_or_by_name_and_spares_built_ins() -> None:
    assert verdicts(listing(candidate("recap", "one"), trusted=["one"], blocked=["ONE"])) == [
        ("recap", "trusted", "blocked")
    ]
    assert verdicts(listing(candidate("recap", "one"), trusted=["one"], blocked=["recap"])) == [
        ("recap", "trusted", "blocked")
    ]
    assert verdicts(listing(candidate("truncate", "trimtab"), blocked=["truncate"])) == [
        ("truncate", "built-in", "ready")
    ]


def test_a_blocked_rival_is_no_rival() -> None:
    rows = listing(candidate("r", "one"), candidate("r", "two"), trusted=["one", "two"], blocked=["two"])
    assert [row.status for row in rows] == ["ready", "blocked"]


def test_names_that_users_cannot_type_are_refused() -> None:
    for name in ("Recap", "re cap", "-recap", "x" * 65, "recap\x1b[31m"):
        (row,) = listing(candidate(name, "one"), trusted=["one"])
        assert row.status == "refused"


def test_the_built_ins_are_found_in_this_environment() -> None:
    rows = {row.name: row for row in installed(GROUP)}
    assert rows["truncate"].status == rows["manual"].status == "ready"
    assert rows["truncate"].trust == "built-in"
