"""A form for a policy's settings, made from the fields of their dataclass.

Each row has the setting's name, an editor for its type, its meaning, and a button that restores the policy's own value.
An invalid value is reported beside the editor and not applied.
"""

from collections.abc import Callable, Collection
from dataclasses import Field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QWidget,
)

from inspector.core.errors import InspectorError
from inspector.core.policies.settings import WHOSE, WindowFrom, form_fields
from inspector.gui.look.build import column, holding, mark, small_button
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import BOX_GAP, CONTROL_GAP, INSET


class SettingRows(QScrollArea):
    """A scrolled list of setting rows.

    `put(name, text)` applies a value in the spelling of `--set`; None restores the policy's own value. It raises
    InspectorError if the value is invalid.
    """

    def __init__(self, put: Callable[[str, str | None], None]) -> None:
        super().__init__()
        self.setAccessibleName("Settings")
        self._put = put
        self._policy = ""
        self.rows: dict[str, SettingRow] = {}
        self._list = column(..., margins=(0, 0, 0, CONTROL_GAP), gap=0)
        self.setWidgetResizable(True)
        self.setWidget(holding(self._list))

    def show_values(self, policy: str, now: Any, own: Any, changed: Collection[str]) -> None:
        """Show the settings of a policy.

        Args:
            policy: Name of the policy.
            now: The settings that currently apply.
            own: The policy's own settings, which the rows can restore.
            changed: Names of the settings that the user changed.
        """
        if policy != self._policy:
            self._policy = policy
            self._fill(own)
        for name, row in self.rows.items():
            row.show_value(getattr(now, name), name in changed, getattr(now, "window_from", "set"))

    def _fill(self, own: Any) -> None:
        for row in self.rows.values():
            row.hide()
            row.deleteLater()
        hints = get_type_hints(type(own))
        self.rows = {
            setting.name: SettingRow(setting, hints[setting.name], getattr(own, setting.name))
            for setting in form_fields(own)
        }
        for index, row in enumerate(self.rows.values()):
            row.changed.connect(self._take)
            row.reset.connect(lambda name: self._put(name, None))
            self._list.insertWidget(index, row)

    def _take(self, name: str, text: str) -> None:
        try:
            self._put(name, text)
        except InspectorError as failure:
            self.rows[name].show_trouble(str(failure))


class SettingRow(QWidget):
    """A setting with its editor.

    `changed` is emitted with name and text in the spelling of `--set`, `reset` with the name.
    """

    changed = Signal(str, str)
    reset = Signal(str)

    def __init__(self, field: Field[Any], hint: Any, own: Any) -> None:
        super().__init__()
        self.field = field
        self._own = own
        self.name = label(field.name.replace("_", " "), wrap=True)
        self.editor = self._editor(hint)
        self.what = label(_meaning(field), role="small", wrap=True)
        self.trouble = label(role="bad", wrap=True)
        self.trouble.hide()
        name = f"Reset {field.name} to {spelt(own)}"
        self.back = small_button(
            "↺", lambda: self.reset.emit(field.name), about=f"Reset to {spelt(own)}", name=name
        )
        policy = self.back.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.back.setSizePolicy(policy)
        self.editor.setAccessibleName(field.name.replace("_", " "))
        self.editor.setAccessibleDescription(field.metadata.get("what", ""))
        self.word = self._word_button(field.metadata.get("word", ""))
        self._lay_out()

    def _word_button(self, word: str) -> QToolButton | None:
        """Return a button for the word that the setting accepts in place of a number; None if there is none."""
        if not word:
            return None
        means = f"{self.field.name.replace('_', ' ')} = {word}"
        button = small_button(word, about=means, name=means, role="", checkable=True)
        button.clicked.connect(lambda: self._take_word(button))
        return button

    def _take_word(self, button: QToolButton) -> None:
        button.setChecked(True)  # the button stays checked until a number is typed
        self.changed.emit(self.field.name, button.text())

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(INSET, BOX_GAP, CONTROL_GAP, BOX_GAP)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(0, 1)
        self.editor.setFixedWidth(self.fontMetrics().horizontalAdvance("0") * 11 + 20)
        grid.addWidget(self.name, 0, 0)
        grid.addWidget(self.back, 0, 1)
        grid.addWidget(self.editor, 0, 2, Qt.AlignmentFlag.AlignRight)
        grid.addWidget(self.what, 1, 0, 1, 2 if self.word else 3)
        if self.word:
            grid.addWidget(self.word, 1, 2, Qt.AlignmentFlag.AlignRight)
        grid.addWidget(self.trouble, 2, 0, 1, 3)

    def _editor(self, hint: Any) -> QWidget:
        if hint is bool:
            box = QCheckBox()
            box.clicked.connect(lambda is_on: self._take("yes" if is_on else "no"))
            return box
        if get_origin(hint) is Literal:
            choice = QComboBox()
            choice.addItems([str(option) for option in get_args(hint)])
            choice.textActivated.connect(self._take)
            return choice
        line = QLineEdit()
        line.editingFinished.connect(lambda: self._take(line.text()))
        return line

    def _take(self, text: str) -> None:
        if text.strip() != self._shown:
            self.changed.emit(self.field.name, text.strip())

    def show_value(self, value: Any, changed: bool, origin: WindowFrom = "set") -> None:
        """Show the current value; for the context window also where it comes from."""
        self._shown = spelt(value)
        if self.word:
            self.word.setChecked(origin in ("model", "unknown"))
            self.what.setText(f"{_meaning(self.field)}; now {WHOSE[origin]}")
        self.trouble.hide()
        mark(self.editor, "bad", value=False)
        with QSignalBlocker(self.editor):
            match self.editor:
                case QCheckBox():
                    self.editor.setChecked(bool(value))
                case QComboBox():
                    self.editor.setCurrentText(self._shown)
                case QLineEdit():
                    if self.editor.text() != self._shown:
                        self.editor.setText(self._shown)
        self.back.setVisible(changed)
        mark(self.name, "role", "changed" if changed else "")

    def show_trouble(self, sentence: str) -> None:
        """Report that the typed value is invalid. It stays in the field and is not applied."""
        self.trouble.setText(sentence)
        self.trouble.show()
        mark(self.editor, "bad", value=True)


def spelt(value: Any) -> str:
    """Return a value as a user types it: `200,000`, `0.6`, `yes`, `Bash, Read`."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(map(str, value))
        case None:
            return ""
        case _:
            return str(value)


def _meaning(field: Field[Any]) -> str:
    what, low, high = (field.metadata.get(key) for key in ("what", "low", "high"))
    if low is None and high is None:
        return str(what or "")
    bounds = f"{low:,} to {high:,}" if high is not None and low is not None else ""
    return f"{what} ({bounds})" if bounds else str(what or "")
