"""The list of all panels with their workspaces and their places in the window, in the order of their tabs."""

from inspector.gui.panels.breakdown.panel import BreakdownPanel
from inspector.gui.panels.buffer.panel import BufferPanel
from inspector.gui.panels.calibration.panel import CalibrationPanel
from inspector.gui.panels.compare.panel import ComparePanel
from inspector.gui.panels.cost.panel import CostPanel
from inspector.gui.panels.diff.panel import DiffPanel
from inspector.gui.panels.glance.panel import GlancePanel
from inspector.gui.panels.lists.events import EventsPanel
from inspector.gui.panels.lists.files import FilesPanel
from inspector.gui.panels.lists.lost import LostPanel
from inspector.gui.panels.lists.recorded import CompactionsPanel, ProblemsPanel
from inspector.gui.panels.lists.search import SearchPanel
from inspector.gui.panels.lists.sessions import SessionsPanel
from inspector.gui.panels.lists.validity import ValidityPanel
from inspector.gui.panels.losses.panel import LossesPanel
from inspector.gui.panels.message.view import MessageView
from inspector.gui.panels.panel import Panel, Place
from inspector.gui.panels.pins.panel import PinsPanel
from inspector.gui.panels.proxy.panel import ProxyPanel
from inspector.gui.panels.run.panel import RunPanel
from inspector.gui.panels.steps.panel import StepsPanel
from inspector.gui.panels.tiers.blocks import SettingsForm
from inspector.gui.panels.tiers.need_panel import NeedPanel
from inspector.gui.panels.tiers.panel import TierPanel
from inspector.gui.panels.timeline.gauge import Gauge
from inspector.gui.panels.timeline.panel import Timeline

PANELS: tuple[tuple[str, Place, type[Panel]], ...] = (
    ("", "left", Gauge),
    ("", "top", Timeline),
    ("Read", "top", GlancePanel),
    ("Read", "left", BufferPanel),
    ("Read", "left", BreakdownPanel),
    ("Read", "left", FilesPanel),
    ("Read", "right", MessageView),
    ("Read", "right", ProblemsPanel),
    ("Read", "right", SessionsPanel),
    ("Read", "bottom", SearchPanel),
    ("Compact", "left", TierPanel),
    ("Compact", "left", SettingsForm),
    ("Compact", "left", StepsPanel),
    ("Compact", "left", ValidityPanel),
    ("Compact", "centre", DiffPanel),
    ("Compact", "bottom", LostPanel),
    ("Compact", "bottom", PinsPanel),
    ("Compact", "bottom", NeedPanel),
    ("Compact", "bottom", EventsPanel),
    ("Compact", "bottom", CompactionsPanel),
    ("What was lost", "centre", LossesPanel),
    ("Cost", "centre", CostPanel),
    ("Compare", "centre", ComparePanel),
    ("Calibrate", "centre", CalibrationPanel),
    ("Live", "centre", ProxyPanel),
    ("Live", "right", RunPanel),
)
"""(workspace, place in it, class) of every panel. Panels with an empty workspace are shown in all workspaces."""
