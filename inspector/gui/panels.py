"""The one list that names the panels and their places, in the order of their tabs."""

from typing import Literal, TypeAlias

from inspector.gui.buffer_panel import BufferPanel
from inspector.gui.gauge import Gauge
from inspector.gui.message_view import MessageView
from inspector.gui.panel import Panel
from inspector.gui.timeline import Timeline

Place: TypeAlias = Literal["left", "top", "centre", "right", "bottom"]
"""Where a panel stands in a fresh window; the user may move all but the centre."""

PANELS: tuple[tuple[Place, type[Panel]], ...] = (
    ("left", Gauge),
    ("top", Timeline),
    ("centre", BufferPanel),
    ("right", MessageView),
)
