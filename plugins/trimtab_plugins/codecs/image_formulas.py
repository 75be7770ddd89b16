"""What a picture costs in tokens, by the formulas that providers publish.

A rule prices a picture by its size in pixels and its `detail`. Where the size is not known, or the wire has no
such detail, a rule gives the dearest price it knows for such a picture and says that it is not exact. So it
does where published figures for a model differ: the dearer one counts, and is exact when they agree.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from trimtab_plugins.codecs.image_sizes import Size

PHOTOGRAPH: Size = (4032, 3024)
"""What a picture of unknown size is taken for where no limit bounds its price: 12 megapixels, as phones take."""

_OPENAI_PATCH = 32
_TILE = 512
_TILED_LONG_SIDE, _TILED_SHORT_SIDE = 2048, 768
_MOST_TILES = 8

_CLAUDE_PATCH = 28
_CLAUDE_MEASURED_PIXELS = 2_000_000

_GEMINI_2_TILE, _GEMINI_2_SMALL, _GEMINI_2_TOKENS = 768, 384, 258


class ImagePrice(NamedTuple):
    """Tokens, and whether a published formula gives exactly this figure."""

    tokens: int
    exact: bool


class ImageRule(Protocol):
    """The prices of one family of models."""

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Price a picture of this size (None: not known) at this detail (empty: the wire's default)."""
        ...


@dataclass(frozen=True, slots=True)
class PatchLimits:
    """What a picture is made smaller to: its longest side in pixels, its patches. None does not limit."""

    side: int | None = None
    patches: int | None = None


def openai_patches(size: Size, limits: PatchLimits) -> int:
    """Give the patches of 32 x 32 pixels that cover a picture after it was fitted into the limits.

    First the longest side; then, when there are too many patches, both sides by one factor, chosen so that one
    of them ends at the edge of a patch (OpenAI, guide "Images and vision").
    """
    width, height = _within(size, limits.side)
    patches = _cover(width, _OPENAI_PATCH) * _cover(height, _OPENAI_PATCH)
    if limits.patches is None or patches <= limits.patches:
        return patches
    shrink = math.sqrt(_OPENAI_PATCH**2 * limits.patches / (width * height))
    across, down = width * shrink / _OPENAI_PATCH, height * shrink / _OPENAI_PATCH
    shrink *= min(max(1, math.floor(across)) / across, max(1, math.floor(down)) / down)
    fitted = math.floor(width * shrink), math.floor(height * shrink)
    return min(limits.patches, _cover(fitted[0], _OPENAI_PATCH) * _cover(fitted[1], _OPENAI_PATCH))


def _within(size: Size, side: int | None) -> Size:
    scale = 1.0 if side is None else min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _cover(length: int, unit: int) -> int:
    return max(1, -(-length // unit))


@dataclass(frozen=True, slots=True)
class PatchRule:
    """OpenAI models that see patches: tokens are the patches times a factor, rounded up.

    `hundredths` is the factor times 100. `limits` has the limits for each detail, more than one where published
    figures differ.
    """

    hundredths: int
    limits: Mapping[str, tuple[PatchLimits, ...]]

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Give patches times factor."""
        published = self.limits.get(detail or "auto")
        if published is None:
            return ImagePrice(max(self._prices(size, sum(self.limits.values(), ()))), False)
        prices = set(self._prices(size, published))
        return ImagePrice(max(prices), size is not None and len(prices) == 1)

    def _prices(self, size: Size | None, limits: Iterable[PatchLimits]) -> list[int]:
        patches = (most_patches(limit) if size is None else openai_patches(size, limit) for limit in limits)
        return [-(-count * self.hundredths // 100) for count in patches]


def most_patches(limits: PatchLimits) -> int:
    """Give the patches of the largest picture that the limits let through, or of a photograph without limits."""
    square = None if limits.side is None else _cover(limits.side, _OPENAI_PATCH) ** 2
    bounds = [bound for bound in (square, limits.patches) if bound is not None]
    return min(bounds) if bounds else openai_patches(PHOTOGRAPH, limits)


@dataclass(frozen=True, slots=True)
class TileRule:
    """OpenAI models that see tiles: a base, and a price for each tile of 512 x 512 pixels.

    A picture is fitted into 2048 x 2048 and then to a short side of 768, never enlarged; at detail low only the
    base is paid, whatever the size (OpenAI, guide "Images and vision").
    """

    base: int
    tile: int

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Give the base and the tiles."""
        if detail == "low":
            return ImagePrice(self.base, True)
        tiles = _MOST_TILES if size is None else openai_tiles(size)
        return ImagePrice(self.base + tiles * self.tile, size is not None and detail in ("", "auto", "high"))


def openai_tiles(size: Size) -> int:
    """Give the tiles of 512 x 512 pixels that cover a picture after it was fitted; at most 8."""
    scale = min(1.0, _TILED_LONG_SIDE / max(size), _TILED_SHORT_SIDE / min(size))
    return _cover(math.floor(size[0] * scale), _TILE) * _cover(math.floor(size[1] * scale), _TILE)


@dataclass(frozen=True, slots=True)
class ClaudeRule:
    """Claude: a token for each patch of 28 x 28 pixels, the picture first fitted into both limits.

    Published in Anthropic's guide "Vision". Pictures above 2 megapixels were measured to cost less than this,
    so for them, as for any that must be made smaller, the figure is an upper bound.
    """

    side: int
    tokens: int

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Give the patches of the fitted picture; Claude knows no detail."""
        if size is None:
            return ImagePrice(self.tokens, False)
        tokens = claude_patches(size, self.side, self.tokens)
        untouched = tokens == _claude_patches_at(max(size), size)
        return ImagePrice(tokens, untouched and size[0] * size[1] <= _CLAUDE_MEASURED_PIXELS)


def claude_patches(size: Size, side: int, most: int) -> int:
    """Give the patches of the largest picture of the same shape within `side` pixels and `most` patches."""
    edges = range(1, min(max(size), side) + 1)
    fitted = bisect_right(edges, most, key=lambda edge: _claude_patches_at(edge, size))
    return _claude_patches_at(max(1, fitted), size)


def _claude_patches_at(long_side: int, size: Size) -> int:
    short_side = max(1, round(long_side * min(size) / max(size)))
    return _cover(long_side, _CLAUDE_PATCH) * _cover(short_side, _CLAUDE_PATCH)


class GeminiTileRule:
    """Gemini 2.x: 258 tokens for a small picture and for each tile of a larger one.

    Google's guide "Understand and count tokens" says 258 up to 384 pixels a side, and above that tiles of
    768 x 768 pixels, which it describes only roughly, so the figure is exact for small pictures alone.
    """

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Give 258 for each tile; no size costs as much as a photograph."""
        if size is not None and max(size) <= _GEMINI_2_SMALL:
            return ImagePrice(_GEMINI_2_TOKENS, True)
        width, height = size or PHOTOGRAPH
        return ImagePrice(_GEMINI_2_TOKENS * _cover(width, _GEMINI_2_TILE) * _cover(height, _GEMINI_2_TILE), False)


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """Models that spend at most so many tokens on any picture, by its detail; never exact.

    `tokens` has the most for each detail, `""` for the wire's default; any other word costs the dearest.
    """

    tokens: Mapping[str, int]

    def price(self, size: Size | None, detail: str) -> ImagePrice:
        """Give the most that a picture costs at this detail."""
        word = detail.lower().removeprefix("media_resolution_")
        return ImagePrice(self.tokens.get(word, max(self.tokens.values())), False)
