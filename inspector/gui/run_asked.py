"""A tool call that wants to be allowed: exactly what it would do, and three answers. Nothing is chosen beforehand."""

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from inspector.gui.plain import label, tip
from inspector.gui.plain_text import PlainText
from inspector.gui.running import Permit
from inspector.gui.sections import Section
from inspector.gui.theme import Theme
from inspector.gui.visible import line
from inspector.live.agent.standing import Permission

ANSWERS: tuple[tuple[Permit, str, str], ...] = (
    ("once", "&Once", "This call, this time (Alt+O)"),
    ("always", "&Always for this session", "This call, and what the text above says that it covers (Alt+A)"),
    ("no", "&No", "The call is refused; the model is told so, and goes on (Alt+N)"),
)


class AskedBox(QFrame):
    """Hidden while nothing is asked."""

    def __init__(self, theme: Theme, permit: Callable[[Permit], None]) -> None:
        super().__init__()
        self.setObjectName("AskedBox")
        self._permission: Permission | None = None
        self.says = label(role="strong")
        self.says.setWordWrap(True)
        self.what = PlainText(theme)
        self.what.setAccessibleName("What the call would do")
        self.what.setMinimumHeight(self.fontMetrics().height() * 7)
        self.buttons: dict[Permit, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(7)
        for how, words, means in ANSWERS:
            button = QPushButton(words)
            button.setToolTip(tip(means))
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, how=how: permit(how))
            self.buttons[how] = button
            row.addWidget(button)
        row.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 8, 10, 10)
        column.setSpacing(6)
        column.addWidget(self.says)
        column.addWidget(self.what, 1)
        column.addLayout(row)
        self.hide()

    def show_permission(self, permission: Permission | None) -> bool:
        """Show it, or nothing. Returns whether it is a new question."""
        before, self._permission = self._permission, permission
        self.setVisible(permission is not None)
        if permission is None or (before is not None and before.id == permission.id):
            return False
        self.says.setText(f"May it use {line(permission.call.name, 60)}?")
        self.what.show_sections((Section("", permission.what),))
        return True

    def restyle(self) -> None:
        """Colours of text are in the text."""
        self.what.restyle()
