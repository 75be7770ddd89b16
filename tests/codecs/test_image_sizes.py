from __future__ import annotations

import base64
import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from trimtab_plugins.codecs.image_sizes import LARGEST_SIDE, Base64Bytes, image_size, size_in_base64
from trimtab_sdk import Image

UNTIMED = settings(deadline=None)
FORMATS = ["PNG", "JPEG", "WEBP", "GIF"]
SIDES = st.integers(1, 300)
NO_FRAME = b"\xff\xd8\xff\xe0"


def picture(width: int, height: int, format: str = "PNG", **options: object) -> bytes:
    """A picture as a real encoder writes it."""
    written = io.BytesIO()
    Pillow.new("RGB", (width, height)).save(written, format, **options)
    return written.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png_head(width: int, height: int) -> str:
    """The front of a PNG that claims a size."""
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return encoded(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + sides + b"\x08\x02\x00\x00\x00" + bytes(60))


@UNTIMED
@given(SIDES, SIDES, st.sampled_from(FORMATS))
def test_the_size_is_read_from_what_an_encoder_wrote(width: int, height: int, format: str) -> None:
    assert size_in_base64(encoded(picture(width, height, format))) == (width, height)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b"Exif\x00\x00" + bytes(90)}])
def test_every_kind_of_webp_tells_its_size(options: dict[str, object]) -> None:
    assert size_in_base64(encoded(picture(200, 90, "WEBP", **options))) == (200, 90)


@pytest.mark.parametrize(
    "options", [{"progressive": True}, {"icc_profile": bytes(600_000)}, {"comment": b"\xff" * 60_000}]
)
def test_a_jpeg_tells_its_size_however_far_behind_it_stands(options: dict[str, object]) -> None:
    assert size_in_base64(encoded(picture(400, 300, "JPEG", **options))) == (400, 300)


@pytest.mark.parametrize(
    "head", ["", "data:image/png;base64,", "DATA:image/png;Base64,", "data:;base64,", "data:a/b;charset=x;base64,"]
)
def test_base64_may_be_bare_or_a_data_url(head: str) -> None:
    assert size_in_base64(head + encoded(picture(33, 44))) == (33, 44)


def test_base64_may_be_wrapped_in_lines_unpadded_or_safe_for_urls() -> None:
    data = picture(250, 254, "JPEG")
    text = encoded(data)
    wrapped = "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    assert size_in_base64(wrapped) == (250, 254)
    assert size_in_base64(text.rstrip("=")) == (250, 254)
    assert size_in_base64(base64.urlsafe_b64encode(data).decode()) == (250, 254)


def test_a_stated_size_goes_before_the_data_and_data_before_an_address() -> None:
    data = encoded(picture(10, 20))
    assert image_size(Image(data=data, width=640, height=480)) == (640, 480)
    assert image_size(Image(data=data, width=640)) == (10, 20)
    assert image_size(Image(url="https://x.test/a.png", data=data)) == (10, 20)
    assert image_size(Image(url=f"data:image/png;base64,{data}")) == (10, 20)
    assert image_size(Image(url="https://x.test/a.png")) is None
    assert image_size(Image()) is None


@pytest.mark.parametrize("sides", [(LARGEST_SIDE + 1, 1), (1, 2**31), (0, 5), (5, 0)])
def test_a_size_that_no_picture_has_is_not_believed(sides: tuple[int, int]) -> None:
    assert size_in_base64(png_head(*sides)) is None
    assert image_size(Image(url="https://x.test/a.png", width=sides[0], height=sides[1])) is None
    assert size_in_base64(png_head(LARGEST_SIDE, LARGEST_SIDE)) == (LARGEST_SIDE, LARGEST_SIDE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data:image/png;base64,",
        "data:image/png,%89PNG",
        "data:" + "x" * 400 + ";base64," + png_head(5, 5),
        png_head(5, 5)[:20],
        "é" + png_head(5, 5),
        "\ud800" * 50,
        encoded(b'<svg width="10" height="10"/>' + bytes(60)),
        encoded(picture(5, 5, "TIFF")),
        encoded(b"RIFF\x00\x00\x00\x00WEBPnone" + bytes(40)),
        encoded(picture(5, 5, "JPEG")[:40]),
    ],
)
def test_what_tells_no_size_in_a_known_way_has_none(text: str) -> None:
    assert size_in_base64(text) is None


@given(
    st.one_of(
        st.text(),
        st.binary().map(lambda rest: encoded(b"\xff\xd8\xff" + rest)),
        st.builds(
            lambda kind, at, junk: encoded(picture(9, 9, kind)[:at] + junk),
            st.sampled_from(FORMATS),
            st.integers(0, 80),
            st.binary(max_size=80),
        ),
    )
)
@UNTIMED
def test_no_text_makes_it_raise(text: str) -> None:
    for size in (size_in_base64(text), image_size(Image(url=text)), image_size(Image(data=text))):
        assert size is None or (0 < size[0] <= LARGEST_SIDE and 0 < size[1] <= LARGEST_SIDE)


@pytest.mark.parametrize(
    "data",
    [picture(8, 8) + bytes(30_000_000), NO_FRAME + bytes(30_000_000), b"\xff\xd8" + b"\xff" * 30_000_000],
    ids=["a size in front", "a jpeg without a frame", "a jpeg that never begins"],
)
def test_fifty_megabytes_are_neither_copied_nor_decoded(data: bytes) -> None:
    url = "data:image/png;base64," + encoded(data)
    image_size(Image(data=encoded(picture(8, 8))))
    tracemalloc.start()
    try:
        image_size(Image(url=url))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 70), st.integers(-1, 70)), max_size=6))
def test_bytes_behind_base64_read_like_a_file(data: bytes, reads: list[tuple[int, int]]) -> None:
    judged, mine = io.BytesIO(data), Base64Bytes("skip" + encoded(data), 4)
    for place, amount in reads:
        assert mine.seek(place) == judged.seek(place)
        assert mine.read(amount) == judged.read(amount)
        assert mine.seek(1, 1) == judged.seek(1, 1)
        assert mine.read(2) == judged.read(2)


def test_a_reader_ends_after_sixteen_kibibytes() -> None:
    data = Base64Bytes(encoded(bytes(40_000)), 0)
    assert len(data.read(10_000)) + len(data.read()) == 16 * 1024
    assert data.read(1) == b""
