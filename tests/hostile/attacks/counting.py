"""Drivers that lie: a tokenizer says what everything costs, so what it says is bounded."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_REFUSED = "nothing in a plugin directory can be trusted, and a tokenizer runs only when it is"
_count = partial(Attack, family="counts", defence="counter", kind="tokenizer", told=_REFUSED)
SUSPECT = "^TOKENIZER_SUSPECT"


def _driver(count: str, *, head: str = "", profile: str = "'attack'") -> str:
    return f"""
class Clerk:
    version, approximate, calls = "1", False, 0
    profile = {profile}
    honest = staticmethod(lambda text: len(text.encode()) // 4 + 1)
    def count(self, text):
        type(self).calls += 1
        {count}
{head}
attack = Clerk()
"""


_ENTRY = "[trimtab.tokenizers]\nattack = attack_code:attack\n"


def _lies(name: str, does: str, count: str, *, trusted_told: str = SUSPECT) -> Attack:
    return _count(name=name, does=does, source=_driver(count), entry_points=_ENTRY, trusted_told=trusted_told)


ATTACKS = (
    _lies("everything is free", "counts 0 for every text", "return 0"),
    _lies("everything costs one", "counts 1 for every text, however long", "return 1"),
    _lies("less than nothing", "counts -1,000, so that much seems to have room", "return -1000"),
    _lies("more than can be", "counts a number of a hundred digits", "return 10 ** 100"),
    _lies("no number", "counts a bool, then a float, then a text", "return (True, 3.5, '7')[self.calls % 3]"),
    _lies("it raises", "raises instead of counting", "raise ValueError('tried')"),
    _lies(
        "it panics",
        "raises what is no Exception, as a native library does",
        "raise type('Panic', (BaseException,), {})('tried')",
    ),
    _lies("it ends the program", "raises SystemExit while it counts", "raise SystemExit(0)"),
    _lies(
        "honest at first",
        "counts well at first and nothing later",
        "return self.honest(text) if self.calls < 9 else 0",
    ),
    _lies(
        "cheap for a friend",
        "counts nothing for one message only",
        "return 0 if 'crane' in text else self.honest(text)",
    ),
    _count(
        name="half of the truth",
        does="counts half of what a text costs, which is dense and not impossible",
        source=_driver("return max(1, self.honest(text) // 2)"),
        entry_points=_ENTRY,
        trusted="lost",
    ),
    _count(
        name="the name of a built-in",
        does="publishes a tokenizer under the name of the one that is in use",
        defence="metadata",
        source=_driver("return 0"),
        entry_points="[trimtab.tokenizers]\no200k_base = attack_code:attack\n",
        options={"model": "gpt-4.1", "context_limit": 800},
        told="row o200k_base .* refused 'o200k_base' is the name of a built-in",
    ),
    _count(
        name="it runs before it is asked",
        does="acts while its module is imported",
        defence="config",
        source=_driver("return self.honest(text)", head="open(f\"{FACTS['canary']}/imported\", 'w').close()"),
        entry_points=_ENTRY,
        trusted="lost",
    ),
)
