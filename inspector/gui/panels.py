"""The one list that names the panels and their places, in the order of their tabs."""

from inspector.gui.buffer_panel import BufferPanel
from inspector.gui.calibration_panel import CalibrationPanel
from inspector.gui.compactions_panel import CompactionsPanel
from inspector.gui.compare_panel import ComparePanel
from inspector.gui.diff_panel import DiffPanel
from inspector.gui.events_panel import EventsPanel
from inspector.gui.gauge import Gauge
from inspector.gui.lost_panel import LostPanel
from inspector.gui.message_view import MessageView
from inspector.gui.need_panel import NeedPanel
from inspector.gui.panel import Panel, Place
from inspector.gui.problems_panel import ProblemsPanel
from inspector.gui.proxy_panel import ProxyPanel
from inspector.gui.run_panel import RunPanel
from inspector.gui.search_panel import SearchPanel
from inspector.gui.sessions_panel import SessionsPanel
from inspector.gui.settings_form import SettingsForm
from inspector.gui.steps_panel import StepsPanel
from inspector.gui.tier_panel import TierPanel
from inspector.gui.timeline import Timeline
from inspector.gui.validity_panel import ValidityPanel

PANELS: tuple[tuple[Place, type[Panel]], ...] = (
    ("left", Gauge),
    ("top", Timeline),
    ("centre", BufferPanel),
    ("right", TierPanel),
    ("right", MessageView),
    ("right", StepsPanel),
    ("right", SettingsForm),
    ("right", RunPanel),
    ("right", ProxyPanel),
    ("bottom", DiffPanel),
    ("bottom", NeedPanel),
    ("bottom", LostPanel),
    ("bottom", EventsPanel),
    ("bottom", CalibrationPanel),
    ("bottom", CompactionsPanel),
    ("bottom", ComparePanel),
    ("bottom", ProblemsPanel),
    ("bottom", ValidityPanel),
    ("bottom", SearchPanel),
    ("bottom", SessionsPanel),
)
