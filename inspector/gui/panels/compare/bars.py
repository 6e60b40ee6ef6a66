"""The bars above the comparison, one to choose policies, one to choose the settings to vary. Each has a button that
runs the policies or settings without a result."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.core.words import plural
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, choice, field, holding, mark, row
from inspector.gui.look.labels import label, tip
from inspector.gui.look.theme import Theme
from inspector.gui.look.tokens import BOX_GAP, CHIP_GAP, CONTROL_GAP, LIST_HEAD
from inspector.gui.panels.compare.table import SAMPLE, sample_icon, style_of
from inspector.gui.widgets.chips import flow
from inspector.workbench.compare import BASE, DEFAULT, NAMES

_NONE = "no other"
LONGEST_BUTTON, BESIDE_LINE = "Run 999 settings", 60
"""The longest text of the button beside the settings, and the width in pixels of the button's edge and gaps."""
VALUES, LEAST_VALUES, BESIDE_VALUES = 34, 12, 10
"""Most and least width of the field for the values of a setting, and width of the word before it, in digits."""


class ChoiceBar(QWidget):
    """A bar with a button that runs what was chosen, or cancels the run."""

    changed = Signal()
    """Emitted when the choice has changed."""
    run = Signal()
    cancel = Signal()
    NOUN, PLURAL = "policy", "policies"

    def __init__(self) -> None:
        super().__init__()
        self._running = False
        self.button = button("Run", lambda: (self.cancel if self._running else self.run).emit())

    def show_run(self, running: bool, missing: int, left: int) -> None:
        """Let the button cancel the run or, if none is running, start the runs without a result.

        Args:
            missing: number of runs without a result, including the recorded run.
            left: number of runs without a result, excluding the recorded run.
        """
        self._running = running
        words = f"Run {plural(left, self.NOUN, self.PLURAL)}" if left else "Run"
        self.button.setText("Cancel" if running else words)
        self.button.setEnabled(running or missing > 0)
        mark(self.button, "role", "" if running or not missing else "primary")


class CompareBar(ChoiceBar):
    """A chip for each policy to compare."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._own = ""
        self.chips: dict[str, QPushButton] = {}
        chips = holding(flow(*(self._chip(name, title) for name, title in NAMES.items())))
        row((chips, 1), self.button, of=self, margins=LIST_HEAD)
        self.name_chips(brief=False)
        self.restyle()

    def _chip(self, name: str, title: str) -> QPushButton:
        chip = self.chips[name] = button("", role="chip", checkable=True)
        chip.setStyleSheet("padding: 3px 7px")
        chip.setChecked(name in DEFAULT)
        chip.setIconSize(SAMPLE)
        chip.setAccessibleName(f"Compare {title}")
        chip.setEnabled(name != BASE)
        what = (
            "what happened, always compared"
            if name == BASE
            else "click to compare it, or to omit it"
        )
        chip.setToolTip(tip(f"{title}: {what}"))
        chip.toggled.connect(lambda _: self.changed.emit())
        return chip

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the policies to compare."""
        return tuple(name for name, chip in self.chips.items() if chip.isChecked())

    def name_chips(self, brief: bool) -> None:
        """Write letters and titles on the chips; `brief`: only letters."""
        for name, chip in self.chips.items():
            letter = style_of(name).letter
            title = NAMES[name].partition(" (")[0]
            chip.setText(letter if brief else f"{letter} {title}")

    def choose_own(self, name: str) -> None:
        """Add the policy of the session's own harness to the comparison, instead of that of the previous session."""
        with QSignalBlocker(self):
            if self._own and self._own not in DEFAULT:
                self.chips[self._own].setChecked(False)
            if name and name not in DEFAULT:
                self.chips[name].setChecked(True)
        self._own = name

    def restyle(self) -> None:
        for name, chip in self.chips.items():
            chip.setIcon(sample_icon(name, self._theme.colours, self.devicePixelRatioF()))


class SweepBar(Guarded, ChoiceBar):
    """Chooses a policy, and one or two of its settings with the values to try."""

    NOUN, PLURAL = "setting", "settings"

    def __init__(self) -> None:
        super().__init__()
        self._offered: Mapping[str, Sequence[str]] = {}
        self.policies = choice("Policy whose settings are varied")
        places = ("first", "second")
        self.keys = [choice(f"The {place} setting that is varied") for place in places]
        self.values = [
            field("", name=f"Values of the {place} setting, separated by commas")
            for place in places
        ]
        for name, title in NAMES.items():
            if name != BASE:
                self.policies.addItem(title, name)
        pairs = list[QWidget]()
        for index, (key, values) in enumerate(zip(self.keys, self.values, strict=True)):
            values.setPlaceholderText("values, with commas")
            key.currentTextChanged.connect(lambda _, index=index: self._suggest(index))
            values.textChanged.connect(lambda _: self.changed.emit())
            pair = QWidget()
            row(label(("varies", "and")[index], role="quiet"), key, values, of=pair, gap=CHIP_GAP)
            pairs.append(pair)
        row(
            (holding(flow(self.policies, *pairs)), 1),
            self.button,
            of=self,
            margins=(0, BOX_GAP, CONTROL_GAP, BOX_GAP),
        )
        self.policies.currentIndexChanged.connect(lambda _: self.changed.emit())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_values()

    def _fit_values(self) -> None:
        """Give the fields for values the remaining width of their line, up to a width that fits most lists."""
        metrics = self.fontMetrics()
        digit = metrics.horizontalAdvance("0")
        line = self.width() - metrics.horizontalAdvance(LONGEST_BUTTON) - BESIDE_LINE
        for key, values in zip(self.keys, self.values, strict=True):
            room = line - key.sizeHint().width() - BESIDE_VALUES * digit
            width = max(LEAST_VALUES * digit, min(room, VALUES * digit))
            values.setFixedWidth(width)

    @property
    def policy(self) -> str:
        """Name of the policy whose settings are varied."""
        return str(self.policies.currentData())

    def choose_policy(self, name: str) -> None:
        """Select a policy without emitting `changed`; by default that of the session's own harness."""
        with QSignalBlocker(self):
            self.policies.setCurrentIndex(max(0, self.policies.findData(name)))

    @property
    def grid(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The settings to vary, each with its values."""
        swept = dict[str, tuple[str, ...]]()
        for key, values_field in zip(self.keys, self.values, strict=True):
            values = _split_values(values_field.text())
            if values and key.currentText() in self._offered:
                swept[key.currentText()] = values
        return tuple(swept.items())

    def offer(self, settings: Mapping[str, Sequence[str]]) -> None:
        """Offer these settings with their suggested values; typed values of other settings are discarded."""
        if settings == self._offered:
            return
        self._offered = settings
        with QSignalBlocker(self):
            for index, key in enumerate(self.keys):
                with QSignalBlocker(key):
                    key.clear()
                    key.addItems([_NONE] * index + list(settings))
                self._suggest(index)
        self._fit_values()

    def _suggest(self, index: int) -> None:
        """Fill in the suggested values of a setting."""
        name = self.keys[index].currentText()
        values = self.values[index]
        values.setText(", ".join(self._offered.get(name, ())))
        values.setVisible(name in self._offered)


def _split_values(text: str) -> tuple[str, ...]:
    """Return the values of a text in which commas separate them."""
    return tuple(value.strip() for value in text.split(",") if value.strip())
