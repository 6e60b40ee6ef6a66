"""Small widgets: a label cut to its width, a caption, a sentence with emphasis, a link row, a progress bar."""

import re
from math import ceil

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QResizeEvent, QTextLayout
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from inspector.core.words import per_cent
from inspector.gui.guard import Guarded
from inspector.gui.look.build import column, row
from inspector.gui.look.colours import ink
from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import LIST_HEAD
from inspector.gui.look.visible import visible

_NUMBER_BEGINS, _NUMBER_CONTINUES = re.compile(r"\s*\$?[\d.,]*$"), re.compile(r"[.,]?\d|\s?[%k]")
THICK = 6
"""Height of a progress bar in pixels."""


class Elided(Guarded, QLabel):
    """A label of one or a few lines, cut with an ellipsis to the available width. Its tooltip has the whole text."""

    def __init__(self, role: str = "", lines: int = 1) -> None:
        super().__init__()
        self._lines = lines
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(lines > 1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if role:
            self.setProperty("role", role)
        self.whole, self.shorts = "", tuple[str, ...]()

    def show_text(self, text: str, *shorts: str) -> None:
        """Show a text, or the first of its shorter versions that fits."""
        if (text, shorts) != (self.whole, self.shorts):
            self.whole = text
            self.shorts = shorts
            self.setToolTip(tip(text))
            self.setAccessibleName(text)
            self._cut()

    @property
    def least(self) -> int:
        """Width in pixels of the first shorter version of the text, or of the text if there is none."""
        return self.fontMetrics().horizontalAdvance(next(iter(self.shorts), self.whole))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        room = max(0, self.contentsRect().width() - 4)
        metrics = self.fontMetrics()
        texts = (self.whole, *self.shorts)
        if self._lines > 1:
            most = self._lines * metrics.lineSpacing()
            fits = (text for text in texts if _wrapped_height(text, metrics, room) <= most)
            self.setText(next(fits, "") or cut_lines(texts[-1], metrics, room, most))
            return
        fits = (text for text in texts if metrics.horizontalAdvance(text) <= room)
        self.setText(cut_words(next(fits, texts[-1]), metrics, room))


def _wrapped_height(text: str, metrics: QFontMetrics, room: int) -> int:
    return metrics.boundingRect(QRect(0, 0, room, 10_000), Qt.TextFlag.TextWordWrap, text).height()


def cut_lines(text: str, metrics: QFontMetrics, room: int, most: int) -> str:
    """Return the first words of a text that fit into lines of `room` pixels with a total height of `most` pixels."""
    words = text.split(" ")
    while len(words) > 1:
        words.pop()
        if _wrapped_height(shorter := f"{' '.join(words)} …", metrics, room) <= most:
            return shorter
    return cut_words(text, metrics, room)


def cut_words(text: str, metrics: QFontMetrics, room: int) -> str:
    """Cut a text to `room` pixels, preferably after a whole part between dots, and never within a number."""
    if metrics.horizontalAdvance(text) <= room:
        return text
    parts = text.split(" · ")
    for count in range(len(parts) - 1, 0, -1):
        shorter = f"{' · '.join(parts[:count])} …"
        if metrics.horizontalAdvance(shorter) <= room:
            return shorter
    beginning = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room).removesuffix("…")
    if _NUMBER_CONTINUES.match(text, len(beginning)):
        beginning = _NUMBER_BEGINS.sub("", beginning)
    return f"{beginning}…"


class Captioned(QWidget):
    """A chart or a table with a caption above it."""

    def __init__(self, words: str, content: QWidget | None = None) -> None:
        super().__init__()
        self.caption = Elided("caption")
        self.caption.show_text(words)
        self._column = column(row(self.caption, margins=LIST_HEAD), of=self, gap=0)
        if content is not None:
            self.hold(content)

    def hold(self, content: QWidget) -> None:
        """Show a widget below the caption."""
        self._column.addWidget(content, 1)


class EmphasisLabel(Guarded, QLabel):
    """A sentence whose most important words have a heavier weight. Its text is never interpreted as rich text."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self._strong = (0, 0)
        """Index of the first emphasised character, and the number of emphasised characters."""

    def show_words(self, words: str, strong: str = "", quiet: bool = False) -> None:
        """Show a sentence.

        Args:
            words: The sentence.
            strong: The part of it to emphasise.
            quiet: Write it in the second-rank text colour.
        """
        self._strong = (max(words.find(strong), 0), len(strong) if strong in words else 0)
        self.setText(words)
        self.updateGeometry()
        self.update()
        if self.property("role") != (role := "quiet" if quiet else ""):
            self.setProperty("role", role)
            self.style().unpolish(self)
            self.style().polish(self)

    def _lay_out(self, width: float) -> tuple[QTextLayout, float]:
        """Return the lines of the sentence at a width in pixels, and their height."""
        layout = QTextLayout(self.text(), self.font())
        emphasis = QTextLayout.FormatRange()
        emphasis.start, emphasis.length = self._strong
        emphasis.format.setFontWeight(QFont.Weight.DemiBold)
        layout.setFormats([emphasis])
        height = 0.0
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, height))
            height += line.height()
        layout.endLayout()
        return layout, height

    def heightForWidth(self, width: int) -> int:
        return ceil(self._lay_out(width)[1])

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(240))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            self._lay_out(self.width())[0].draw(painter, QPointF(0, 0))


class LinkButton(Guarded, QPushButton):
    """A clickable row with a name and, in the quiet colour, a description; both are cut with ellipses if needed."""

    def __init__(self, theme: Theme, name: str, about: str, whole: str) -> None:
        super().__init__()
        self._theme = theme
        self._name = visible(" ".join(name.split())).text
        self._about = visible(about).text
        self.setToolTip(tip(whole))
        self.setAccessibleName(f"{name}, {about}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, self.fontMetrics().height() + 9)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.colours
        metrics = self.fontMetrics()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self.underMouse() or self.hasFocus():
                painter.setPen(ink(colours.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
                painter.setBrush(ink(colours.raised))
                painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 5, 5)
            inner = self.rect().adjusted(7, 0, -7, 0)
            middle = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
            about = metrics.elidedText(
                self._about, Qt.TextElideMode.ElideMiddle, inner.width() * 6 // 10
            )
            painter.setPen(ink(colours.quiet))
            painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, about)
            room = QRect(inner)
            room.setRight(inner.right() - metrics.horizontalAdvance(about) - 12)
            painter.setPen(ink(colours.text))
            painter.drawText(
                room,
                middle,
                metrics.elidedText(self._name, Qt.TextElideMode.ElideRight, room.width()),
            )


class ProgressBar(Guarded, QWidget):
    """The progress of a job: `share` from 0 to 1, None if unknown.

    Unlike QProgressBar, it never repaints synchronously.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.share: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(320)
        self.setAccessibleName("Progress")

    def show_share(self, share: float | None) -> None:
        """Show the completed fraction of the job; None if unknown."""
        self.share = share
        self.setAccessibleDescription("" if share is None else per_cent(share))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, THICK)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the groove and, over it, the completed part."""
        whole = QRectF(0, (self.height() - THICK) / 2, self.width(), THICK)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            for colour, share in (
                (self._theme.colours.line, 1),
                (self._theme.colours.accent, self.share or 0),
            ):
                painter.setBrush(ink(colour))
                whole.setWidth(self.width() * share)
                painter.drawRoundedRect(whole, THICK / 2, THICK / 2)
