"""The head of the comparison: a chip a policy, which is the key to the curves as well; run, cancel."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from inspector.gui.look.labels import tip
from inspector.gui.look.theme import Theme
from inspector.gui.panels.compare.look import SAMPLE, look, sample_icon
from inspector.gui.widgets.chips import Flow
from inspector.workbench.compare import BASE, DEFAULT, NAMES


class CompareBar(QWidget):
    """`changed`: other policies were chosen; `run` and `cancel`: the button was pressed."""

    changed = Signal()
    run = Signal()
    cancel = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._running = False
        self.chips: dict[str, QPushButton] = {}
        flow = Flow()
        for name, title in NAMES.items():
            flow.addWidget(self._chip(name, title))
        chips = QWidget()
        chips.setLayout(flow)
        self.button = QPushButton("Run")
        self.button.clicked.connect(lambda: (self.cancel if self._running else self.run).emit())
        row = QHBoxLayout(self)
        row.setContentsMargins(13, 5, 8, 4)
        row.addWidget(chips, 1)
        row.addWidget(self.button)
        self.name_chips(brief=False)
        self.restyle()

    def _chip(self, name: str, title: str) -> QPushButton:
        chip = self.chips[name] = QPushButton()
        chip.setStyleSheet("padding: 3px 7px")
        chip.setProperty("role", "chip")
        chip.setCheckable(True)
        chip.setChecked(name in DEFAULT)
        chip.setIconSize(SAMPLE)
        chip.setAccessibleName(f"Compare {title}")
        if name == BASE:
            chip.setEnabled(False)
            chip.setToolTip(f"{title}: the base line, always there")
        else:
            chip.setToolTip(tip(f"{title}: drive it over this thread, or not"))
        chip.toggled.connect(lambda _: self.changed.emit())
        return chip

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(name for name, chip in self.chips.items() if chip.isChecked())

    def name_chips(self, brief: bool) -> None:
        """By their letters alone where there is little room, else by their titles too."""
        for name, chip in self.chips.items():
            letter, title = look(name).letter, NAMES[name].partition(" (")[0]
            chip.setText(letter if brief else f"{letter} {title}")

    def show_run(self, running: bool, missing: int) -> None:
        """What the button does: cancel, or run what has no result yet."""
        self._running = running
        self.button.setText("Cancel" if running else "Run")
        self.button.setEnabled(running or missing > 0)
        wanted = "" if running or not missing else "primary"
        if (self.button.property("role") or "") != wanted:
            self.button.setProperty("role", wanted)
            self.button.style().polish(self.button)

    def restyle(self) -> None:
        """The samples have colours."""
        for name, chip in self.chips.items():
            chip.setIcon(sample_icon(name, self._theme.colours, self.devicePixelRatioF()))
