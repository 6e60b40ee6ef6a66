"""The head of the comparison: a chip a policy, which is the key to the curves as well; run, cancel, copy."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QWidget

from inspector.core.policies.catalogue import TITLES
from inspector.gui.compare_look import SAMPLE, look, sample_icon
from inspector.gui.flow import Flow
from inspector.gui.plain import tip
from inspector.gui.theme import Theme
from inspector.workbench.compare import BASE, DEFAULT


class CompareBar(QWidget):
    """`changed`: other policies were chosen; `run` and `cancel`: the button was pressed."""

    changed = Signal()
    run = Signal()
    cancel = Signal()
    copy = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._running = False
        self.chips: dict[str, QPushButton] = {}
        flow = Flow()
        for name, title in TITLES.items():
            flow.add(self._chip(name, title))
        chips = QWidget()
        chips.setLayout(flow)
        self.button = QPushButton("Run")
        self.button.clicked.connect(lambda: (self.cancel if self._running else self.run).emit())
        self.copies = QToolButton()
        self.copies.setText("copy")
        self.copies.setProperty("role", "flat")
        self.copies.setToolTip("The table, for a spreadsheet")
        self.copies.clicked.connect(self.copy)
        row = QHBoxLayout(self)
        row.setContentsMargins(13, 5, 8, 4)
        row.addWidget(chips, 1)
        row.addWidget(self.copies)
        row.addWidget(self.button)
        self.restyle()

    def _chip(self, name: str, title: str) -> QPushButton:
        chip = self.chips[name] = QPushButton(f"{look(name).letter} {title.partition(' (')[0]}")
        chip.setProperty("role", "chip")
        chip.setCheckable(True)
        chip.setChecked(name in DEFAULT)
        chip.setIconSize(SAMPLE)
        chip.setAccessibleName(f"Compare {title}")
        if name == BASE:
            chip.setEnabled(False)
            chip.setToolTip("The base line: always there")
        else:
            chip.setToolTip(tip(f"{title}: drive it over this thread, or not"))
        chip.toggled.connect(lambda _: self.changed.emit())
        return chip

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(name for name, chip in self.chips.items() if chip.isChecked())

    def show_run(self, running: bool, missing: int, rows: int) -> None:
        """What the button does: cancel, or run what has no result yet; `rows` of the table can be copied."""
        self._running = running
        self.button.setText("Cancel" if running else "Run")
        self.button.setEnabled(running or missing > 0)
        wanted = "" if running or not missing else "primary"
        if (self.button.property("role") or "") != wanted:
            self.button.setProperty("role", wanted)
            self.button.style().polish(self.button)
        self.copies.setVisible(rows > 0)

    def restyle(self) -> None:
        """The samples have colours."""
        for name, chip in self.chips.items():
            chip.setIcon(sample_icon(name, self._theme.colours, self.devicePixelRatioF()))
