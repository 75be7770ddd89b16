"""What all contracts share: the subject, what is claimed for it, and that no rule is dropped in silence.

A contract is a class without the prefix Test, so importing it runs nothing. Its abilities are class attributes
that default to no; a test about an ability starts with `self.need("that_ability")`. A test gathers what is wrong
as texts and ends with `self.judge(texts)`, which fails with them and with the first lines of the test's docstring:
these say what the author must do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import ClassVar, NoReturn, TypeAlias

import pytest

RecordProperty: TypeAlias = Callable[[str, object], None]
"""pytest's fixture `record_property`: a name and a value for the report of the running test."""

MOST_FAULTS = 4
NOT_CLAIMED = "not claimed"
NOT_JUDGED = "not judged"
_KIT = "trimtab.conformance."
_KEEPER = "test_no_rule_was_dropped_or_rewritten"


class Contract:
    """The base of every contract. Subclass a contract, not this, and give it the fixture `subject`.

    `abilities` are the names of the class attributes by which something is claimed.
    """

    abilities: ClassVar[tuple[str, ...]] = ()
    _advice = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if _KEEPER in vars(cls):
            raise TypeError(f"{cls.__name__} replaces {_KEEPER}; leave it alone, and mark what fails as xfail")

    @pytest.fixture
    def subject(self) -> object:
        """Give what is tested. A contract's subclass overrides this."""
        pytest.fail("give the contract its subject: write a fixture `subject` that returns it", pytrace=False)

    @pytest.fixture(autouse=True)
    def _know_the_rule(self, request: pytest.FixtureRequest) -> None:
        self._advice = advice_of(request.function)

    def claims(self, ability: str) -> bool:
        """Tell whether the class claims an ability."""
        return bool(getattr(self, ability))

    def need(self, *abilities: str) -> None:
        """End the running test as not claimed unless one of the abilities is."""
        if not any(map(self.claims, abilities)):
            pytest.skip(f"{NOT_CLAIMED}: {' or '.join(abilities)}")

    def not_judged(self, why: str) -> NoReturn:
        """End the running test: another rule is broken, or something is missing, so this one tells nothing."""
        pytest.skip(f"{NOT_JUDGED}: {why}")

    def judge(self, faults: Iterable[str]) -> None:
        """Fail with the first of the faults and with what to do about them; pass when there is none."""
        __tracebackhide__ = True
        found = list(islice(faults, MOST_FAULTS))
        if found:
            raise AssertionError("\n".join([*found, "", f"What to do: {self._advice}"]))

    def test_no_rule_was_dropped_or_rewritten(
        self, request: pytest.FixtureRequest, record_property: RecordProperty
    ) -> None:
        """Take the deletion or the override out, or mark the test as xfail(reason=..., strict=True).

        A contract says something only when all its rules run. One that your plugin cannot keep yet stays in the
        report with its reason, and tells you when it is kept at last.
        """
        record_property("claims", [name for name in self.abilities if self.claims(name)])
        self.judge(dropped_rules(type(self), strict=bool(request.config.getini("xfail_strict"))))


def advice_of(test: Callable[..., object]) -> str:
    """Give the first paragraph of a test's docstring on one line: what to do when it fails."""
    text = inspect.getdoc(test) or ""
    return " ".join(text.partition("\n\n")[0].split())


def dropped_rules(contract: type, *, strict: bool) -> Iterator[str]:
    """Tell which tests of the kit a class deletes or overrides without an xfail that has a reason.

    `strict` says that pytest is configured to be strict with every xfail.
    """
    for name, original in _rules(contract).items():
        own = getattr(contract, name, None)
        if own is original:
            continue
        if not callable(own):
            yield f"{name} is deleted"
        elif not any(_is_honest(mark, strict=strict) for mark in _marks(own)):
            yield f"{name} is overridden without @pytest.mark.xfail(reason=..., strict=True)"


def _rules(contract: type) -> dict[str, object]:
    """Give the kit's own tests of a class, by name."""
    rules: dict[str, object] = {}
    for cls in contract.__mro__:
        if cls.__module__.startswith(_KIT):
            own = {name: test for name, test in vars(cls).items() if name.startswith("test_")}
            rules = {**own, **rules}
    return rules


def _marks(test: object) -> list[pytest.Mark]:
    marks: object = getattr(test, "pytestmark", [])
    return [mark for mark in marks if isinstance(mark, pytest.Mark)] if isinstance(marks, list) else []


def _is_honest(mark: pytest.Mark, *, strict: bool) -> bool:
    reason = mark.kwargs.get("reason")
    return (
        mark.name == "xfail"
        and isinstance(reason, str)
        and bool(reason.strip())
        and bool(mark.kwargs.get("strict", strict))
    )
