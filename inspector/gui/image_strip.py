"""The images of a message one below the other, decoded off the GUI thread from the transcript's own bytes."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from inspector.core.errors import InspectorError
from inspector.core.message import Image
from inspector.gui.bridge import Jobs, Task
from inspector.gui.guard import Guarded
from inspector.gui.images import decode
from inspector.gui.numbers import grouped
from inspector.gui.plain import label
from inspector.gui.visible import line

HEIGHT = 220


class Picture(Guarded, QWidget):
    """One picture as wide as there is room, never larger than it is, keeping its shape."""

    def __init__(self, picture: QImage, name: str) -> None:
        super().__init__()
        self._picture = picture
        self.setAccessibleName(name)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        """As it is."""
        return self._picture.size()

    def heightForWidth(self, width: int) -> int:
        """Its height where it is so wide."""
        size = self._picture.size()
        return max(1, min(size.height(), size.height() * width // max(1, size.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Scaled down to fit, from the top left."""
        size = self._picture.size()
        if size.width() > self.width():
            size = size.scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRect(0, 0, size.width(), size.height()), self._picture)


class ImageStrip(Guarded, QScrollArea):
    """Shows the images of one message; hidden where there are none."""

    def __init__(self, bridge: Jobs) -> None:
        super().__init__()
        self._bridge = bridge
        self._tasks: list[Task] = []
        inside = QWidget()
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(13, 8, 13, 8)
        self._column.setSpacing(6)
        self._column.addStretch(1)
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
        while self._column.count() > 1:
            taken = self._column.takeAt(0)
            if taken is not None and (widget := taken.widget()) is not None:
                widget.deleteLater()
        for image in images:
            self._add(image)
        self.setVisible(bool(images))

    def _add(self, image: Image) -> None:
        caption = label(f"{line(image.media_type)} · decoding …", role="quiet")
        caption.setWordWrap(True)
        self._column.insertWidget(self._column.count() - 1, caption)

        def done(found: tuple[QImage, QSize]) -> None:
            picture, size = found
            text = f"{line(image.media_type)} · {grouped(size.width())} × {grouped(size.height())}"
            caption.setText(text)
            self._column.insertWidget(self._column.indexOf(caption) + 1, Picture(picture, text))

        def failed(error: InspectorError) -> None:
            caption.setText(str(error))

        self._tasks.append(self._bridge.run(lambda task: decode(image), done, failed))
