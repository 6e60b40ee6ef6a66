"""While nothing has passed yet: the line that points each client at the proxy, ready to copy."""

from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QScrollArea, QWidget

from inspector.gui.look.build import button, column
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.labels import label
from inspector.proxy.connect import connections

COPY, COPIED = "Copy", "Copied"


class ClientLines(QScrollArea):
    """One line a client; what else there is to say about each is in “Connect a client…”."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Lines that point a client here")
        self.copies: dict[str, QPushButton] = {}
        self._url = ""

    def show_url(self, url: str) -> None:
        """The lines for that address."""
        if url == self._url:
            return
        self._url = url
        self.copies.clear()
        page, grid = QWidget(), QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(6)
        for n, one in enumerate(connections(url)):
            text = one.snippets[0].text.rstrip("\n")
            shown = label(text, wrap=True)
            shown.setFont(mono_font())
            self.copies[one.name] = copy = button(
                COPY, partial(self._copy, one.name, text), about=one.snippets[0].where
            )
            copy.setAccessibleName(f"{COPY}: {one.title}")
            name = QWidget()
            where = label(one.snippets[0].where, role="small")
            column(..., label(one.title, role="strong"), where, ..., of=name, gap=0)
            for at, widget in enumerate((name, shown, copy)):
                grid.addWidget(widget, n, at)
        column(label("Nothing has passed yet. Start an agent with its line:", role="quiet"), grid, ..., of=page, gap=8)
        self.setWidget(page)

    def _copy(self, name: str, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        for other, copy in self.copies.items():
            copy.setText(COPIED if other == name else COPY)
