"""The bars above the comparison: which policies are compared; which settings of one are varied. Each has the button
that runs what is missing."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, choice, field, holding, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.table import SAMPLE, sample_icon, style_of
from inspector.gui.widgets.chips import flow
from inspector.workbench.compare import BASE, DEFAULT, NAMES

_NONE = "no other"
LONGEST_BUTTON, BESIDE_LINE = "Run 999 settings", 60
"""What the button beside the settings says at most, and pixels of the bar for the button's edge and gaps."""
VALUES, LEAST_VALUES, BESIDE_VALUES = 34, 12, 10
"""Figures of room for the values of a setting, at most and at least, and for the word before them."""


class ChoiceBar(QWidget):
    """`changed`: something else is to be run; `run` and `cancel`: the button was pressed."""

    changed = Signal()
    run = Signal()
    cancel = Signal()
    ONE, MANY = "policy", "policies"

    def __init__(self) -> None:
        super().__init__()
        self._running = False
        self.button = button("Run", lambda: (self.cancel if self._running else self.run).emit())

    def show_run(self, running: bool, missing: int, left: int) -> None:
        """What the button does: cancel, or run what has no result yet; `left`: besides what happened."""
        self._running = running
        words = f"Run {plural(left, self.ONE, self.MANY)}" if left else "Run"
        self.button.setText("Cancel" if running else words)
        self.button.setEnabled(running or missing > 0)
        mark(self.button, "role", "" if running or not missing else "primary")


class CompareBar(ChoiceBar):
    """A chip a policy."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._own = ""
        self.chips: dict[str, QPushButton] = {}
        chips = holding(flow(*(self._chip(name, title) for name, title in NAMES.items())))
        row((chips, 1), self.button, of=self, margins=(13, 5, 8, 4))
        self.name_chips(brief=False)
        self.restyle()

    def _chip(self, name: str, title: str) -> QPushButton:
        chip = self.chips[name] = button("", role="chip", checkable=True)
        chip.setStyleSheet("padding: 3px 7px")
        chip.setChecked(name in DEFAULT)
        chip.setIconSize(SAMPLE)
        chip.setAccessibleName(f"Compare {title}")
        chip.setEnabled(name != BASE)
        what = "the base line, always there" if name == BASE else "drive it over this thread, or not"
        chip.setToolTip(tip(f"{title}: {what}"))
        chip.toggled.connect(lambda _: self.changed.emit())
        return chip

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(name for name, chip in self.chips.items() if chip.isChecked())

    def name_chips(self, brief: bool) -> None:
        """By their letters alone where there is little room, else by their titles too."""
        for name, chip in self.chips.items():
            letter, title = style_of(name).letter, NAMES[name].partition(" (")[0]
            chip.setText(letter if brief else f"{letter} {title}")

    def choose_own(self, name: str) -> None:
        """Compare the policy of the session's own harness too, instead of that of the session before."""
        with QSignalBlocker(self):
            for other, on in ((self._own, False), (name, True)):
                if other and other not in DEFAULT:
                    self.chips[other].setChecked(on)
        self._own = name

    def restyle(self) -> None:
        for name, chip in self.chips.items():
            chip.setIcon(sample_icon(name, self._theme.colours, self.devicePixelRatioF()))


class SweepBar(Guarded, ChoiceBar):
    """A policy, and one or two of its settings with the values to try."""

    ONE, MANY = "setting", "settings"

    def __init__(self) -> None:
        super().__init__()
        self._offered: Mapping[str, Sequence[str]] = {}
        self.policies = choice("Policy whose settings are varied")
        places = ("first", "second")
        self.keys = [choice(f"The {place} setting that is varied") for place in places]
        self.values = [field("", name=f"Values of the {place} setting, between commas") for place in places]
        for name, title in NAMES.items():
            if name != BASE:
                self.policies.addItem(title, name)
        pairs = list[QWidget]()
        for n, (key, values) in enumerate(zip(self.keys, self.values, strict=True)):
            values.setPlaceholderText("values, between commas")
            key.currentTextChanged.connect(lambda _, n=n: self._suggest(n))
            values.textChanged.connect(lambda _: self.changed.emit())
            pair = QWidget()
            row(label(("varies", "and")[n], role="quiet"), key, values, of=pair, gap=6)
            pairs.append(pair)
        row((holding(flow(self.policies, *pairs)), 1), self.button, of=self, margins=(0, 5, 8, 4))
        self.policies.currentIndexChanged.connect(lambda _: self.changed.emit())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_values()

    def _fit_values(self) -> None:
        """Give the fields for values what their line leaves them, up to a width in which most lists of values fit."""
        figure = self.fontMetrics().horizontalAdvance("0")
        line = self.width() - self.fontMetrics().horizontalAdvance(LONGEST_BUTTON) - BESIDE_LINE
        for key, values in zip(self.keys, self.values, strict=True):
            room = line - key.sizeHint().width() - BESIDE_VALUES * figure
            values.setFixedWidth(max(LEAST_VALUES * figure, min(room, VALUES * figure)))

    @property
    def policy(self) -> str:
        """Its name."""
        return str(self.policies.currentData())

    def choose_policy(self, name: str) -> None:
        """Of the session's own harness, to begin with."""
        with QSignalBlocker(self):
            self.policies.setCurrentIndex(max(0, self.policies.findData(name)))

    @property
    def grid(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The settings with their values."""
        pairs = ((key.currentText(), values.text()) for key, values in zip(self.keys, self.values, strict=True))
        typed = {key: _split_values(text) for key, text in pairs}
        swept = {key: values for key, values in typed.items() if values and key in self._offered}
        return tuple(swept.items())

    def offer(self, settings: Mapping[str, Sequence[str]]) -> None:
        """These can be varied; of others the values that were typed are gone."""
        if settings == self._offered:
            return
        self._offered = settings
        with QSignalBlocker(self):
            for n, key in enumerate(self.keys):
                with QSignalBlocker(key):
                    key.clear()
                    key.addItems([_NONE] * n + list(settings))
                self._suggest(n)
        self._fit_values()

    def _suggest(self, n: int) -> None:
        self.values[n].setText(", ".join(self._offered.get(self.keys[n].currentText(), ())))
        self.values[n].setVisible(self.keys[n].currentText() in self._offered)


def _split_values(text: str) -> tuple[str, ...]:
    """Return the values that were typed, between commas."""
    return tuple(value.strip() for value in text.split(",") if value.strip())
