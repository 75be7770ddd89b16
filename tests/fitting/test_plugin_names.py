"""Names and words of a plugin's classes: clean, and never told by the plugin's own code in the host's time."""

from __future__ import annotations

import threading

import pytest

import trimtab
from factories import Strategy
from talks import codes, count, fit, talk
from trimtab.fitting.cleaning import class_name
from trimtab_sdk import Edit, Insert, PluginLoadError, Request, Services, Traits, hookimpl

ODD = "\x1b[31m\u202eEdit\n"


class Unnameable(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit("asked for its name")


def shifted(answer: object, *, seconds: float = 20.0) -> trimtab.Fit:
    """Fit with a strategy that answers this, or raises it."""

    def give(request: Request, services: Services) -> object:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    registry = trimtab.ContextStrategyRegistry()
    registry.register("mine", Strategy(give))
    config = trimtab.Config(limits={"mine": {"seconds": seconds}})
    chat = talk()
    return fit(chat, count(chat) - 1, strategy="mine", registry=registry, config=config)


def test_the_name_of_a_class_is_clean_and_short() -> None:
    assert class_name(type(ODD, (), {})()) == "[31m Edit"
    assert len(class_name(type("x" * 5000, (), {})())) == 80
    assert class_name(Unnameable("Mute", (), {})()) == "Mute"


@pytest.mark.parametrize(
    "answer",
    [
        type(ODD, (), {})(),
        Edit(drop={"m0": type(ODD, (list,), {})()}),
        Edit(insert=[type(ODD, (), {})()]),
        Edit(insert=[Insert(type(ODD, (str,), {})("x"))]),
        Unnameable("Mute", (), {})(),
    ],
)
def test_a_rejected_answer_is_told_without_control_characters(answer: object) -> None:
    result = shifted(answer)
    assert codes(result) == ["PLUGIN_REJECTED"]
    assert result.diagnostics[0].message.isprintable()


def test_the_class_of_an_exception_is_told_without_control_characters() -> None:
    error = type(ODD, (Exception,), {})
    result = shifted(error("no"))
    assert result.diagnostics[0].message.startswith("raised [31m Edit: no")


def test_an_exception_whose_text_takes_for_ever_is_late() -> None:
    over = threading.Event()

    class EndlessError(Exception):
        def __str__(self) -> str:
            over.wait()
            return "at last"

    assert codes(shifted(EndlessError(), seconds=0.2)) == ["PLUGIN_TIMEOUT"]
    over.set()


def test_traits_of_another_class_are_told_without_control_characters() -> None:
    class Odd(Strategy):
        @hookimpl
        def trimtab_traits(self) -> Traits:
            return type(ODD, (), {})()  # type: ignore[no-any-return]

    with pytest.raises(PluginLoadError, match=r"answered a \[31m Edit") as caught:
        trimtab.ContextStrategyRegistry().register("mine", Odd(lambda request, services: None))
    assert str(caught.value).isprintable()
