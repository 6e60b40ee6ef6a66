"""The images of a message side by side, decoded off the GUI thread from the transcript's own bytes."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Image
from inspector.gui.bridge import Bridge, Task
from inspector.gui.images import decode
from inspector.gui.numbers import grouped
from inspector.gui.plain import label
from inspector.gui.visible import line

HEIGHT = 220


class Picture(QWidget):
    """One picture, never larger than it is, keeping its shape."""

    def __init__(self, picture: QImage, name: str) -> None:
        super().__init__()
        self._picture = picture
        self.setAccessibleName(name)
        self.setMinimumHeight(40)

    def sizeHint(self) -> QSize:
        """As wide as the picture is at the strip's height."""
        return (
            self._picture.size()
            .scaled(2 * HEIGHT, HEIGHT, Qt.AspectRatioMode.KeepAspectRatio)
            .boundedTo(self._picture.size())
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        """Scaled down to fit, from the top left."""
        size = self._picture.size()
        if size.width() > self.width() or size.height() > self.height():
            size = size.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(QRect(0, 0, size.width(), size.height()), self._picture)


class ImageStrip(QScrollArea):
    """Shows the images of one message; hidden where there are none."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._tasks: list[Task] = []
        self._row = QHBoxLayout()
        inside = QWidget()
        inside.setLayout(self._row)
        self._row.setContentsMargins(12, 8, 12, 8)
        self._row.setSpacing(16)
        self._row.addStretch(1)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName("Images of the message")
        self.setMinimumHeight(HEIGHT // 2)
        self.hide()

    def sizeHint(self) -> QSize:
        """A quarter of a screen."""
        return QSize(400, HEIGHT)

    def show_images(self, images: Sequence[Image]) -> None:
        """Show these instead of what was shown."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        while self._row.count() > 1:
            taken = self._row.takeAt(0)
            if taken is not None and (widget := taken.widget()) is not None:
                widget.deleteLater()
        for image in images:
            self._add(image)
        self.setVisible(bool(images))

    def _add(self, image: Image) -> None:
        caption = label(f"{line(image.media_type)} · decoding …", role="quiet")
        caption.setWordWrap(True)
        column = QVBoxLayout()
        column.addWidget(caption)
        column.addStretch(1)
        cell = QWidget()
        cell.setMinimumWidth(160)
        cell.setLayout(column)
        column.setContentsMargins(0, 0, 0, 0)
        self._row.insertWidget(self._row.count() - 1, cell)

        def done(found: tuple[QImage, QSize]) -> None:
            picture, size = found
            text = f"{line(image.media_type)} · {grouped(size.width())} × {grouped(size.height())}"
            caption.setText(text)
            column.insertWidget(0, Picture(picture, text), 1)

        def failed(error: InspectorError) -> None:
            caption.setText(str(error))

        self._tasks.append(self._bridge.run(lambda task: decode(image), done, failed))
