"""The labels of the timeline's lines, right of the plot: window, watermarks, the client's trigger, the last step."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from inspector.core.findings.triggers import ClientTrigger
from inspector.gui.look.colours import Colours, ink
from inspector.gui.look.glossary import explain
from inspector.gui.look.number_formats import grouped
from inspector.gui.panels.timeline.frame import GUTTER_INSET, ROOMY, TimelineFrame
from inspector.gui.panels.timeline.line_drag import line_colours
from inspector.gui.panels.timeline.tank import trigger_words
from inspector.gui.widgets.chart import LinearScale
from inspector.gui.widgets.label_space import elide_name, stack_labels
from inspector.workbench.pressure.scale import GaugeLine
from inspector.workbench.pressure.timeline import StepEffect

WIDEST_LABEL = 24
"""Maximum width of a label in digits. A longer name is cut before its last word."""
WORDS_APART = 5
"""Pixels between the name of a line and its tokens."""


@dataclass(frozen=True, slots=True)
class LineLabel:
    """A label right of the plot: a name in a heavier weight, followed by `about` in the quiet colour."""

    tokens: int
    """The size in tokens that the label belongs to."""
    name: str
    about: str
    colour: str
    explanation: str
    """The tooltip."""
    rank: int
    """If there is not enough room for all labels, those of the highest rank are left out first."""


@dataclass(frozen=True, slots=True)
class TimelineLines:
    """The horizontal lines of the timeline."""

    window: int | None = None
    """Tokens of the context window or of the assumed window; None: nothing is open."""
    is_assumed: bool = False
    watermarks: tuple[GaugeLine, ...] = ()
    trigger: ClientTrigger | None = None
    """The size at which the recorded client compacts; painted as a notch, not as a line."""


def label_lines(
    lines: TimelineLines, effect: StepEffect | None, colours: Colours, is_roomy: bool
) -> list[LineLabel]:
    """Return the labels, the highest line first.

    Args:
        lines: The lines of the timeline.
        effect: The step that gets a label; None for none.
        colours: The current palette.
        is_roomy: Write the tokens of the watermarks beside their names.
    """
    labels = list[LineLabel]()
    if lines.window:
        if lines.is_assumed:
            name = f"{grouped(lines.window)} assumed"
        else:
            name = f"Window {grouped(lines.window)}"
        labels.append(
            LineLabel(
                lines.window,
                name="",
                about=name,
                colour=colours.quiet,
                explanation=explain("window"),
                rank=3,
            )
        )
    for line, colour in zip(lines.watermarks, line_colours(colours, lines.watermarks), strict=True):
        tokens = grouped(line.tokens) if is_roomy else ""
        rank, words = 0 if line.is_scale else 2, explain("watermark", line.about)
        labels.append(
            LineLabel(
                line.tokens,
                name=line.label,
                about=tokens,
                colour=colour,
                explanation=words,
                rank=rank,
            )
        )
    if (trigger := lines.trigger) is not None:
        labels.append(_label_trigger(trigger, colours))
    if effect is not None:
        labels.append(_label_effect(effect, colours))
    return sorted(labels, key=lambda label: -label.tokens)


def _label_trigger(trigger: ClientTrigger, colours: Colours) -> LineLabel:
    return LineLabel(
        trigger.tokens[-1],
        name=trigger.label,
        about="",
        colour=colours.good,
        explanation=trigger_words(trigger),
        rank=1,
    )


def _label_effect(effect: StepEffect, colours: Colours) -> LineLabel:
    return LineLabel(
        effect.after,
        name=f"after {effect.name}",
        about=grouped(effect.after),
        colour=colours.accent,
        explanation=f"{effect.name}: {grouped(effect.before)} → {grouped(effect.after)} tokens",
        rank=1,
    )


class LabelGutter:
    """Places and paints the labels of one plot."""

    def __init__(self, frame: TimelineFrame) -> None:
        self._frame = frame
        self.rooms: list[tuple[QRectF, LineLabel]] = []
        """The labels that were painted last, with their rectangles."""

    @property
    def fonts(self) -> tuple[QFont, QFont]:
        """The font of `about`, and the heavier font of the names."""
        bold = QFont(self._frame.font)
        bold.setWeight(QFont.Weight.DemiBold)
        return self._frame.font, bold

    def label_width(self, labels: Sequence[LineLabel]) -> float:
        """Return the width in pixels of the widest of these labels, limited to WIDEST_LABEL."""
        plain, bold = (QFontMetricsF(font) for font in self.fonts)
        widths = [
            bold.horizontalAdvance(label.name) + plain.horizontalAdvance(label.about)
            for label in labels
        ]
        return min(
            max(widths, default=0.0) + WORDS_APART, WIDEST_LABEL * plain.horizontalAdvance("0")
        )

    def paint(
        self,
        painter: QPainter,
        area: QRectF,
        up: LinearScale,
        labels: Sequence[LineLabel],
        whole: QRectF,
    ) -> None:
        """Paint labels beside their lines. Labels that would overlap are moved apart.

        Args:
            painter: The active painter.
            area: The plot; the labels are placed to the right of it.
            up: The vertical scale in tokens.
            labels: The labels, the highest first.
            whole: The rectangle for labels, from the top of the widget to the bottom of the plot.
        """
        self.rooms = []
        left = area.right() + GUTTER_INSET
        high = self._frame.metrics.height()
        for label, top in _place_labels(labels, high, area, up, whole):
            self.rooms.append((QRectF(left, top, whole.right() - left, high), label))
            self._paint_label(painter, label, QPointF(left, top), whole.right() - left - 2)

    def _paint_label(
        self, painter: QPainter, label: LineLabel, corner: QPointF, room: float
    ) -> None:
        font, bold = self.fonts
        plain = QFontMetricsF(font)
        heavy = QFontMetricsF(bold)
        place = corner + QPointF(0, plain.ascent())
        if label.name:
            beside = plain.horizontalAdvance(label.about) + WORDS_APART if label.about else 0
            name = elide_name(label.name, heavy, room - beside)
            painter.setFont(bold)
            painter.setPen(ink(label.colour))
            painter.drawText(place, name)
            place += QPointF(heavy.horizontalAdvance(name) + WORDS_APART, 0)
        painter.setFont(font)
        painter.setPen(ink(self._frame.theme.colours.quiet))
        painter.drawText(place, label.about)

    def about(self, place: QPointF) -> str:
        """Return the tooltip of the label at a position; empty if there is none."""
        return next((label.explanation for room, label in self.rooms if room.contains(place)), "")


def is_roomy(width: int) -> bool:
    """Return True if a timeline of `width` pixels has room for tokens beside the names of lines."""
    return width >= ROOMY


def _place_labels(
    labels: Sequence[LineLabel], high: float, area: QRectF, up: LinearScale, whole: QRectF
) -> list[tuple[LineLabel, float]]:
    """Return the labels for which there is room, each with its top in pixels."""
    inside = [
        label for label in labels if area.top() - 1 <= up.pixel(label.tokens) <= area.bottom() + 1
    ]
    while inside:
        tops = [up.pixel(label.tokens) - high / 2 for label in inside]
        places = stack_labels(tops, [high] * len(inside), whole.bottom())
        if places:
            return list(zip(inside, places, strict=True))
        inside.remove(max(inside, key=lambda label: label.rank))
    return []
