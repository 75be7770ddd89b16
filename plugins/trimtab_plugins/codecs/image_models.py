"""Which rule prices the pictures of a model, found by the model's name.

Figures of OpenAI's models are those of its guide "Images and vision"; for gpt-6 and gpt-5.5 they agree to the
token with what requests were measured to cost. Figures of Claude are those of Anthropic's guide "Vision".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from trimtab_plugins.codecs.image_formulas import (
    BudgetRule,
    ClaudeRule,
    GeminiTileRule,
    ImagePrice,
    ImageRule,
    PatchLimits,
    PatchRule,
    TileRule,
)
from trimtab_plugins.codecs.image_sizes import Size

_FACTOR = 120
_ANY = PatchLimits()
_LOW = PatchLimits(side=512)
_HIGH = PatchLimits(side=2048, patches=2500)
_HIGH_ANY_SIDE = PatchLimits(patches=2500)
_ORIGINAL = PatchLimits(side=6000, patches=10_000)
_LARGE = PatchLimits(side=2048, patches=6144)
_SMALL = PatchLimits(patches=1536)


def _patches(
    hundredths: int,
    *,
    auto: tuple[PatchLimits, ...],
    high: tuple[PatchLimits, ...],
    low: tuple[PatchLimits, ...],
    original: tuple[PatchLimits, ...] = (),
) -> PatchRule:
    limits = {"auto": auto, "high": high, "low": low, "original": original}
    return PatchRule(hundredths, MappingProxyType({detail: found for detail, found in limits.items() if found}))


def _same_patches(hundredths: int, *limits: PatchLimits) -> PatchRule:
    return _patches(hundredths, auto=limits, high=limits, low=limits)


_GPT_6 = _patches(_FACTOR, auto=(_ANY,), high=(_HIGH_ANY_SIDE,), low=(_LOW,), original=(_ANY,))
_GPT_5_6 = _patches(_FACTOR, auto=(_ANY,), high=(_HIGH,), low=(_LOW,), original=(_ANY,))
_GPT_5_5 = _patches(_FACTOR, auto=(_ORIGINAL,), high=(_HIGH,), low=(_LOW,), original=(_ORIGINAL,))
# At detail low, limits as wide as these were published once, and the prices of detail high were measured.
_GPT_5_4 = _patches(_FACTOR, auto=(_HIGH,), high=(_HIGH,), low=(_LARGE, _HIGH), original=(_ORIGINAL,))
_GPT_5_2 = _same_patches(_FACTOR, _LARGE)
# The guide's older edition limits this model to 1,536 patches.
_GPT_4_1_MINI = _same_patches(162, _LARGE, _SMALL)

_TILES_4 = TileRule(85, 170)
_TILES_4_MINI = TileRule(2833, 5667)
_TILES_5 = TileRule(70, 140)
_TILES_O = TileRule(75, 150)

_CLAUDE_STANDARD = ClaudeRule(side=1568, tokens=1568)
_CLAUDE_HIGH = ClaudeRule(side=2576, tokens=4784)
_CLAUDE_HIGH_SINCE = (4, 7)

_GEMINI_2 = GeminiTileRule()
# Google's guide "Media resolution"; at the default 1,065 to 1,101 were measured for pictures of any size.
_GEMINI_3 = BudgetRule(MappingProxyType({"": 1120, "low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}))
# No figure of DeepSeek's own is published; this one is in use among its clients.
_DEEPSEEK = BudgetRule(MappingProxyType({"": 384}))

# The models that the published tables name.
_PUBLISHED: dict[str, ImageRule] = {
    "gpt-6-astra": _GPT_6,
    "gpt-5.6-sol": _GPT_5_6,
    "gpt-5.6-terra": _GPT_5_6,
    "gpt-5.6-luna": _GPT_5_6,
    "gpt-5.5": _GPT_5_5,
    "gpt-5.4": _GPT_5_4,
    "gpt-5.4-mini": _GPT_5_4,
    "gpt-5.4-nano": _GPT_5_4,
    "gpt-5.2": _GPT_5_2,
    "gpt-5.1": _TILES_5,
    "gpt-5": _TILES_5,
    "gpt-4.1": _TILES_4,
    "gpt-4.1-mini": _GPT_4_1_MINI,
    "gpt-4o": _TILES_4,
    "gpt-4o-mini": _TILES_4_MINI,
    "o1": _TILES_O,
    "o1-pro": _TILES_O,
    "o3": _TILES_O,
}

# Their relatives, which no table names: the first pattern that matches the front of a name.
_RELATED: tuple[tuple[str, ImageRule], ...] = (
    (r"gpt-([6-9]|[12]\d)", _GPT_6),
    (r"gpt-5\.[6-9]", _GPT_5_6),
    (r"gpt-5\.5", _GPT_5_5),
    (r"gpt-5\.4", _GPT_5_4),
    (r"gpt-5\.[23]", _GPT_5_2),
    (r"gpt-5(\.1)?-.*nano", _same_patches(246, _SMALL)),
    (r"gpt-5(\.1)?-.*mini", _same_patches(162, _SMALL)),
    (r"gpt-5", _TILES_5),
    (r"gpt-4\.1-mini", _GPT_4_1_MINI),
    (r"gpt-4\.1-nano", _same_patches(246, _LARGE)),
    (r"(gpt-4o|chatgpt-4o).*mini", _TILES_4_MINI),
    (r"gpt-4|chatgpt-4o", _TILES_4),
    (r"o4-mini|codex-mini", _same_patches(172, _LARGE)),
    (r"o\d", _TILES_O),
    (r"gemini-([01]|2)(?!\d)", _GEMINI_2),
    (r"gemini-", _GEMINI_3),
    (r"deepseek", _DEEPSEEK),
)
_RELEASE = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|@.*|-latest)$")
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(?:(\d+)(?:[-.](\d{1,2})(?!\d))?)?")


@dataclass(frozen=True, slots=True)
class _Related:
    """The rule of a relative: good for a figure, never exact."""

    rule: ImageRule

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        return ImagePrice(self.rule.price(size, detail).tokens, False)


@lru_cache(maxsize=256)
def image_rule(model: str) -> ImageRule | None:
    """Give the rule for a model, or None when nothing is known about models of that name.

    Case, the provider before a slash and the date of a release make no difference, and a fine-tuned model
    (`ft:gpt-4o:acme::1`) costs what its base costs. A model that no published table names has the figures of
    its nearest relative, and no price of it is exact.
    """
    name = _bare(model.lower())
    published = _PUBLISHED.get(name) or _claude_rule(name) or _gemini_2(name)
    if published is not None:
        return published
    for pattern, rule in _RELATED:
        if re.match(pattern, name):
            return _Related(rule)
    return None


def _bare(name: str) -> str:
    name = name.rpartition("/")[2]
    if name.startswith("ft:"):
        name = name.split(":")[1]
    return _RELEASE.sub("", name)


def _claude_rule(name: str) -> ImageRule | None:
    found = _CLAUDE.search(name)
    if found is None:
        return None
    if found[1] is None:
        return _Related(_CLAUDE_HIGH)
    version = (int(found[1]), int(found[2] or 0))
    return _CLAUDE_HIGH if version >= _CLAUDE_HIGH_SINCE else _CLAUDE_STANDARD


def _gemini_2(name: str) -> ImageRule | None:
    return _GEMINI_2 if re.match(r"gemini-2(?!\d)", name) else None
