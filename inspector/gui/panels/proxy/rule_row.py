"""When requests are held: never, at a watermark, each; and the next one by hand."""

from dataclasses import replace
from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from inspector.gui.look.build import button, holding, keep, line_field, row
from inspector.gui.look.labels import label
from inspector.gui.widgets.chips import Chips, flow
from inspector.proxy.holds.hold import Rule

OFF, WATERMARK, EACH = "never", "at a watermark", "each request"
_KINDS: dict[str, Literal["off", "watermark", "each"]] = {OFF: "off", WATERMARK: "watermark", EACH: "each"}
CHOICES = (
    (OFF, "Everything passes byte for byte; what is cut already is cut again."),
    (
        WATERMARK,
        "A conversation whose buffer has come to this share of the window is held, once each time it does; again "
        "half-way from there to the full window; and each request from there on.",
    ),
    (EACH, "Every request of a conversation is held. Titles, probes and token counts pass."),
)


class RuleRow(QWidget):
    """`chosen` carries a Rule, `next_one` whether the next request is to be held."""

    chosen = Signal(object)
    next_one = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._rule = Rule()
        self.kind = Chips("Hold", CHOICES)
        self.kind.chosen.connect(lambda word: self._choose(replace(self._rule, kind=_KINDS[word])))
        self.ratio = line_field("Watermark in per cent of the window", about="Per cent of the window")
        self.ratio.setMaximumWidth(self.fontMetrics().horizontalAdvance("100 %") + 34)
        self.ratio.editingFinished.connect(self._typed_ratio)
        about = "Tokens of the model's window, where it is not known by the model's name"
        self.window_ = line_field("Window in tokens", hint="window as known", about=about)
        self.window_.setMaximumWidth(self.fontMetrics().horizontalAdvance("0") * 18)
        self.window_.editingFinished.connect(self._typed)
        next_one = "Whatever the rule says, the next request of a conversation is held"
        self.next = button(
            "Hold the next one", lambda checked: self.next_one.emit(checked), about=next_one, checkable=True
        )
        self.watermark = holding(row(self.ratio, label("of", role="quiet"), self.window_))
        what = label("Hold a request", role="quiet")
        keep(self, self.kind)
        self.setLayout(flow(what, *self.kind.buttons.values(), self.watermark, self.next))

    def show_rule(self, rule: Rule, is_next: bool) -> None:
        """As it is now, without telling anybody."""
        self._rule = rule
        self.kind.take(next(word for word, kind in _KINDS.items() if kind == rule.kind))
        self.watermark.setVisible(rule.kind == "watermark")
        if not self.ratio.hasFocus():
            self.ratio.setText(f"{round(rule.ratio * 100)} %")
        if not self.window_.hasFocus():
            self.window_.setText(f"{rule.window:,}" if rule.window else "")
        self.next.setChecked(is_next)

    def _typed_ratio(self) -> None:
        digits = self.ratio.text().replace("%", "").strip()
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= 150:
            self._choose(replace(self._rule, ratio=int(digits) / 100))
        self.ratio.setText(f"{round(self._rule.ratio * 100)} %")

    def _typed(self) -> None:
        digits = self.window_.text().replace(",", "").replace(" ", "").strip()
        tokens = int(digits) if digits.isascii() and digits.isdigit() and 0 < int(digits) <= 100_000_000 else None
        if tokens != self._rule.window:
            self._choose(replace(self._rule, window=tokens))

    def _choose(self, rule: Rule) -> None:
        if rule != self._rule:
            self._rule = rule
            self.chosen.emit(rule)
