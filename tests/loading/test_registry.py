import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trimtab
from factories import Interceptor, Strategy
from loading.sites import Wheel
from talks import codes, count, fit, ids, insert, talk
from trimtab.loading.discovery import forget_installed
from trimtab_sdk import (
    ConfigError,
    Edit,
    PluginLoadError,
    PluginNotTrustedError,
    UnknownFormatError,
    UnknownStrategyError,
)

RECAP = """
import os
from trimtab_sdk import Edit, hookimpl

IMPORTED_BY = os.getpid()

@hookimpl
def trimtab_shift(request, services):
    free = [m.id for m in request.messages if m.id not in request.protected]
    return Edit(drop={free[-1]: "low-relevance"}, notes=[f"imported by {IMPORTED_BY}"])
"""
TAP = RECAP.replace("trimtab_shift", "trimtab_intercept")
REDACT = """
from trimtab_sdk import Edit, hookimpl

@hookimpl
def trimtab_intercept(request, services):
    first = next(m.id for m in request.messages if m.id in request.protected)
    return Edit(shorten={(first, (0,)): [(0, 1)]})
"""
HERE = f"imported by {os.getpid()}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path that distributions can be put into."""
    monkeypatch.syspath_prepend(tmp_path)
    forget_installed()
    before = set(sys.modules)
    yield tmp_path
    for name in sys.modules.keys() - before:
        if name.endswith("_one"):
            del sys.modules[name]
    forget_installed()


def publish(
    site: Path, name: str, module: str, source: str, *, group: str = "strategies", entry: str = ""
) -> None:
    """Put a distribution with one module and one entry point there, as an installer does."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (site / f"{module}.py").write_text(source)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[trimtab.{group}]\n{entry or module} = {module}\n")
    (info / "RECORD").write_text(f"{module}.py,,\n")
    forget_installed()


def notes(result: trimtab.Fit) -> list[str]:
    """What plugins noted."""
    return [one.message for one in result.diagnostics if one.code == "note"]


def test_registering_gives_a_function_that_takes_the_plugin_out_again() -> None:
    registry = trimtab.ContextStrategyRegistry()
    clean_up = registry.register("mine", Strategy(lambda request, services: None))
    fit(talk(), 10_000, strategy="mine", registry=registry)
    clean_up()
    clean_up()
    with pytest.raises(UnknownStrategyError):
        fit(talk(), 10_000, strategy="mine", registry=registry)


def test_a_name_is_taken_once_and_a_built_in_is_overridden_on_purpose_only() -> None:
    registry = trimtab.ContextStrategyRegistry()
    newest = Strategy(lambda request, services: Edit(drop={"m6": "context-shift"}))
    with pytest.raises(ConfigError, match="replace=True"):
        registry.register("truncate", newest)
    clean_up = registry.register("truncate", newest, replace=True)
    chat = talk()
    assert ids(fit(chat, count(chat) - 1, registry=registry).excluded) == ["m6"]
    clean_up()
    assert ids(fit(chat, count(chat) - 1, registry=registry).excluded) == ["m0"]


def test_a_third_partys_strategy_runs_in_a_worker_and_when_it_is_trusted_here_with_the_same_result(
    site: Path,
) -> None:
    publish(site, "trimtab-recap", "recap_one", RECAP, entry="recap")
    chat = talk()
    confined = fit(chat, count(chat) - 1, strategy="recap")
    assert "recap_one" not in sys.modules
    trusted = fit(chat, count(chat) - 1, strategy="recap", config=trimtab.Config(trusted=["trimtab-recap"]))
    assert "recap_one" in sys.modules
    assert ([call.confined for call in confined.calls], [call.confined for call in trusted.calls]) == (
        [True],
        [False],
    )
    assert notes(confined) != [HERE]
    assert notes(trusted) == [HERE]
    assert ids(confined.excluded) == ids(trusted.excluded) == ["m6"]
    assert confined.messages == trusted.messages


def test_an_editable_plugin_finds_what_it_depends_on_in_its_worker(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "pyproject.toml").write_text('[project]\nname = "trimtab-recap"\n')
    (tree / "src" / "recap_one.py").write_text(f"import leaning_one\n{RECAP}")
    (site / "leaning_one.py").write_text("")
    Wheel(files={"x.pth": f"{tree / 'src'}\n"}, editable=tree).put(site)
    monkeypatch.syspath_prepend(tree / "src")
    forget_installed()
    chat = talk()
    confined = fit(chat, count(chat) - 1, strategy="recap")
    trusted = fit(chat, count(chat) - 1, strategy="recap", config=trimtab.Config(trusted=["trimtab-recap"]))
    assert ids(confined.excluded) == ids(trusted.excluded) == ["m6"]


def test_only_a_trusted_interceptor_may_redact_and_one_that_is_counted_on_in_vain_is_an_error(site: Path) -> None:
    publish(site, "trimtab-tap", "tap_one", REDACT, group="interceptors", entry="tap")
    asked = {"interceptors": ["tap"], "may_redact_protected": ["tap"]}
    with pytest.raises(PluginNotTrustedError, match="only a trusted plugin may shorten what is protected"):
        fit(talk(), 10_000, config=trimtab.Config(**asked))
    result = fit(talk(), 10_000, config=trimtab.Config(**asked, trusted=["trimtab-tap"]))
    assert len(result.truncated) == 1


def test_an_untrusted_strategy_is_never_imported_here_not_even_to_be_listed_or_to_fail(site: Path) -> None:
    publish(site, "trimtab-evil", "evil_one", "raise SystemExit('imported')", entry="evil")
    with pytest.raises(PluginLoadError, match="could not be loaded in a worker: SystemExit: imported") as caught:
        fit(talk(), 10_000, strategy="evil")
    assert caught.value.distribution == "trimtab-evil"
    assert fit(talk(), 10_000).excluded == ()
    assert "evil_one" not in sys.modules


def test_a_configuration_that_confines_nobody_refuses_an_untrusted_strategy_with_the_line_to_add(
    site: Path,
) -> None:
    publish(site, "trimtab-recap", "recap_one", RECAP, entry="recap")
    with pytest.raises(PluginNotTrustedError, match=r"add 'trimtab-recap' to Config\(trusted=") as caught:
        fit(talk(), 10_000, strategy="recap", config=trimtab.Config(untrusted="refuse"))
    assert caught.value.distribution == "trimtab-recap"
    assert "recap_one" not in sys.modules


def test_one_broken_plugin_is_named_and_stops_nobody_else(site: Path) -> None:
    publish(site, "trimtab-broken", "broken_one", "raise SystemExit(3)", entry="broken")
    config = trimtab.Config(trusted=["trimtab-broken"])
    with pytest.raises(PluginLoadError, match=r"trimtab-broken 1\.0"):
        fit(talk(), 10_000, strategy="broken", config=config)
    assert fit(talk(), 10_000, config=config).excluded == ()


def test_a_trusted_interceptor_runs_by_name_and_an_unknown_one_is_an_error(site: Path) -> None:
    publish(site, "trimtab-tap", "tap_one", TAP, group="interceptors", entry="tap")
    config = trimtab.Config(trusted=["trimtab-tap"], interceptors=["tap"])
    assert [entry.reason for entry in fit(talk(), 10_000, config=config).excluded] == ["interceptor"]
    with pytest.raises(ConfigError, match="ghost"):
        fit(talk(), 10_000, config=trimtab.Config(interceptors=["ghost"]))


def test_an_untrusted_interceptor_runs_in_a_worker_when_the_configuration_lists_it_and_only_then(
    site: Path,
) -> None:
    publish(site, "trimtab-tap", "tap_one", TAP, group="interceptors", entry="tap")
    assert fit(talk(), 10_000).calls == ()
    listed = fit(talk(), 10_000, config=trimtab.Config(interceptors=["tap"]))
    assert [(call.plugin, call.confined) for call in listed.calls] == [("tap", True)]
    assert [entry.reason for entry in listed.excluded] == ["interceptor"]
    assert "tap_one" not in sys.modules


@pytest.mark.parametrize(
    ("group", "options"),
    [
        ("codecs", {"format": "odd"}),
        ("tokenizers", {"config": trimtab.Config(models={"gpt-4.1": {"encoding": "odd", "context_limit": 9}})}),
    ],
)
def test_an_untrusted_driver_is_refused_with_the_line_to_add_and_never_imported(
    site: Path, group: str, options: dict[str, object]
) -> None:
    publish(site, "trimtab-odd", "odd_one", "raise SystemExit('imported')", group=group, entry="odd")
    with pytest.raises(PluginNotTrustedError, match=r"add 'trimtab-odd' to Config\(trusted="):
        fit(talk(), 10_000, **options)
    assert "odd_one" not in sys.modules


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnknownStrategyError, match="manual, summarize, truncate, vector-recall"):
        fit(talk(), 10_000, strategy="ghost")
    with pytest.raises(UnknownFormatError, match="chat-completions"):
        fit(talk(), 10_000, format="ghost")


def test_a_registered_tokenizer_that_lies_is_named_and_the_floor_is_used() -> None:
    class Liar:
        profile = "liar"
        version = "1"
        approximate = False

        def __init__(self, answer: object) -> None:
            self.answer = answer

        def count(self, text: str) -> int:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer  # type: ignore[return-value]

    honest = fit(talk(), 10_000).tokens_before
    for answer in (0, -5, 10**9, 2.5, True, None, float("nan"), RuntimeError("no")):
        registry = trimtab.ContextStrategyRegistry()
        registry.register_tokenizer("liar", Liar(answer))
        config = trimtab.Config(models={"m": {"encoding": "liar", "context_limit": 10_000}})
        result = fit(talk(), 10_000, model="m", registry=registry, config=config)
        assert codes(result) == ["TOKENIZER_SUSPECT"]
        assert result.tokens_before > honest // 20
        assert result.tokenizer.approximate


def test_wrong_settings_are_told_with_their_path() -> None:
    from trimtab_sdk import InvalidRequestError

    with pytest.raises(InvalidRequestError, match="shorten_messages") as caught:
        fit(talk(), 10_000, settings={"shorten_messages": "yes"})
    assert caught.value.path == "settings.shorten_messages"
    with pytest.raises(InvalidRequestError, match="shorten"):
        fit(talk(), 10_000, settings={"shorten": True})


def test_interceptors_get_their_own_settings() -> None:
    registry = trimtab.ContextStrategyRegistry()
    tap = Interceptor(lambda request, services: None)
    registry.register_interceptor("tap", tap)
    config = trimtab.Config(interceptors=["tap"])
    fit(talk(), 10_000, registry=registry, config=config)
    assert dict(tap.requests[0].settings) == {}


def test_a_wrong_config_says_which_field() -> None:
    for fields in (
        {"trusted": ["not a name !"]},
        {"on_violation": "shrug"},
        {"limits": {"a": {"seconds": 0}}},
        {"x": 1},
    ):
        with pytest.raises(ConfigError, match=next(iter(fields))):
            trimtab.Config(**fields)


def test_without_a_list_the_registered_interceptors_run_by_name_and_an_empty_list_runs_none() -> None:
    registry = trimtab.ContextStrategyRegistry()
    for name in ("zz", "aa"):
        registry.register_interceptor(name, Interceptor(lambda request, services: insert("note")))
    assert [entry.plugin for entry in fit(talk(), 10_000, registry=registry).inserted] == ["aa", "zz"]
    assert fit(talk(), 10_000, registry=registry, config=trimtab.Config(interceptors=[])).inserted == ()


def test_a_name_that_could_forge_a_label_is_refused() -> None:
    registry = trimtab.ContextStrategyRegistry()
    for name in ("", "Mine", "a]\n[plugin b", "x" * 65):
        with pytest.raises(ConfigError, match="no name"):
            registry.register(name, Strategy(lambda request, services: None))


def test_a_codec_that_cannot_be_loaded_is_passed_over_and_named(site: Path) -> None:
    publish(site, "trimtab-codec", "codec_one", "raise RuntimeError('no')", group="codecs", entry="odd")
    config = trimtab.Config(trusted=["trimtab-codec"])
    result = trimtab.fit(talk(), model="gpt-4.1", config=config)
    assert [(one.code, one.plugin, one.distribution) for one in result.diagnostics] == [
        ("PLUGIN_LOAD_FAILED", "odd", "trimtab-codec")
    ]
    with pytest.raises(PluginLoadError):
        trimtab.fit(talk(), model="gpt-4.1", config=config, format="odd")
