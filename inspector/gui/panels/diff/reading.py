"""The text of the chosen row of the diff: compared off the GUI thread, to be searched and copied, never interpreted."""

from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget

from inspector.core.diff import DiffRow
from inspector.core.message import Message
from inspector.gui.bridge import Task
from inspector.gui.desk import Desk
from inspector.gui.panels.diff.text import diff_sections
from inspector.gui.widgets.find_bar import FindBar
from inspector.gui.widgets.plain_text import PlainText


class DiffReading(QWidget):
    """One message, before and after."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._bridge = desk.bridge
        self._of: DiffRow | None = None
        self._task: Task | None = None
        self.text = PlainText(desk.theme)
        self.text.setAccessibleName("Text of the message, before and after")
        self.find_bar = FindBar(self.text)
        self.text.find_wanted.connect(self.find_bar.open)
        self.rest = QToolButton()
        self.rest.setText("Only the first part is shown. Show all")
        self.rest.setProperty("role", "flat")
        self.rest.clicked.connect(self._show_all)
        self.rest.hide()
        self.text.filled.connect(lambda: self.rest.setVisible(self.text.waiting))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.find_bar, self.text, self.rest):
            column.addWidget(widget, 1 if widget is self.text else 0)

    def read(self, of: DiffRow | None, rival: Message | None = None) -> None:
        """Show this row, None for nothing; `rival` = a summary to be compared with."""
        if of is self._of:
            return
        self._of = of
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if of is None:
            self.text.show_sections(())
        else:
            self._task = self._bridge.run(lambda task: diff_sections(of, rival), self.text.show_sections)

    def restyle(self) -> None:
        """Colours are in the text: it is laid in anew."""
        self.text.restyle()

    def _show_all(self) -> None:
        self.text.show_all()
        self.rest.hide()
