from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab_plugins.codecs.image_formulas import (
    PHOTOGRAPH,
    PatchLimits,
    claude_patches,
    openai_patches,
    openai_tiles,
)
from trimtab_plugins.codecs.image_models import image_rule
from trimtab_plugins.codecs.image_sizes import LARGEST_SIDE, Size

UNTIMED = settings(deadline=None)
SIDES = st.one_of(st.integers(1, 5000), st.integers(1, LARGEST_SIDE))
SIZES = st.tuples(SIDES, SIDES)
DETAILS = st.sampled_from(["", "auto", "low", "high", "original", "ultra_high", "odd"])
CAPPED = {
    "gpt-5.5": 12_000,
    "gpt-5.4": 12_000,
    "gpt-5.2": 7373,
    "gpt-4.1-mini": 9954,
    "gpt-4.1": 1445,
    "gpt-4o": 1445,
    "gpt-4o-mini": 48_169,
    "gpt-5": 1190,
    "o3": 1275,
    "claude-sonnet-4-6": 1568,
    "claude-opus-4-7": 4784,
    "gemini-3.8-flash": 2240,
    "deepseek-flash": 384,
}
MODELS = st.sampled_from([*CAPPED, "gpt-6-astra", "gpt-5.6-sol", "gpt-6.2-sol", "o4-mini", "gemini-2.5-pro"])


def price(model: str, size: Size | None, detail: str = "") -> tuple[int, bool]:
    rule = image_rule(model)
    assert rule is not None
    return tuple(rule.price(size, detail))  # type: ignore[return-value]


def tokens(model: str, size: Size | None, detail: str = "") -> int:
    return price(model, size, detail)[0]


@pytest.mark.parametrize(
    ("model", "detail", "size", "expected"),
    [
        ("gpt-6-astra", "auto", PHOTOGRAPH, 14_364),
        ("gpt-6-astra", "", PHOTOGRAPH, 14_364),
        ("gpt-6-astra", "original", PHOTOGRAPH, 14_364),
        ("gpt-6-astra", "high", PHOTOGRAPH, 2942),
        ("gpt-6-astra", "low", PHOTOGRAPH, 231),
        ("gpt-5.6-luna", "auto", PHOTOGRAPH, 14_364),
        ("gpt-5.6-luna", "high", PHOTOGRAPH, 2942),
        ("gpt-5.5", "auto", PHOTOGRAPH, 11_868),
        ("gpt-5.4", "auto", PHOTOGRAPH, 2942),
        ("gpt-5.4-mini", "high", (1600, 1600), 3000),
        ("gpt-5.2", "auto", PHOTOGRAPH, 3687),
        ("gpt-6-astra", "auto", (1, 1), 2),
        ("gpt-6-astra", "auto", (33, 32), 3),
        ("gpt-4.1-mini", "auto", (128, 64), 13),
        ("gpt-4o", "high", (1024, 1024), 765),
        ("gpt-4o", "auto", (2048, 4096), 1105),
        ("gpt-4o", "low", (4096, 8192), 85),
        ("gpt-4.1", "", (128, 64), 255),
        ("gpt-4o-mini", "high", (128, 64), 8500),
        ("gpt-4o-mini", "low", (128, 64), 2833),
        ("gpt-5.1", "high", (1024, 1024), 630),
        ("o3", "high", (128, 64), 225),
        ("claude-opus-4-7", "", (1000, 1000), 36 * 36),
        ("claude-opus-4-7", "", (1920, 1000), 69 * 36),
        ("claude-sonnet-4-5", "", (1568, 784), 1568),
        ("claude-sonnet-4-5", "", (1092, 1092), 39 * 39),
        ("claude-sonnet-4-5", "", (200, 200), 64),
        ("gemini-2.5-pro", "", (384, 384), 258),
    ],
)
def test_published_figures_are_met_exactly(model: str, detail: str, size: Size, expected: int) -> None:
    assert price(model, size, detail) == (expected, True)


@pytest.mark.parametrize(
    ("size", "limits", "expected"),
    [
        ((1024, 1024), PatchLimits(patches=1536), 1024),
        ((1800, 2400), PatchLimits(patches=1536), 33 * 44),
        ((1600, 1600), PatchLimits(patches=1536), 39 * 39),
        (PHOTOGRAPH, PatchLimits(), 126 * 95),
        (PHOTOGRAPH, PatchLimits(patches=2500), 57 * 43),
        (PHOTOGRAPH, PatchLimits(side=512), 16 * 12),
        ((65_535, 32), PatchLimits(patches=1536), 1536),
        ((3000, 1), PatchLimits(side=512), 16),
    ],
)
def test_patches_are_those_of_the_fitted_picture(size: Size, limits: PatchLimits, expected: int) -> None:
    assert openai_patches(size, limits) == expected


@pytest.mark.parametrize(
    ("size", "tiles"), [((512, 512), 1), ((513, 512), 2), ((768, 768), 4), ((4096, 1536), 8), ((9000, 100), 4)]
)
def test_tiles_are_those_of_the_fitted_picture(size: Size, tiles: int) -> None:
    assert openai_tiles(size) == tiles


@pytest.mark.parametrize(
    ("size", "side", "most", "expected"),
    [
        ((2560, 1440), 2576, 4784, 92 * 52),
        ((5120, 2880), 2576, 4784, 92 * 52),
        ((3000, 10), 1568, 1568, 56),
        ((1600, 1600), 1568, 1568, 39 * 39),
    ],
)
def test_claude_sees_the_largest_picture_within_both_limits(
    size: Size, side: int, most: int, expected: int
) -> None:
    assert claude_patches(size, side, most) == expected


@pytest.mark.parametrize(
    ("model", "detail", "size"),
    [
        ("claude-opus-5-5", "", (2560, 1440)),
        ("claude-sonnet-4-5", "", (1600, 1200)),
        ("gemini-2.5-pro", "", (385, 100)),
        ("gemini-3.8-flash", "", (100, 100)),
        ("deepseek-flash", "", (100, 100)),
        ("gpt-4o", "original", (100, 100)),
        ("gpt-5.2", "original", (100, 100)),
        ("gpt-6-astra", "odd", (100, 100)),
    ],
)
def test_what_is_measured_lower_roughly_said_or_not_offered_is_not_exact(
    model: str, detail: str, size: Size
) -> None:
    assert not price(model, size, detail)[1]


def test_where_published_figures_differ_the_dearer_counts_and_is_exact_when_they_agree() -> None:
    assert price("gpt-4.1-mini", (1024, 1024)) == (1659, True)
    assert price("gpt-4.1-mini", (1600, 1600)) == (4050, False)
    assert price("gpt-5.4", (1024, 1024), "low") == (1229, True)
    assert price("gpt-5.4", PHOTOGRAPH, "low") == (3687, False)


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("", 1120),
        ("low", 280),
        ("medium", 560),
        ("high", 1120),
        ("ultra_high", 2240),
        ("MEDIA_RESOLUTION_LOW", 280),
    ],
)
def test_gemini_spends_a_budget_by_resolution(detail: str, expected: int) -> None:
    assert price("gemini-3.8-flash", PHOTOGRAPH, detail) == (expected, False)
    assert price("gemini-4-argon", None, detail) == (expected, False)


@pytest.mark.parametrize(
    ("model", "detail", "expected"),
    [
        ("gpt-6-astra", "", 14_364),
        ("gpt-6-astra", "high", 3000),
        ("gpt-6-astra", "low", 308),
        ("gpt-5.5", "", 12_000),
        ("gpt-4o", "", 1445),
        ("claude-opus-4-7", "", 4784),
        ("claude-sonnet-4-6", "", 1568),
        ("gemini-2.5-pro", "", 258 * 6 * 4),
        ("deepseek-flash", "", 384),
    ],
)
def test_an_unknown_size_costs_the_dearest_and_is_not_exact(model: str, detail: str, expected: int) -> None:
    assert price(model, None, detail) == (expected, False)


def test_the_base_price_of_tile_models_needs_no_size() -> None:
    assert price("gpt-4o", None, "low") == (85, True)


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-4o",
        "GPT-4o",
        "gpt-4o-2024-08-06",
        "openrouter/openai/gpt-4o",
        "ft:gpt-4o-2024-08-06:acme::1",
        "gpt-4o-latest",
    ],
)
def test_provider_release_case_and_tuning_of_a_name_make_no_difference(name: str) -> None:
    assert image_rule(name) is image_rule("gpt-4o")


@pytest.mark.parametrize(
    ("name", "relative"),
    [
        ("claude-opus-4-7-20260416", "claude-opus-4-7"),
        ("claude-haiku-5-5", "claude-opus-4-7"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-5"),
        ("claude-3-5-sonnet-latest", "claude-sonnet-4-5"),
        ("claude-3-opus@20240229", "claude-sonnet-4-5"),
        ("claude-fable-5-1", "claude-opus-4-7"),
    ],
)
def test_claude_models_go_by_their_version(name: str, relative: str) -> None:
    assert image_rule(name) == image_rule(relative)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-6-sol", 14_364),
        ("chatgpt/gpt-6.1-terra", 14_364),
        ("gpt-5.6-cyber", 14_364),
        ("gpt-5.5-pro", 11_868),
        ("gpt-5.4-pro", 2942),
        ("gpt-5.3-codex", 3687),
        ("gpt-5-mini", 2353),
        ("gpt-5-nano", 3572),
        ("gpt-5-codex", 630),
        ("gpt-4.1-nano", 7558),
        ("gpt-4-turbo", 765),
        ("gpt-4o-mini-search-preview", 25_501),
        ("o4-mini", 5284),
        ("o3-pro", 675),
        ("claude-mythos-preview", 4740),
        ("gemini-1.5-pro", 6192),
    ],
)
def test_a_model_no_table_names_costs_what_its_relatives_do_and_never_exactly(name: str, expected: int) -> None:
    assert price(name, PHOTOGRAPH) == (expected, False)
    assert not price(name, (10, 10), "low")[1]


@pytest.mark.parametrize("name", ["", "any-chat-model", "llama-4", "gpt-oss-120b", "gpt-35-turbo", "ft:", "/"])
def test_nothing_is_known_about_other_models(name: str) -> None:
    assert image_rule(name) is None


@given(st.text(max_size=40))
def test_any_name_has_a_rule_or_none(name: str) -> None:
    rule = image_rule(name)
    assert rule is None or rule.price(None, "").tokens > 0


@UNTIMED
@given(st.sampled_from(sorted(CAPPED)), st.one_of(st.none(), SIZES), DETAILS)
def test_no_picture_costs_more_than_the_published_most(model: str, size: Size | None, detail: str) -> None:
    assert 0 < tokens(model, size, detail) <= CAPPED[model]


@UNTIMED
@given(st.sampled_from(sorted(CAPPED)), SIZES, DETAILS)
def test_an_unknown_size_is_never_cheaper_than_a_known_one(model: str, size: Size, detail: str) -> None:
    assert tokens(model, size, detail) <= tokens(model, None, detail)


@UNTIMED
@given(SIZES, st.sampled_from([768, 2000, 4000]), st.integers(1, 10_000))
def test_patches_stay_within_their_limits(size: Size, side: int, most: int) -> None:
    assert 1 <= openai_patches(size, PatchLimits(patches=most)) <= most
    assert openai_patches(size, PatchLimits(side=side)) <= (-(-side // 32)) ** 2
    assert 1 <= claude_patches(size, side, most) <= most


@UNTIMED
@given(MODELS, SIZES, DETAILS)
def test_a_turned_picture_costs_the_same(model: str, size: Size, detail: str) -> None:
    assert price(model, size, detail) == price(model, (size[1], size[0]), detail)


@UNTIMED
@given(SIZES, st.integers(0, 3000), st.integers(0, 3000), st.sampled_from(["gpt-6-astra", "gemini-2.5-pro"]))
def test_where_nothing_is_made_smaller_a_larger_picture_never_costs_less(
    size: Size, wider: int, higher: int, model: str
) -> None:
    assert tokens(model, size) <= tokens(model, (size[0] + wider, size[1] + higher))


@UNTIMED
@given(SIZES, st.integers(1, 4), st.sampled_from([(1568, 1568), (2576, 4784)]))
def test_an_enlarged_picture_costs_claude_no_less(size: Size, times: int, limits: tuple[int, int]) -> None:
    enlarged = (size[0] * times, size[1] * times)
    assert claude_patches(size, *limits) <= claude_patches(enlarged, *limits)
