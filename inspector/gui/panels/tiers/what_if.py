"""What if: the policy's settings, all of them. A change holds for every step from then on, and moves the lines on gauge
and timeline at once."""

from typing import ClassVar

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import policy
from inspector.core.words import plural
from inspector.gui.desk import Desk
from inspector.gui.dialogs.setting_row import SettingRows
from inspector.gui.look.build import button, column, row
from inspector.gui.look.labels import label
from inspector.gui.panels.panel import Panel
from inspector.workbench.policy_input import given, settings_of
from inspector.workbench.state import Choices, State


class SettingsForm(Panel):
    """One row a setting."""

    TITLE: ClassVar[str] = "What if"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._shown: tuple[Choices, int | None, int | None] | None = None
        self.says = label(role="small", wrap=True)
        self.all_back = button("Reset all", lambda: desk.workbench.stepping.choose(settings=()))
        self.settings = SettingRows(self._put)
        head = row((self.says, 1), self.all_back, margins=(13, 6, 10, 6))
        column(head, (self.settings, 1), of=self, gap=0)

    def show_state(self, state: State) -> None:
        """The values that hold where we stand."""
        window = state.window.tokens if state.window else None
        shown = (state.choices, window, state.user_window)
        if self._shown == shown:
            return
        try:
            now = settings_of(state)
        except InspectorError as failure:
            self.says.setText(str(failure))
            return
        self._shown = shown
        by = policy(state.choices.policy)
        changed = {name for name, _ in state.choices.settings}
        self.settings.show_values(by.name, now, by.settings(given(state, by), window), changed)
        self.all_back.setVisible(bool(changed))
        count = plural(len(changed), "setting")
        self.says.setText(f"{count} changed" if changed else f"{by.title}'s own settings")

    def _put(self, name: str, text: str | None) -> None:
        stepping = self.desk.workbench.stepping
        stepping.choose(settings=stepping.checked(name, text).settings)
