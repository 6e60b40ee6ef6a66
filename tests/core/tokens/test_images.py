"""Image sizes from the first bytes of each kind of file."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.core.message import Image
from inspector.core.tokens.counted import LARGEST, UNKNOWN, image_tokens, pixel_size

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 10, 20)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10"
    + b"JFIF"
    + b"\0" * 10
    + b"\xff\xc2\x00\x11\x08"
    + struct.pack(">HH", 30, 40)
    + b"\3" * 10
)
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 50, 60)
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 99 | 199 << 14)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x0f\x27\0" + b"\x1f\x4e\0"


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (GIF, (10, 20)),
        (JPEG, (40, 30)),
        (VP8, (50, 60)),
        (VP8L, (100, 200)),
        (VP8X, (10000, 20000)),
        (PNG[:20], None),
        (JPEG[:22], None),
        (b"BM something", None),
        (b"", None),
    ],
)
def test_size(data: bytes, size: tuple[int, int] | None) -> None:
    text = base64.b64encode(data).decode()
    assert pixel_size(Image("image/*", text)) == size
    assert pixel_size(Image("image/*", "data:image/png;base64," + text)) == size


def test_tokens() -> None:
    def of(data: bytes) -> int:
        return image_tokens(Image("image/*", base64.b64encode(data).decode()))

    assert (of(PNG), of(GIF), of(VP8X), of(b"?")) == (410, 1, LARGEST, UNKNOWN)
    assert image_tokens(Image("image/png", url="https://example.org/a.png")) == UNKNOWN


@given(
    st.binary(max_size=80),
    st.sampled_from([b"", PNG[:8], GIF[:4], b"\xff\xd8\xff", VP8[:16], VP8L[:16], VP8X[:16]]),
)
def test_no_bytes_are_too_strange(data: bytes, head: bytes) -> None:
    assert 1 <= image_tokens(Image("image/*", base64.b64encode(head + data).decode())) <= LARGEST


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    assert 1 <= image_tokens(Image("image/*", text)) <= LARGEST
