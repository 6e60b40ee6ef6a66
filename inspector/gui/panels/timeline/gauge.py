"""The pressure gauge: the number and its kind, the due tiers, the tank, the legend, and the policy's own count."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from PySide6.QtCore import Qt

from inspector.core.tokens.estimators import ESTIMATOR_TITLES
from inspector.gui.desk import Desk
from inspector.gui.look.build import column, delayed, mark, row
from inspector.gui.look.glossary import explain
from inspector.gui.look.labels import label, say, tip
from inspector.gui.look.number_formats import grouped
from inspector.gui.look.tokens import BOX_GAP, CARD_INSET, CONTROL_GAP, LINE_GAP
from inspector.gui.panels.panel import Panel
from inspector.gui.panels.timeline.legend import Legend
from inspector.gui.panels.timeline.line_drag import LineDrag
from inspector.gui.panels.timeline.readings import (
    own_count_words,
    pressure_headline,
    pressure_size,
    spoken_pressure,
    window_words,
)
from inspector.gui.panels.timeline.tank import LEFT, Tank
from inspector.workbench.pressure.gauge import GaugeReading, reading
from inspector.workbench.state import State

WIDE, FIGURES = 232, 24
"""Width of the whole gauge in pixels and in digits; the greater counts."""
FOLDED, FOLDED_FIGURES = 72, 8
"""The same two widths for the folded gauge."""
_INSET, _FOLDED_INSET = CARD_INSET, BOX_GAP
"""Pixels at the sides of the whole and of the folded gauge."""
SOON = 150
"""Milliseconds after a move of the playhead until the due tiers are computed."""
LINGER = 800
"""Milliseconds for which the previous due tiers are still shown after a move."""


class Gauge(Panel):
    """The gauge, which is always visible and shows the reading of the State. If there is little width, it folds."""

    TITLE: ClassVar[str] = "Pressure"
    HEADED: ClassVar[bool] = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.folded = False
        self._state = State()
        self._now: GaugeReading | None = None
        self._workspace = "Compact"
        self._caption = label("PRESSURE", role="caption")
        self._ratio = label("–", role="pressure")
        self._kind = label(role="badge")
        self._tokens, self._place, self._policy, self._count = (
            label(role="quiet", wrap=True) for _ in range(4)
        )
        self._warning = label(role="bad", wrap=True)
        self._due = label(role="chip")
        self.tank = Tank(desk.theme, LineDrag(desk.workbench, self))
        self.legend = Legend(desk.theme)
        self.legend.picked.connect(self._look_into)
        self._looks = delayed(self, SOON, desk.workbench.previews.judge)
        self._lingers = delayed(self, LINGER, self._show_due)
        self._build()
        self.restyle()

    def _build(self) -> None:
        self._number = row(self._ratio, self._kind, ..., gap=CONTROL_GAP)
        self._number.setAlignment(self._kind, Qt.AlignmentFlag.AlignVCenter)
        self._chip = row(self._due, ...)
        words = column(
            self._caption,
            self._number,
            self._tokens,
            self._place,
            self._policy,
            3,
            self._chip,
            self._warning,
            gap=LINE_GAP,
        )
        self._words = words
        tank = row(self.tank)
        self._tank_row = tank
        self._foot = column(self.legend, 4, self._count, gap=BOX_GAP)
        self._column = column(words, 8, (tank, 1), 8, self._foot, of=self, gap=0)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        now = reading(state)
        if now is not None and not self._selects_tier(state):
            now = replace(now, preview=None)
        self._now = now
        self._state = state
        self.tank.show_reading(now)
        self.legend.show_reading(now)
        self.setAccessibleDescription(spoken_pressure(now))
        self._ratio.setText(pressure_headline(now))
        self._ratio.setToolTip(tip(explain("pressure")))
        self._show_kind(now)
        self._show_words(now)
        if state.previews is not None or now is None:
            self._show_due()
        else:  # the previous text stays for a moment, so that nothing jumps
            self._lingers.start()
            self._looks.start()

    def note_workspace(self, name: str) -> None:
        """Show the preview of a tier only where the tier is selected."""
        if self._workspace != name:
            self._workspace = name
            self.show_state(self._state)

    def _selects_tier(self, state: State) -> bool:
        """Is a tier selected in the workspace that is shown? In Live, only while a request is held."""
        if self._workspace == "Live":
            return state.proxy is not None and bool(state.proxy.holds)
        return self._workspace == "Compact"

    def _show_words(self, now: GaugeReading | None) -> None:
        if self.folded:
            say(self._tokens, "")
            say(self._place, _folded_place(self._state) if now else "")
            say(self._policy, "")
            say(self._warning, "")
            say(self._count, "")
            self.setToolTip(tip(f"{pressure_headline(now)}: {pressure_size(now)}") if now else "")
            return
        self.setToolTip("")
        say(self._tokens, pressure_size(now))
        self._tokens.setToolTip(tip(window_words(now)) if now else "")
        say(self._place, now.place if now else "")
        self._place.setToolTip(tip(explain("request")))
        say(self._policy, f"Policy: {now.policy}" if now is not None and not now.is_default else "")
        self._policy.setToolTip(tip(explain("policy")))
        say(self._warning, "\n".join(now.window.warnings) if now else "")
        say(
            self._count,
            "\n".join((own_count_words(now), *now.changed, *now.late)).strip() if now else "",
        )
        self._count.setToolTip(
            tip(explain("own count", _estimate_words(now, self._state.estimator)))
        )

    def _show_kind(self, now: GaugeReading | None) -> None:
        kind = now.pressure.kind if now else ""
        say(self._kind, "" if self.folded or kind == "unknown" else kind)
        self._kind.setToolTip(tip(explain(kind)) if kind else "")
        mark(self._kind, "kind", kind)

    def _show_due(self) -> None:
        """Show the due tiers. While they are unknown, the chip keeps its place."""
        self._lingers.stop()
        now = self._now
        due = now.due if now is not None else None
        words = now.due_words if now is not None else ""
        mark(self._due, "due", bool(due))
        self._due.setText(self._fold_due(due or ()) if self.folded else words)
        has_tokens = now is not None and now.pressure.tokens is not None
        self._due.setVisible(has_tokens and not (self.folded and not due))
        self._due.setToolTip(
            tip(explain("due", explain("tier"), words or "The due tiers are being computed."))
        )

    def _fold_due(self, due: Sequence[str]) -> str:
        """Return the due tiers, such as `L0, L1`, or `3 due` if the folded gauge has no room for their names."""
        self._due.setText(", ".join(due))
        has_room = self._due.sizeHint().width() <= self.folded_width - 2 * _FOLDED_INSET
        return self._due.text() if has_room else f"{len(due)} due"

    def _look_into(self, category: str) -> None:
        """Show the breakdown with a category selected. The breakdown then filters the buffer list by it."""
        self.desk.workbench.look_into((category,))
        self.desk.show_panel("Breakdown")

    # -- width ---------------------------------------------------------------------------------------------------------

    @property
    def whole_width(self) -> int:
        """Width of the whole gauge in pixels."""
        return max(WIDE, FIGURES * self.fontMetrics().horizontalAdvance("0") + 2 * _INSET)

    @property
    def folded_width(self) -> int:
        """Width of the folded gauge in pixels."""
        return max(FOLDED, FOLDED_FIGURES * self.fontMetrics().horizontalAdvance("0") + 12)

    def preferred_width(self, is_narrow: bool) -> int:
        return self.folded_width if is_narrow else self.whole_width

    def fit(self) -> None:
        """Fold the gauge if it is narrower than its whole width; otherwise unfold it."""
        folded = self.width() < self.whole_width - _INSET
        if folded != self.folded:
            self.folded = folded
            self._arrange()
            self.show_state(self._state)

    def _arrange(self) -> None:
        side = _FOLDED_INSET if self.folded else _INSET
        self._words.setContentsMargins(side, 10, side, 0)
        self._tank_row.setContentsMargins(_FOLDED_INSET if self.folded else _INSET - LEFT, 0, 0, 0)
        self._foot.setContentsMargins(side, 0, side, 12)
        centre = Qt.AlignmentFlag.AlignHCenter if self.folded else Qt.AlignmentFlag.AlignLeft
        for words in (self._ratio, self._place, self._due):
            words.setAlignment(centre | Qt.AlignmentFlag.AlignVCenter)
        for line in (self._number, self._chip):
            line.setStretch(0, self.folded)  # centre it if it is alone in its row
        mark(self._ratio, "folded", self.folded)
        self._caption.setVisible(not self.folded)
        self.legend.setVisible(not self.folded)
        self.tank.fold(self.folded)

    def restyle(self) -> None:
        super().restyle()
        self.setMinimumWidth(self.folded_width)
        self._arrange()
        self.fit()


def _folded_place(state: State) -> str:
    return "end" if state.at is None else f"request\n{state.at:,}"


def _estimate_words(now: GaugeReading | None, name: str) -> str:
    """Return the chosen estimator's estimate, such as `Estimate: 74,235 tokens (Roku).`; empty if there is none."""
    if now is None or now.estimated is None:
        return ""
    return f"Estimate: {grouped(now.estimated)} tokens ({ESTIMATOR_TITLES[name]})."
