from collections.abc import Generator
from types import ModuleType

import pytest

from factories import Interceptor, Strategy
from trimtab.loading.plugins import INTERCEPT, SHIFT, make_plugin
from trimtab_sdk import Edit, Origin, PluginLoadError, Traits, hookimpl

ORIGIN = Origin("mine", "trimtab-mine", "1.2")


def refuse(subject: object, match: str, hook: str = SHIFT) -> None:
    with pytest.raises(PluginLoadError, match=match) as caught:
        make_plugin(subject, ORIGIN, hook=hook)
    assert (caught.value.plugin, caught.value.distribution, caught.value.version) == (
        "mine",
        "trimtab-mine",
        "1.2",
    )


def test_a_class_in_place_of_an_instance_is_told_about_the_parentheses() -> None:
    refuse(Strategy, "parentheses")


def test_an_object_without_the_hook_is_refused() -> None:
    refuse(object(), "has no trimtab_shift")
    refuse(Interceptor(lambda request, services: None), "has no trimtab_shift")


def test_a_wrapper_is_refused() -> None:
    class Wrapping:
        @hookimpl(wrapper=True)
        def trimtab_shift(self, request: object) -> Generator[None, object, object]:
            return (yield)

    refuse(Wrapping(), "wrapper")


def test_an_unknown_hook_or_argument_is_refused() -> None:
    class Misspelt:
        @hookimpl
        def trimtab_shfit(self, request: object) -> None: ...

    class Greedy:
        @hookimpl
        def trimtab_shift(self, request: object, wallet: object) -> None: ...

    refuse(Misspelt(), "unknown hook")
    refuse(Greedy(), "wallet")


def test_traits_are_read_and_checked() -> None:
    class Typed(Strategy):
        traits: object = Traits(per_turn=True)

        @hookimpl
        def trimtab_traits(self) -> object:
            if isinstance(self.traits, Exception):
                raise self.traits
            return self.traits

    subject = Typed(lambda request, services: None)
    assert make_plugin(subject, ORIGIN, hook=SHIFT).traits.per_turn
    subject.traits = {"per_turn": True}
    refuse(subject, "trimtab_sdk.Traits")
    subject.traits = RuntimeError("boom")
    refuse(subject, "trimtab_traits raised RuntimeError")


def test_a_module_is_a_plugin_and_a_hook_gets_only_the_arguments_it_names() -> None:
    module = ModuleType("tiny")

    @hookimpl
    def trimtab_intercept(services: object) -> Edit:
        return Edit(notes=[str(services)])

    module.trimtab_intercept = trimtab_intercept  # type: ignore[attr-defined]
    plugin = make_plugin(module, ORIGIN, hook=INTERCEPT)
    assert plugin.call(INTERCEPT, request="r", services="s") == Edit(notes=["s"])
