from __future__ import annotations

import pytest

from trimtab import Config, Grant, Interceptor, Limits
from trimtab_sdk import ConfigError


def test_a_config_of_nothing_trusts_nobody_and_confines_strangers() -> None:
    config = Config()

    assert (config.trusted, config.blocked, config.interceptors) == ((), (), None)
    assert (config.plugins, config.untrusted, config.strict, config.plugin_directory) == (
        True,
        "confine",
        False,
        None,
    )


def test_a_distribution_is_trusted_in_any_of_the_ranges_it_is_named_with() -> None:
    config = Config(trusted=["trimtab-recap>=1,<2", "Trimtab_Recap==3.*"])

    assert config.trusts("trimtab.recap", "1.5")
    assert config.trusts("trimtab-recap", "3.0rc1")
    assert not config.trusts("trimtab-recap", "2.0")
    assert not config.trusts("trimtab-recap2", "1.5")


def test_a_version_that_is_none_is_in_no_range() -> None:
    assert not Config(trusted=["trimtab-recap"]).trusts("trimtab-recap", "latest")
    assert not Config(trusted=["trimtab-recap"]).trusts("trimtab-recap", "")


@pytest.mark.parametrize(
    "line",
    [
        "recap @ https://example.org/recap.whl",
        "recap[extra]",
        "recap; python_version > '3'",
        "re cap",
        "",
        "recap>",
    ],
)
def test_what_is_trusted_is_a_name_and_a_version_range_and_nothing_else(line: str) -> None:
    with pytest.raises(ConfigError, match=r"trusted: "):
        Config(trusted=[line])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"trust": []}, "trust: there is no such key, there are trusted, blocked,"),
        ({"limits": {"recap": {"second": 1}}}, "limits.recap.second: there is no such key, there are seconds,"),
        ({"grants": {"recap": {"net": True}}}, "grants.recap.net: there is no such key, there are meta, services"),
        ({"interceptors": [{"nam": "x"}]}, "interceptors.0.nam: there is no such key, there are name, settings"),
        ({"on_violation": "ignore"}, "on_violation: Input should be 'fallback' or 'error'"),
        ({"limits": {"recap": {"seconds": 0}}}, "limits.recap.seconds: Input should be greater than 0"),
        ({"self": 1}, "self: there is no such key"),
    ],
)
def test_a_wrong_field_is_named_with_what_would_be_right(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**fields)

    assert told in str(caught.value)


def test_of_many_faults_the_first_ones_are_told() -> None:
    with pytest.raises(ConfigError, match=r"and 90 more$"):
        Config(**{f"key{at}": at for at in range(100)})


def test_a_name_stands_for_an_interceptor_without_settings() -> None:
    config = Config(interceptors=["redact", {"name": "date", "settings": {"zone": "UTC"}}])

    assert config.interceptors == (Interceptor(name="redact"), Interceptor(name="date", settings={"zone": "UTC"}))


def test_a_star_stands_for_every_plugin_that_is_not_named() -> None:
    config = Config(limits={"*": {"seconds": 2}, "recap": {"memory_mb": 1024}})

    assert config.limits_for("other").seconds == 2
    assert config.limits_for("recap") == Limits(memory_mb=1024)


def test_time_in_a_turn_is_twice_the_time_of_a_call_unless_it_is_given() -> None:
    config = Config(limits={"recap": {"seconds": 3}, "slow": {"turn_seconds": 100}})

    assert config.turn_seconds_for("recap", strategy=True) == 6
    assert config.turn_seconds_for("slow", strategy=False) == 100
    assert config.turn_seconds_for("other", strategy=False) == 10


def test_without_a_grant_a_confined_plugin_reads_no_meta() -> None:
    config = Config(grants={"recap": {"meta": ["lang"]}})

    assert config.grant_for("recap").meta == ("lang",)
    assert config.grant_for("other") == Grant(meta=(), services=("count", "embed"))
