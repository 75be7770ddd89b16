from __future__ import annotations

import base64
import struct

import pytest

import trimtab
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.media_prices import audio_price, file_price, image_price, priced_image
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import Aspect, Audio, Cost, File, Image, Message, Text, ToolResult

IMAGES: frozenset[Aspect] = frozenset({"images"})


def png(width: int, height: int) -> str:
    """The base64 of the front of a PNG, which holds its size."""
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">LL", width, height)
    return base64.b64encode(head + b"\x08\x02\x00\x00\x00" + bytes(40)).decode()


SQUARE = Image(data=png(1024, 1024))
BY_ADDRESS = Image(url="https://x.test/a.png")


def asks(url: str, detail: str = "auto") -> list[object]:
    picture = {"type": "image_url", "image_url": {"url": url, "detail": detail}}
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}]


def test_a_picture_whose_size_and_model_are_known_is_exact() -> None:
    assert priced_image(SQUARE, "gpt-4o") == (765, True)
    assert priced_image(Image(url=f"data:image/png;base64,{SQUARE.data}"), "gpt-4o") == (765, True)
    assert priced_image(Image(url=BY_ADDRESS.url, width=1024, height=1024), "gpt-4o") == (765, True)
    assert priced_image(SQUARE, "claude-opus-4-7") == (37 * 37, True)
    assert priced_image(Image(data=SQUARE.data, detail="low"), "gpt-6-astra") == (308, True)


def test_a_picture_by_address_has_the_dearest_price_of_its_model() -> None:
    assert priced_image(BY_ADDRESS, "gpt-4o") == (1445, False)
    assert priced_image(BY_ADDRESS, "gpt-6-astra") == (14_364, False)


@pytest.mark.parametrize("model", ["", "any-chat-model"])
def test_a_picture_for_an_unknown_model_has_a_flat_price(model: str) -> None:
    assert priced_image(SQUARE, model) == (image_price(SQUARE), False) == (1500, False)
    assert priced_image(Image(data=SQUARE.data, detail="low"), model) == (85, False)


@pytest.mark.parametrize("codec", [ChatCompletions(), Neutral()], ids=["chat-completions", "neutral"])
def test_a_framing_marks_a_picture_unless_its_price_is_exact(codec: ChatCompletions | Neutral) -> None:
    bare = 3 + len("user")
    for picture in (SQUARE, ToolResult("call", (Text(""), SQUARE))):
        message = Message("x", "user", (picture,))
        assert codec.framing("o200k_base", "gpt-4o").message_cost(message, len) == Cost(bare + 765)
        assert codec.framing("o200k_base", "gpt-4o-search-preview").message_cost(message, len) == Cost(
            bare + 765, IMAGES
        )
        assert codec.framing("o200k_base").message_cost(message, len) == Cost(bare + 1500, IMAGES)


@pytest.mark.parametrize(
    ("model", "chat", "said"),
    [
        ("gpt-4o", asks(f"data:image/png;base64,{SQUARE.data}"), "exact"),
        ("gpt-4o", asks("https://x.test/a.png", "low"), "exact"),
        ("gpt-4o", asks("https://x.test/a.png"), "approximate"),
        ("gpt-6-sol", asks(f"data:image/png;base64,{SQUARE.data}"), "approximate"),
        ("gpt-4o", [{"role": "user", "content": "No picture."}], "none"),
    ],
)
def test_a_report_says_whether_pictures_are_exact(model: str, chat: list[object], said: str) -> None:
    assert trimtab.fit(chat, model=model).tokenizer.images == said


def test_detail_decides_what_a_photograph_costs() -> None:
    url = f"data:image/png;base64,{png(4032, 3024)}"
    auto, high = (trimtab.fit(asks(url, detail), model="gpt-6-astra") for detail in ("auto", "high"))
    assert auto.tokens_after - high.tokens_after == 14_364 - 2942


@pytest.mark.parametrize(
    ("audio", "expected"),
    [
        (Audio(data="A" * 8000, format="wav"), 32),
        (Audio(data="A" * 44_000, format="wav"), 64),
        (Audio(data="A" * 5400, format="mp3"), 64),
        (Audio(data="A", format="opus"), 32),
        (Audio(audio_id="audio_1"), 1500),
    ],
)
def test_sound_costs_32_tokens_for_each_second_begun(audio: Audio, expected: int) -> None:
    assert audio_price(audio) == expected


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("application/pdf", 2 * 1500),
        ("", 2 * 1500),
        ("text/csv", 10_000),
        ("audio/mpeg", 8 * 32),
        ("video/mp4", 2 * 263),
        ("image/png", 1500),
    ],
)
def test_a_file_is_priced_by_its_kind_and_its_size(media_type: str, expected: int) -> None:
    assert file_price(File(data="A" * 40_000, media_type=media_type)) == expected


def test_a_file_elsewhere_has_a_flat_price_and_plain_text_none() -> None:
    assert file_price(File(url="https://x.test/a.pdf")) == file_price(File(file_id="file-1")) == 1500
    assert file_price(File(text="plain words")) == 0
