"""From a name to an address, a key and limits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from trimtab import Config, ContextStrategyRegistry
from trimtab.config import Endpoint
from trimtab.turns.targets import Target, check_options, resolve_target
from trimtab_sdk import ConfigError, InvalidRequestError, PluginRejectedError, ProviderError, UnknownProviderError
from turns.pocket_driver import PocketDriver

SCHEMA = {
    "type": "object",
    "properties": {"size": {"type": "integer"}},
    "additionalProperties": False,
}


class Homely(PocketDriver):
    """Has an address and a key of its own."""

    base_url = "https://models.invalid/v1/"
    key_variable = "HOMELY_KEY"
    settings_schema = SCHEMA
    options_schema = SCHEMA


class Offline(PocketDriver):
    retention = None
    offline = True
    key_variable = "UNUSED"


def resolve(
    name: str,
    environ: Mapping[str, str] | None = None,
    *,
    driver: PocketDriver | None = None,
    **endpoints: Endpoint,
) -> Target:
    registry = ContextStrategyRegistry()
    registry.register_provider("pocket", PocketDriver())
    registry.register_provider("homely", driver or Homely())
    registry.register_provider("offline", Offline())
    config = Config(providers=endpoints)
    environ = {"HOMELY_KEY": "k-1", "OTHER": "k-2"} if environ is None else environ
    return resolve_target(name, config=config, registry=registry, environ=environ)


def test_a_driver_with_an_address_of_its_own_needs_no_configuration() -> None:
    target = resolve("homely")
    assert (target.name, target.base_url, target.variable, target.key) == (
        "homely",
        "https://models.invalid/v1",
        "HOMELY_KEY",
        "k-1",
    )
    assert target.endpoint == Endpoint()


def test_a_driver_without_a_server_needs_neither_address_nor_key() -> None:
    target = resolve("offline", {})
    assert (target.base_url, target.variable, target.key) == ("", "", "")


def test_an_endpoint_names_its_driver_or_is_called_like_it() -> None:
    for target in (
        resolve("home", home=Endpoint(driver="pocket", base_url="http://localhost:8000/v1")),
        resolve("pocket", pocket=Endpoint(base_url="http://localhost:8000/v1")),
    ):
        assert target.provider.name == "pocket"
        assert (target.base_url, target.key) == ("http://localhost:8000/v1", "")


def test_the_drivers_key_goes_to_the_drivers_address_alone() -> None:
    assert resolve("homely", homely=Endpoint(base_url="https://elsewhere.invalid/v1")).key == ""
    assert resolve("homely", homely=Endpoint(base_url="https://models.invalid/v1")).key == "k-1"
    assert resolve("homely", homely=Endpoint(retries=0)).key == "k-1"
    other = resolve("homely", homely=Endpoint(base_url="https://elsewhere.invalid/v1", key_variable="OTHER"))
    assert (other.variable, other.key) == ("OTHER", "k-2")


def test_a_driver_without_an_address_says_which_line_to_add() -> None:
    missing = r'\[providers\.pocket\], such as base_url = "https://'
    with pytest.raises(ConfigError, match=missing):
        resolve("pocket")
    with pytest.raises(ConfigError, match=missing):
        resolve("pocket", pocket=Endpoint(retries=1))


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnknownProviderError, match="no provider 'ghost'") as caught:
        resolve("ghost", home=Endpoint(driver="pocket"))
    assert {"home", "homely", "offline", "pocket"} <= {*caught.value.known}
    with pytest.raises(
        UnknownProviderError, match="'home' of the configuration names the driver 'ghost'"
    ) as other:
        resolve("home", home=Endpoint(driver="ghost"))
    assert "home" not in other.value.known


@pytest.mark.parametrize("environ", [{}, {"HOMELY_KEY": ""}, {"HOMELY_KEY": "\n"}, {"HOMELY_KEY": "  "}])
def test_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ProviderError, match=r"HOMELY_KEY \(it is not set, or empty") as caught:
        resolve("homely", environ)
    assert (caught.value.code, caught.value.provider) == ("PROVIDER_KEY_MISSING", "homely")


@pytest.mark.parametrize("key", ["s3cret\x00", "s3cret\r\nx: y", "s3crét", "s3cret key", " s3cret", "s3cret\n\n"])
def test_a_key_that_can_be_none_is_refused_and_never_shown(key: str) -> None:
    with pytest.raises(ProviderError, match=r"HOMELY_KEY \(it holds") as caught:
        resolve("homely", {"HOMELY_KEY": key})
    assert "s3cr" not in f"{caught.value!r} {caught.value.to_dict()}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_end_of_line_behind_a_key_is_no_part_of_it(end: str) -> None:
    target = resolve("homely", {"HOMELY_KEY": f"k-1{end}"})
    assert target.key == "k-1"
    assert "k-1" not in repr(target)


def test_settings_and_options_are_checked_by_the_drivers_schemas() -> None:
    with pytest.raises(ConfigError, match=r"providers\.homely: settings\.size of pocket"):
        resolve("homely", homely=Endpoint(settings={"size": "big"}))
    with pytest.raises(ConfigError, match=r"providers\.pocket: pocket takes no settings"):
        resolve("pocket", pocket=Endpoint(base_url="http://localhost:1/v1", settings={"size": 1}))
    target = resolve("homely", homely=Endpoint(settings={"size": 1}))
    check_options(target, {"size": 2})
    with pytest.raises(InvalidRequestError, match=r"options\.size"):
        check_options(target, {"size": "big"})
    with pytest.raises(InvalidRequestError, match="takes no options"):
        check_options(resolve("offline"), {"size": 2})


@pytest.mark.parametrize("address", ["ftp://x", "https://a@b", "https://x/?q", 7])
def test_a_driver_with_an_odd_address_is_refused(address: str) -> None:
    class Odd(PocketDriver):
        base_url = address

    with pytest.raises(PluginRejectedError, match="base_url"):
        resolve("homely", driver=Odd())
