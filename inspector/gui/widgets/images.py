"""An image of a transcript, from the transcript's own bytes and from nothing else.

The bytes decide what is tried, by their first few; only PNG, JPEG, GIF and WebP are. The size is asked before a single
pixel is decoded. A URL or a path is never looked at.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize
from PySide6.QtGui import QImage, QImageReader

from inspector.core.errors import InspectorError
from inspector.core.message import Image

MOST_BYTES: Final = 32_000_000
MOST_PIXELS: Final = 40_000_000
MOST_SIDE: Final = 16_384
MEGABYTES: Final = 256
"""What Qt may allocate for one image."""
SHOWN_SIDE: Final = 1_600
"""A larger image is scaled down while it is decoded."""


class CannotShow(InspectorError):
    """The image is not shown. The sentence says why."""


def measure(image: Image) -> tuple[QSize, QSize]:
    """How large it is shown, and how large it is; nothing is decoded. Raises CannotShow. Any thread."""
    _, _, size = _reader(image)
    return _shown(size), size


def decode(image: Image) -> QImage:
    """The picture, scaled down to what a screen can use. Raises CannotShow. Any thread."""
    reader, _kept, size = _reader(image)
    if _shown(size) != size:
        reader.setScaledSize(_shown(size))
    picture = reader.read()
    if picture.isNull():
        raise CannotShow(f"image cannot be shown: {reader.errorString().rstrip('.').lower()}")
    return picture


def _shown(size: QSize) -> QSize:
    longest = max(size.width(), size.height())
    return size * (SHOWN_SIDE / longest) if longest > SHOWN_SIDE else size


def _reader(image: Image) -> tuple[QImageReader, QBuffer, QSize]:
    """What reads the transcript's bytes, these (which it does not keep), and the true size. Raises CannotShow."""
    data = image_bytes(image)
    kind = sniff(data)
    if kind is None:
        raise CannotShow(f"image cannot be shown: its bytes are none of PNG, JPEG, GIF, WebP ({len(data):,} bytes)")
    QImageReader.setAllocationLimit(MEGABYTES)
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind.encode()))
    reader.setDecideFormatFromContent(False)
    reader.setAutoDetectImageFormat(False)
    reader.setAutoTransform(True)
    size = reader.size()
    _check_size(size)
    return reader, buffer, size


def image_bytes(image: Image) -> bytes:
    """The bytes the transcript holds. Raises CannotShow where it holds none."""
    if not image.data:
        where = f"the transcript holds only where it was: {image.url[:200]}" if image.url else "it holds no bytes"
        raise CannotShow(f"image cannot be shown: {where}")
    if len(image.data) > MOST_BYTES * 4 // 3:
        raise CannotShow(f"image cannot be shown: larger than {MOST_BYTES // 1_000_000} MB")
    try:
        return base64.b64decode("".join(image.data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise CannotShow("image cannot be shown: its base64 is broken") from None


def sniff(data: bytes) -> str | None:
    """The Qt name of the image format the bytes begin with."""
    return next((name for name, test in _SIGNS.items() if test(data)), None)


_SIGNS: dict[str, Callable[[bytes], bool]] = {
    "png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
}


def _check_size(size: QSize) -> None:
    width, height = size.width(), size.height()
    if width <= 0 or height <= 0:
        raise CannotShow("image cannot be shown: broken, it does not tell its size")
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise CannotShow(f"image cannot be shown: {width:,} × {height:,} pixels are too many")
