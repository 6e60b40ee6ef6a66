"""A tool call that wants to be allowed: exactly what it would do, and three answers. Nothing is chosen beforehand.

Our own words stand in labels; the text view holds what the model wrote and nothing else, blanks and tabs made visible.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QApplication, QFrame, QPushButton

from inspector.agent.status import Permission
from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, column, row, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.look.visible import line, visible
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import PlainText

if TYPE_CHECKING:
    from inspector.agent.status import Permit

ANSWERS: "tuple[tuple[Permit, str, str], ...]" = (
    ("once", "&Once", "This call, this time (Alt+O)"),
    ("always", "&Always in this run", "This call, and what the text above says that it covers (Alt+A)"),
    ("no", "&No", "The call is refused; the model learns so, and continues (Alt+N)"),
)


_BLANKS = re.compile(r"(?<=\S)[^\S\n]{40,}(?=\S)")
"""Between two words: what stands after them is easily not seen."""


class QuestionBox(Guarded, QFrame):
    """Hidden while nothing is asked."""

    def __init__(self, theme: Theme, permit: "Callable[[str, Permit], None]") -> None:
        super().__init__()
        self.setObjectName("AskedBox")
        self._permission: Permission | None = None
        self._permit = permit
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(QApplication.doubleClickInterval())
        self._again.timeout.connect(lambda: self._allow(True))
        self.says, self.about, self.covers = (label(role=role, wrap=True) for role in ("strong", "", "small"))
        self.what = PlainText(theme)
        self.what.setAccessibleName("What the call would do")
        self.what.filled.connect(self._show_rest)
        seen = self.what.document().defaultTextOption()
        flags = QTextOption.Flag  # a line's own end is marked, so that one that goes on in the next row is told apart
        seen.setFlags(seen.flags() | flags.ShowTabsAndSpaces | flags.ShowLineAndParagraphSeparators)
        self.what.document().setDefaultTextOption(seen)
        self.rest = small_button("", self.what.show_all)
        self.rest.hide()
        self.buttons: dict[Permit, QPushButton] = {}
        for how, words, means in ANSWERS:
            self.buttons[how] = button(words, partial(self._answer, how), about=means)
            self.buttons[how].setAutoDefault(False)
        answers = row(*self.buttons.values(), ..., gap=7)
        parts = (self.says, self.about, (self.what, 1), self.rest, self.covers, answers)
        column(*parts, of=self, margins=(13, 8, 10, 10), gap=6)
        self.hide()

    def show_permission(self, permission: Permission | None) -> bool:
        """Show it, or nothing. Returns whether it is a new question."""
        before, self._permission = self._permission, permission
        self.setVisible(permission is not None)
        if permission is None or (before is not None and before.id == permission.id):
            return False
        self._allow(not self._again.isActive())
        asked = permission.what
        blanks = max(map(len, _BLANKS.findall(asked.exact)), default=0)
        size = f" ({plural(asked.exact.count(chr(10)) + 1, 'line')}, {plural(len(asked.exact), 'character')}"
        size += f"; with {blanks:,} blanks in a row)" if blanks else ")"
        self.says.setText(f"May it use {line(permission.call.name, 60)}?")
        self.about.setText(visible(asked.says, strict=True).text + (size if asked.exact else ""))
        self.covers.setText(asked.covers)
        self.what.setVisible(bool(asked.exact))
        self.what.setMinimumHeight(self.fontMetrics().height() * min(7, asked.exact.count("\n") + 2))
        self.what.show_sections((Section("", asked.exact, "diff" if asked.is_diff else "exact", strict=True),))
        self._fit()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Never lower than what it says: a splitter does not know of wrapped lines."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        if (layout := self.layout()) and self._permission is not None:
            self.setMinimumHeight(max(0, layout.minimumHeightForWidth(self.width())))

    def _answer(self, how: "Permit", checked: bool = False) -> None:
        """What is shown is answered. The second click of a double click is no answer to what comes next."""
        if self._permission is not None:
            self._again.start()
            self._permit(self._permission.id, how)

    def _allow(self, may: bool) -> None:
        for one in self.buttons.values():
            one.setEnabled(may)

    def _show_rest(self) -> None:
        """Very long: what is beyond the first part is laid in when it is wanted."""
        self.rest.setVisible(self.what.waiting)
        if self.what.waiting and self._permission is not None:
            whole = len(self._permission.what.exact)
            self.rest.setText(f"Cut: only the first part of {whole:,} characters is shown. Show all")

    def restyle(self) -> None:
        """Colours of text are in the text."""
        self.what.restyle()
