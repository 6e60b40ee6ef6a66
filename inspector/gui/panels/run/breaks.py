"""Where a run is to stop by itself: one checkable row a kind of breakpoint."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QWidget

from inspector.agent.status import ANY, Breakpoints
from inspector.gui.look.build import choice, line_field
from inspector.gui.look.labels import tip

EVERY = "any"
USUAL = 0.6
"""Share of the window, until the person names another."""


class BreakRows(QWidget):
    """`chosen` carries the Breakpoints."""

    chosen = Signal(object)

    def __init__(self, tools: Sequence[str], now: Breakpoints) -> None:
        super().__init__()
        self.requests = _check("each request", "Before every model call")
        self.watermark = _check("a watermark", "Before a call whose buffer has come to this share of the window")
        self.share = line_field("Share of the window to stop at, in percent")
        self.tier = _check("a tier", "Before a tier fires")
        self.tiers = choice("Which tier", (EVERY,))
        self.tool = _check("a tool", "Before a tool runs")
        self.tools = choice("Which tool", (EVERY, *tools))
        self.overflow = _check("overflow", "When the model refuses the buffer as too long, before the policy reacts")
        self.errors = _check("error", "When a model call has failed for good; going on asks again")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(4)
        columns = (
            (self.watermark, self.tier, self.tool),
            (self.share, self.tiers, self.tools),
            (self.requests, self.overflow, self.errors),
        )
        for at, widgets in enumerate(columns):
            for n, widget in enumerate(widgets):
                grid.addWidget(widget, n, at)
        grid.setColumnStretch(1, 1)
        self.show_breakpoints(now)
        for box in self._boxes():
            box.clicked.connect(lambda _: self._choose())
        self.share.editingFinished.connect(self._choose_share)
        for which in (self.tiers, self.tools):
            which.currentTextChanged.connect(lambda _: self._choose())

    def _boxes(self) -> tuple[QCheckBox, ...]:
        return self.requests, self.watermark, self.tier, self.tool, self.overflow, self.errors

    def name_tiers(self, names: Sequence[str]) -> None:
        """The tiers of another policy."""
        now = self.tiers.currentText()
        with QSignalBlocker(self.tiers):
            self.tiers.clear()
            self.tiers.addItems([EVERY, *names])
            self.tiers.setCurrentText(now if now in names else EVERY)

    @property
    def breakpoints(self) -> Breakpoints:
        """As they are checked."""
        return Breakpoints(
            requests=self.requests.isChecked(),
            watermark=_percent(self.share.text()) if self.watermark.isChecked() else None,
            tiers=_named(self.tier, self.tiers),
            overflow=self.overflow.isChecked(),
            tools=_named(self.tool, self.tools),
            errors=self.errors.isChecked(),
        )

    def show_breakpoints(self, now: Breakpoints) -> None:
        """These, without telling anybody."""
        for box, on in zip(
            self._boxes(),
            (now.requests, now.watermark is not None, bool(now.tiers), bool(now.tools), now.overflow, now.errors),
            strict=True,
        ):
            box.setChecked(on)
        if now.watermark is not None or not self.share.text():
            self.share.setText(f"{(now.watermark or USUAL) * 100:g} %")
        for which, names in ((self.tiers, now.tiers), (self.tools, now.tools)):
            if names:
                name = next((name for name in sorted(names) if name != ANY), EVERY)
                with QSignalBlocker(which):
                    if which.findText(name) < 0:  # the policy's tiers are not known yet
                        which.addItem(name)
                    which.setCurrentText(name)

    def _choose_share(self) -> None:
        """What is no share becomes one again."""
        self.share.setText(f"{_percent(self.share.text()) * 100:g} %")
        self._choose()

    def _choose(self) -> None:
        self.chosen.emit(self.breakpoints)


def _percent(text: str) -> float:
    """`60 %` as 0.6; between 1 and 150 %, the usual one where it is no number."""
    try:
        number = float(text.replace("%", "").replace(",", ".").strip())
    except ValueError:
        return USUAL
    return min(max(number, 1.0), 150.0) / 100 if number == number else USUAL


def _named(box: QCheckBox, choice: QComboBox) -> frozenset[str]:
    if not box.isChecked():
        return frozenset()
    return frozenset({ANY if choice.currentText() in (EVERY, "") else choice.currentText()})


def _check(words: str, what: str) -> QCheckBox:
    box = QCheckBox(words)
    box.setToolTip(tip(what))
    box.setAccessibleDescription(what)
    return box
