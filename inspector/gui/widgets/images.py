"""The images of a message, read only from the bytes in the transcript: a URL or a path is never opened.

The first bytes decide the format, which must be PNG, JPEG, GIF or WebP. The size is checked before a pixel is decoded.
Only visible images are decoded, off the GUI thread.
"""

import base64
import binascii
from collections.abc import Callable, Sequence

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QScrollArea, QSizePolicy, QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Image
from inspector.core.words import plural
from inspector.gui.bridge import Bridge, Task
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, holding
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.visible import line

LARGEST_BYTES = 32_000_000
MOST_PIXELS = 40_000_000
MOST_SIDE = 16_384
MEGABYTES = 256
"""Maximum megabytes that Qt may allocate for one image."""
SHOWN_SIDE = 1_600
"""Pixels of the longer side; a larger image is scaled down while it is decoded."""


HEIGHT = 220
MOST_BYTES = 64_000_000
"""Bytes of decoded images that are kept in memory. Visible images are kept in any case."""
MOST = 500
"""Maximum number of images of a message that are shown."""


class CannotShow(InspectorError):
    """Raised if an image cannot be shown; the message says why."""


def measure_image(image: Image) -> tuple[QSize, QSize]:
    """Return the size at which an image is shown, and its true size, without decoding it. Runs on any thread.

    Raises:
        CannotShow: the image is broken, too large, or not in the transcript.
    """
    _, _, size = _open_reader(image)
    return _limit_size(size), size


def decode_image(image: Image) -> QImage:
    """Decode an image, scaled down to at most SHOWN_SIDE pixels. Runs on any thread.

    Raises:
        CannotShow: the image is broken, too large, or not in the transcript.
    """
    reader, _buffer, size = _open_reader(image)
    if _limit_size(size) != size:
        reader.setScaledSize(_limit_size(size))
    picture = reader.read()
    if picture.isNull():
        raise CannotShow(f"image cannot be shown: {reader.errorString().rstrip('.').lower()}")
    return picture


def _limit_size(size: QSize) -> QSize:
    longest = max(size.width(), size.height())
    return size * (SHOWN_SIDE / longest) if longest > SHOWN_SIDE else size


def _open_reader(image: Image) -> tuple[QImageReader, QBuffer, QSize]:
    """Return a reader, the buffer that the caller must keep for it, and the true size. Raises CannotShow."""
    data = image_bytes(image)
    kind = sniff(data)
    if kind is None:
        raise CannotShow(
            f"image cannot be shown: it is not a PNG, JPEG, GIF or WebP ({len(data):,} bytes)"
        )
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
    """Return the bytes of an image in the transcript. Raises CannotShow if there are none."""
    if not image.data:
        reason = "it holds no bytes"
        if image.url:
            reason = f"the transcript holds only its address: {image.url[:200]}"
        raise CannotShow(f"image cannot be shown: {reason}")
    if len(image.data) > LARGEST_BYTES * 4 // 3:
        raise CannotShow(f"image cannot be shown: larger than {LARGEST_BYTES // 1_000_000} MB")
    try:
        return base64.b64decode("".join(image.data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise CannotShow("image cannot be shown: its base64 is broken") from None


def sniff(data: bytes) -> str | None:
    """Return Qt's name of the image format by the first bytes; None if it is not supported."""
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
        raise CannotShow("image cannot be shown: it has no size")
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise CannotShow(f"image cannot be shown: {width:,} × {height:,} pixels are too many")


class Picture(Guarded, QWidget):
    """A picture that is scaled down to the available width if necessary, with its proportions, but never enlarged.

    It emits `became_visible` to request decoding. Its pixels may be discarded when it is no longer visible.
    """

    became_visible = Signal(object)

    def __init__(self, image: Image, size: QSize, caption: QLabel) -> None:
        super().__init__()
        self.image = image
        self.caption = caption
        self.picture: QImage | None = None
        self._size = size
        self.setAccessibleName(caption.text())
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def is_in_sight(self) -> bool:
        """True if any part of the picture is visible."""
        return not self.visibleRegion().isEmpty()

    @property
    def byte_count(self) -> int:
        """Bytes of the decoded picture; 0 if it is not decoded."""
        return self.picture.sizeInBytes() if self.picture is not None else 0

    def sizeHint(self) -> QSize:
        return self._size

    def heightForWidth(self, width: int) -> int:
        size = self._size
        scaled_height = size.height() * width // max(1, size.width())
        return max(1, min(size.height(), scaled_height))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the picture from the top left, scaled down to fit. If it is not decoded, request decoding."""
        if self.picture is None:
            self.became_visible.emit(self)
            return
        size = self._size
        if size.width() > self.width():
            size = size.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRect(0, 0, size.width(), size.height()), self.picture)


class ImageStrip(Guarded, QScrollArea):
    """Shows the images of one message, decoding one at a time; hidden if there are none."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._measuring: Task | None = None
        self._decoding: Task | None = None
        self._waiting: list[Picture] = []
        self._kept: list[Picture] = []
        self._column = column((..., 1), margins=(13, 8, 13, 8), gap=6)
        self.setWidget(holding(self._column))
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName("Images of the message")
        self.setMinimumHeight(3 * self.fontMetrics().height())
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(400, HEIGHT)

    def show_images(self, images: Sequence[Image]) -> None:
        """Replace the images shown."""
        self._clear()
        captions = [self._caption(f"{line(image.media_type)} · …") for image in images[:MOST]]
        if len(images) > MOST:
            self._caption(f"{plural(len(images) - MOST, 'more image')} not shown")
        if images:
            chosen = list(zip(images, captions, strict=False))
            self._measuring = self._bridge.run(
                lambda task: [_measure_or_explain(image, task) for image, _ in chosen],
                lambda sizes: self._show(chosen, sizes),
            )
        self.setVisible(bool(images))

    def _clear(self) -> None:
        for task in (self._measuring, self._decoding):
            if task is not None:
                task.cancel()
        self._measuring = self._decoding = None
        self._waiting, self._kept = [], []
        while self._column.count() > 1:
            item = self._column.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.deleteLater()

    def _caption(self, text: str) -> QLabel:
        caption = label(text, role="quiet", wrap=True)
        self._column.insertWidget(self._column.count() - 1, caption)
        return caption

    def _show(
        self, chosen: Sequence[tuple[Image, QLabel]], results: Sequence[tuple[QSize, QSize] | str]
    ) -> None:
        for (image, caption), result in zip(chosen, results, strict=True):
            if isinstance(result, str):
                caption.setText(result)
                continue
            shown_size, size = result
            caption.setText(
                f"{line(image.media_type)} · {grouped(size.width())} × {grouped(size.height())}"
            )
            picture = Picture(image, shown_size, caption)
            picture.became_visible.connect(self._enqueue)
            self._column.insertWidget(self._column.indexOf(caption) + 1, picture)

    # -- decoding, within a limit of memory ----------------------------------------------------------------------------

    def _enqueue(self, picture: Picture) -> None:
        if picture not in self._waiting:
            self._waiting.append(picture)
            self._decode_next()

    def _decode_next(self) -> None:
        """Decode the next visible picture. A hidden one requests decoding again when it becomes visible."""
        while self._waiting and self._decoding is None:
            picture = self._waiting.pop()
            if picture.is_in_sight:
                self._decode(picture)

    def _decode(self, picture: Picture) -> None:
        self._decoding = self._bridge.run(
            lambda task: decode_image(picture.image),
            lambda image: self._show_picture(picture, image),
            lambda error: self._show_refusal(picture, error),
        )

    def _show_picture(self, picture: Picture, image: QImage) -> None:
        self._decoding = None
        picture.picture = image
        picture.update()
        self._kept.append(picture)
        self._drop_pictures()
        self._decode_next()

    def _drop_pictures(self) -> None:
        """Discard the oldest pictures that are not visible until all kept pictures take at most MOST_BYTES."""
        held = sum(picture.byte_count for picture in self._kept)
        for old in [picture for picture in self._kept if not picture.is_in_sight]:
            if held <= MOST_BYTES:
                return
            held -= old.byte_count
            old.picture = None
            self._kept.remove(old)

    def _show_refusal(self, picture: Picture, error: InspectorError) -> None:
        self._decoding = None
        picture.caption.setText(str(error))
        picture.hide()
        self._decode_next()


def _measure_or_explain(image: Image, task: Task) -> tuple[QSize, QSize] | str:
    try:
        return measure_image(image) if not task.cancelled() else ""
    except CannotShow as why:
        return str(why)
