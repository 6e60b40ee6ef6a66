"""The box that asks whether a tool call may run."""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QPushButton,
)

from inspector.agent.status import Permission
from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import (
    button,
    column,
    delayed,
    row,
    small_button,
)
from inspector.gui.look.labels import label
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import CHIP_GAP, PANEL_INSETS
from inspector.gui.look.visible import line, visible
from inspector.gui.widgets.pieces import Section
from inspector.gui.widgets.text import PlainText

if TYPE_CHECKING:
    from inspector.agent.status import Permit


ANSWERS: "tuple[tuple[Permit, str, str], ...]" = (
    ("once", "&Once", "Allow this call once (Alt+O)"),
    (
        "always",
        "&Always in this run",
        "Allow this call and, until the run ends, all calls named above the buttons (Alt+A)",
    ),
    ("no", "&No", "Refuse the call; the model receives the refusal and continues (Alt+N)"),
)


_BLANKS = re.compile(r"(?<=\S)[^\S\n]{40,}(?=\S)")
"""A long run of blanks between two words, after which text is easily overlooked."""


class QuestionBox(Guarded, QFrame):
    """Asks whether a tool call may run; hidden while there is no question."""

    def __init__(self, theme: Theme, permit: "Callable[[str, Permit], None]") -> None:
        super().__init__()
        self.setObjectName("AskedBox")
        self._permission: Permission | None = None
        self._permit = permit
        self._again = delayed(
            self, QApplication.doubleClickInterval(), lambda: self._allow(may=True)
        )
        self.says, self.about, self.covers = (
            label(role=role, wrap=True) for role in ("strong", "", "small")
        )
        self.what = PlainText(theme)
        self.what.setAccessibleName("What the call would do")
        self.what.filled.connect(self._show_rest)
        seen = self.what.document().defaultTextOption()
        flags = QTextOption.Flag  # marks the ends of lines, so that wrapped lines can be recognised
        seen.setFlags(seen.flags() | flags.ShowTabsAndSpaces | flags.ShowLineAndParagraphSeparators)
        self.what.document().setDefaultTextOption(seen)
        self.rest = small_button("", self.what.show_all)
        self.rest.hide()
        self.buttons: dict[Permit, QPushButton] = {}
        for how, words, means in ANSWERS:
            self.buttons[how] = button(words, partial(self._answer, how), about=means)
            self.buttons[how].setAutoDefault(False)
        answers = row(*self.buttons.values(), ..., gap=CHIP_GAP)
        parts = (self.says, self.about, (self.what, 1), self.rest, self.covers, answers)
        column(*parts, of=self, margins=PANEL_INSETS, gap=CHIP_GAP)
        self.hide()

    def show_permission(self, permission: Permission | None) -> bool:
        """Show a permission request, or hide the box if there is none. Return True if the request is new."""
        before = self._permission
        self._permission = permission
        self.setVisible(permission is not None)
        if permission is None or (before is not None and before.id == permission.id):
            return False
        self._allow(not self._again.isActive())
        question = permission.what
        words = visible(question.says, strict=True).text
        if question.exact:
            words += f" ({_size_words(question.exact)})"
        self.says.setText(f"May the agent use {line(permission.call.name, 60)}?")
        self.about.setText(words)
        self.covers.setText(question.covers)
        self.what.setVisible(bool(question.exact))
        line_count = question.exact.count("\n") + 1
        self.what.setMinimumHeight(self.fontMetrics().height() * min(7, line_count + 1))
        section = Section("", question.exact, "diff" if question.is_diff else "exact", strict=True)
        self.what.show_sections((section,))
        self._fit()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the box as high as its wrapped lines need, which a splitter does not do."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None and self._permission is not None:
            height = layout.minimumHeightForWidth(self.width())
            self.setMinimumHeight(max(0, height))

    def _answer(self, how: "Permit", checked: bool = False) -> None:
        """Answer the question shown. The second click of a double click does not answer the next question."""
        if self._permission is not None:
            self._again.start()
            self._permit(self._permission.id, how)

    def _allow(self, may: bool) -> None:
        for answer_button in self.buttons.values():
            answer_button.setEnabled(may)

    def _show_rest(self) -> None:
        """Offer to show all of a very long call, of which only the first part is shown initially."""
        self.rest.setVisible(self.what.has_rest)
        if self.what.has_rest and self._permission is not None:
            whole = len(self._permission.what.exact)
            self.rest.setText(f"Only the first part of {whole:,} characters is shown. Show all")


def _size_words(text: str) -> str:
    """Return `3 lines, 80 characters`, and the longest run of blanks if there is a suspicious one."""
    line_count = text.count("\n") + 1
    words = f"{plural(line_count, 'line')}, {plural(len(text), 'character')}"
    blanks = max(map(len, _BLANKS.findall(text)), default=0)
    return f"{words}; with {blanks:,} blanks in a row" if blanks else words
