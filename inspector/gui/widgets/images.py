"""The images of a message, from the transcript's own bytes and from nothing else: a URL or a path is never looked at.

The bytes decide what is tried, by their first few; only PNG, JPEG, GIF and WebP are. The size is asked before a single
pixel is decoded; decoding is done off the GUI thread, for what is in sight.
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
"""What Qt may allocate for one image."""
SHOWN_SIDE = 1_600
"""A larger image is scaled down while it is decoded."""


HEIGHT = 220
MOST_BYTES = 64_000_000
"""Of decoded pictures that are kept; those in sight are kept in any case."""
MOST = 500
"""Images of a message that are shown at all."""


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
    if len(image.data) > LARGEST_BYTES * 4 // 3:
        raise CannotShow(f"image cannot be shown: larger than {LARGEST_BYTES // 1_000_000} MB")
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


class Picture(Guarded, QWidget):
    """One picture as wide as there is room, never larger than it is, keeping its shape.

    It is decoded when it comes into sight (`wanted`), and may be forgotten when it has left it.
    """

    wanted = Signal(object)

    def __init__(self, image: Image, size: QSize, caption: QLabel) -> None:
        super().__init__()
        self.image, self.caption = image, caption
        self.picture: QImage | None = None
        self._size = size
        self.setAccessibleName(caption.text())
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def in_sight(self) -> bool:
        """Is any of it seen?"""
        return not self.visibleRegion().isEmpty()

    def sizeHint(self) -> QSize:
        return self._size

    def heightForWidth(self, width: int) -> int:
        size = self._size
        return max(1, min(size.height(), size.height() * width // max(1, size.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Scaled down to fit, from the top left."""
        if self.picture is None:
            self.wanted.emit(self)
            return
        size = self._size
        if size.width() > self.width():
            size = size.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRect(0, 0, size.width(), size.height()), self.picture)


class ImageStrip(Guarded, QScrollArea):
    """Shows the images of one message; hidden where there are none. One is decoded at a time."""

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
        """Show these instead of what was shown."""
        for task in (self._measuring, self._decoding):
            if task is not None:
                task.cancel()
        self._measuring = self._decoding = None
        self._waiting, self._kept = [], []
        while self._column.count() > 1:
            item = self._column.takeAt(0)
            if item is not None and (widget := item.widget()) is not None:
                widget.deleteLater()
        captions = [self._caption(f"{line(image.media_type)} · …") for image in images[:MOST]]
        if len(images) > MOST:
            self._caption(f"{plural(len(images) - MOST, 'more image')} not shown")
        if images:
            chosen = list(zip(images, captions, strict=False))
            self._measuring = self._bridge.run(
                lambda task: [_measured(image, task) for image, _ in chosen],
                lambda sizes: self._show(chosen, sizes),
            )
        self.setVisible(bool(images))

    def _caption(self, text: str) -> QLabel:
        caption = label(text, role="quiet", wrap=True)
        self._column.insertWidget(self._column.count() - 1, caption)
        return caption

    def _show(self, chosen: Sequence[tuple[Image, QLabel]], results: Sequence[tuple[QSize, QSize] | str]) -> None:
        for (image, caption), result in zip(chosen, results, strict=True):
            if isinstance(result, str):
                caption.setText(result)
                continue
            shown_size, size = result
            caption.setText(f"{line(image.media_type)} · {grouped(size.width())} × {grouped(size.height())}")
            picture = Picture(image, shown_size, caption)
            picture.wanted.connect(self._want)
            self._column.insertWidget(self._column.indexOf(caption) + 1, picture)

    # -- within the budget -------------------------------------------------------------------------------------------

    def _want(self, picture: Picture) -> None:
        if picture not in self._waiting:
            self._waiting.append(picture)
            self._next()

    def _next(self) -> None:
        """Decode the next that is still in sight; what has left it asks again when it comes back."""
        while self._waiting and self._decoding is None:
            picture = self._waiting.pop()
            if picture.in_sight:
                self._decode(picture)

    def _decode(self, picture: Picture) -> None:
        self._decoding = self._bridge.run(
            lambda task: decode(picture.image),
            lambda image: self._decoded(picture, image),
            lambda error: self._refused(picture, error),
        )

    def _decoded(self, picture: Picture, image: QImage) -> None:
        self._decoding = None
        picture.picture = image
        picture.update()
        self._kept.append(picture)
        held = sum(
            kept_picture.picture.sizeInBytes() for kept_picture in self._kept if kept_picture.picture is not None
        )
        for old in [kept_picture for kept_picture in self._kept if not kept_picture.in_sight]:
            if held <= MOST_BYTES:
                break
            held -= old.picture.sizeInBytes() if old.picture is not None else 0
            old.picture = None
            self._kept.remove(old)
        self._next()

    def _refused(self, picture: Picture, error: InspectorError) -> None:
        self._decoding = None
        picture.caption.setText(str(error))
        picture.hide()
        self._next()


def _measured(image: Image, task: Task) -> tuple[QSize, QSize] | str:
    try:
        return measure(image) if not task.cancelled() else ""
    except CannotShow as why:
        return str(why)
