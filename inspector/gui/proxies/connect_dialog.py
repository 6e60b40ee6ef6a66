"""How a client is pointed at the proxy: the exact lines, ready to copy, and what it will do otherwise."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from inspector.core.errors import InspectorError
from inspector.gui.guard import Guarded
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.labels import label, tip
from inspector.proxy.connect import ClientSetup, Snippet, connections, new_tag

COPIED = "Copied"


class ConnectDialog(QDialog):
    """One client at a time."""

    def __init__(self, parent: QWidget | None, url: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Connect a client")
        self.resize(860, 560)
        self._url = url
        self.clients = QListWidget()
        self.clients.setAccessibleName("Clients")
        self.clients.setMaximumWidth(190)
        self.clients.setSpacing(3)
        self.tag = QLineEdit(new_tag())
        self.tag.setAccessibleName("Tag of this launch")
        self.tag.setToolTip(tip("Stands in the address, so that this launch is told apart from others. May be empty."))
        self.tag.setMaximumWidth(150)
        again = QPushButton("Another")
        again.clicked.connect(lambda: self.tag.setText(new_tag()))
        self.trouble = label(role="bad")
        self.page = QScrollArea()
        self.page.setWidgetResizable(True)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self._connections: tuple[ClientSetup, ...] = connections(url)
        self.clients.addItems([one.title for one in self._connections])
        self._lay_out(again)
        self.tag.textChanged.connect(self._renew)
        self.clients.currentRowChanged.connect(self._show)
        self._renew()
        self.clients.setCurrentRow(0)

    def _lay_out(self, again: QWidget) -> None:
        row = QHBoxLayout()
        for widget in (label("Tag of this launch", role="quiet"), self.tag, again, self.trouble):
            row.addWidget(widget)
        row.addStretch()
        right = QVBoxLayout()
        right.addLayout(row)
        right.addWidget(self.page, 1)
        middle = QHBoxLayout()
        middle.setSpacing(16)
        middle.addWidget(self.clients)
        middle.addLayout(right, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.addLayout(middle, 1)
        column.addWidget(buttons)

    def _renew(self) -> None:
        try:
            self._connections = connections(self._url, self.tag.text().strip())
            self.trouble.clear()
        except InspectorError as failure:
            self.trouble.setText(str(failure))
            return
        self._show(self.clients.currentRow())

    def _show(self, row: int) -> None:
        if 0 <= row < len(self._connections):
            self.page.setWidget(_page(self._connections[row]))


def _page(one: ClientSetup) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 6, 12, 6)
    column.setSpacing(6)
    column.addWidget(label(one.title, role="strong"))
    tried = f" · tried with {one.tried}" if one.tried else ""
    column.addWidget(label(f"Speaks to {one.speaks}: the proxy must forward there{tried}.", role="quiet"))
    for snippet in one.snippets:
        column.addSpacing(4)
        column.addWidget(_snippet(snippet))
    if one.effects:
        column.addSpacing(8)
        column.addWidget(label("WHAT IT DOES OTHERWISE, AND WHAT TO SET AGAINST IT", role="caption"))
    for effect in one.effects:
        words = label(f"• {effect.what}")
        words.setWordWrap(True)
        column.addWidget(words)
        if effect.against:
            against = label(f"   → {effect.against}", role="good")
            against.setWordWrap(True)
            column.addWidget(against)
    column.addStretch()
    return made


def _snippet(snippet: Snippet) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(3)
    row = QHBoxLayout()
    row.addWidget(label(snippet.where, role="quiet"))
    row.addStretch()
    copy = QPushButton("Copy")
    copy.setAccessibleName(f"Copy: {snippet.where}")
    row.addWidget(copy)
    column.addLayout(row)
    text = _Lines(snippet.text.rstrip("\n"))
    text.setAccessibleName(snippet.where)
    column.addWidget(text)

    def copied() -> None:
        QGuiApplication.clipboard().setText(snippet.text)
        copy.setText(COPIED)

    copy.clicked.connect(copied)
    return made


class _Lines(Guarded, QPlainTextEdit):
    """Text to be copied, as high as its lines are."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setReadOnly(True)
        self.setObjectName("RunText")
        self.setFont(mono_font())
        for bar in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            bar(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width, other lines."""
        super().resizeEvent(event)
        block, height = self.document().firstBlock(), 0.0
        while block.isValid():
            height += self.blockBoundingRect(block).height()
            block = block.next()
        self.setFixedHeight(round(height + 2 * self.document().documentMargin()) + 12)
