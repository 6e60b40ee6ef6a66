"""The policy that the user chose, between one run of the program and the next."""

from PySide6.QtCore import QObject

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, TITLES
from inspector.core.policies.harness import Policy
from inspector.extensions.policies import find_policy
from inspector.gui.bridge import Bridge
from inspector.gui.settings import Settings
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench

CHOSEN = "policy"
"""The key under which the chosen policy is remembered."""


class PolicyDesk(QObject):
    """Chooses the remembered policy at the start, and remembers another as soon as it is chosen."""

    def __init__(self, parent: QObject, workbench: Workbench, bridge: Bridge, settings: Settings) -> None:
        super().__init__(parent)
        self._workbench, self._bridge, self._settings = workbench, bridge, settings
        self._remembered = settings.text(CHOSEN, DEFAULT_POLICY)
        self._is_restored = False
        if self._remembered in TITLES:
            self._restore()
        else:  # a plug-in or a file: code of somebody else, which may take long
            bridge.run(lambda task: find_policy(self._remembered), self._loaded, self._refused)
        workbench.subscribe(self._remember)

    def _loaded(self, policy: Policy[object, object]) -> None:
        self._restore()

    def _restore(self) -> None:
        if not self._is_restored:
            self._is_restored = True
            self._workbench.stepping.choose(policy=self._remembered)

    def _refused(self, failure: InspectorError) -> None:
        self._is_restored = True
        title = TITLES[DEFAULT_POLICY]
        self._workbench.failed(f"The policy that was chosen last cannot be used, so {title} is chosen. {failure}")

    def _remember(self, state: State) -> None:
        policy = state.choices.usual_policy
        if not self._is_restored and policy == DEFAULT_POLICY:
            return  # nobody has chosen anything yet
        self._is_restored = True
        if policy != self._remembered:
            self._remembered = policy
            self._settings.keep_text(CHOSEN, policy)
