"""What if: the policy's settings, all of them, made from the fields of its dataclass. A change holds for every step
from then on, and moves the lines on gauge and timeline at once."""

from typing import Any, ClassVar, get_type_hints

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import policy
from inspector.core.policies.settings import listed, said
from inspector.gui.desk import Desk
from inspector.gui.dialogs.setting_row import SettingRow
from inspector.gui.look.labels import label
from inspector.gui.look.number_formats import plural
from inspector.gui.panels.panel import Panel
from inspector.workbench.policy_input import settings_of
from inspector.workbench.state.state import Choices, State


class SettingsForm(Panel):
    """One row a setting. What cannot be is told beside it, and not taken."""

    TITLE: ClassVar[str] = "What if"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.rows: dict[str, SettingRow] = {}
        self._kind: type[object] | None = None
        self._shown: tuple[Choices, int | None, int | None] | None = None
        self.says = label(role="small")
        self.says.setWordWrap(True)
        self.all_back = QPushButton("Reset all")
        self.all_back.clicked.connect(lambda: desk.workbench.stepping.choose(settings=()))
        head = QHBoxLayout()
        head.setContentsMargins(13, 6, 10, 6)
        head.addWidget(self.says, 1)
        head.addWidget(self.all_back)
        inside = QWidget()
        self._list = QVBoxLayout(inside)
        self._list.setContentsMargins(0, 0, 0, 8)
        self._list.setSpacing(0)
        self._list.addStretch()
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(scroll, 1)

    def show_state(self, state: State) -> None:
        """The values that hold where we stand."""
        window = state.window.tokens if state.window else None
        shown = (state.choices, window, state.user_window)
        if self._shown == shown:
            return
        try:
            now = settings_of(state)
        except InspectorError as failure:
            self.says.setText(str(failure))
            return
        self._shown = shown
        by = policy(state.choices.policy)
        if type(now) is not self._kind:
            self._build(now, by.settings(said(state.user_window), window))
        changed = {name for name, _ in state.choices.settings}
        for name, row in self.rows.items():
            row.show_value(getattr(now, name), name in changed, getattr(now, "window_from", "set"))
        self.all_back.setVisible(bool(changed))
        count = plural(len(changed), "setting")
        self.says.setText(f"{count} changed" if changed else f"{by.title}'s own settings")

    def _build(self, now: Any, own: Any) -> None:
        self._kind = type(now)
        for row in self.rows.values():
            row.deleteLater()
        hints = get_type_hints(type(now))
        ordered = listed(now)
        self.rows = {one.name: SettingRow(one, hints[one.name], getattr(own, one.name)) for one in ordered}
        for n, row in enumerate(self.rows.values()):
            row.taken.connect(self._take)
            row.reset.connect(lambda name: self.desk.workbench.stepping.set(name, None))
            self._list.insertWidget(n, row)

    def _take(self, name: str, text: str) -> None:
        row, stepping = self.rows[name], self.desk.workbench.stepping
        try:
            stepping.checked(name, text)
        except InspectorError as failure:
            row.show_trouble(str(failure))
            return
        stepping.set(name, text)
