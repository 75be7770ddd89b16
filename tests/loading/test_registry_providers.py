"""Providers by name: registered, built in, or of somebody who is trusted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loading.sites import Wheel
from trimtab import Config, ContextStrategyRegistry
from trimtab.loading.discovery import forget_installed
from trimtab_sdk import ConfigError, PluginLoadError, PluginNotTrustedError, UnknownProviderError
from turns.pocket_driver import PocketDriver


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with a distribution whose provider is called `odd`."""
    monkeypatch.syspath_prepend(tmp_path)
    source = "name = 'odd'\n"
    Wheel("trimtab-odd", module="odd_one", entry="odd", group="trimtab.providers", source=source).put(tmp_path)
    forget_installed()
    yield tmp_path
    sys.modules.pop("odd_one", None)
    forget_installed()


def test_the_built_in_providers_are_there_by_name() -> None:
    registry = ContextStrategyRegistry()
    assert {"dry-run", "openai-compatible"} <= {*registry.provider_names(Config())}
    assert registry.provider("dry-run", Config()).name == "dry-run"
    assert registry.provider("dry-run", Config()) is ContextStrategyRegistry().provider("dry-run", Config())


def test_a_registered_provider_goes_first_and_is_taken_out_again() -> None:
    registry = ContextStrategyRegistry()
    driver = PocketDriver()
    clean_up = registry.register_provider("pocket", driver)
    assert registry.provider("pocket", Config()) is driver
    assert "pocket" in registry.provider_names(Config())
    with pytest.raises(ConfigError, match="replace=True"):
        registry.register_provider("dry-run", driver)
    clean_up()
    with pytest.raises(UnknownProviderError, match=r"known are .*dry-run, .*openai-compatible") as caught:
        registry.provider("pocket", Config())
    assert (caught.value.name, caught.value.known) == ("pocket", registry.provider_names(Config()))


def test_a_provider_of_others_runs_only_when_it_is_trusted(site: Path) -> None:
    registry = ContextStrategyRegistry()
    assert "odd" not in registry.provider_names(Config())
    with pytest.raises(PluginNotTrustedError, match=r"add 'trimtab-odd' to Config\(trusted="):
        registry.provider("odd", Config())
    assert "odd_one" not in sys.modules
    trusting = Config(trusted=["trimtab-odd"])
    assert "odd" in registry.provider_names(trusting)
    assert registry.provider("odd", trusting).name == "odd"


def test_a_provider_that_cannot_be_loaded_is_named(site: Path) -> None:
    (site / "odd_one.py").write_text("raise RuntimeError('no')\n")
    with pytest.raises(PluginLoadError, match="odd"):
        ContextStrategyRegistry().provider("odd", Config(trusted=["trimtab-odd"]))
