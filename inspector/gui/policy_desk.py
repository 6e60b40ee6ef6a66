"""Remember the chosen policy between runs of the program, and open, watch and reload the user's own policy files."""

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject
from PySide6.QtWidgets import QWidget

from inspector.core.errors import InspectorError
from inspector.core.policies.catalogue import DEFAULT_POLICY, TITLES
from inspector.core.policies.harness import Policy
from inspector.extensions.policies import find_policy, is_file
from inspector.gui.bridge import Bridge
from inspector.gui.dialogs import ask
from inspector.gui.look.build import delayed
from inspector.gui.settings import Settings
from inspector.workbench.state import State
from inspector.workbench.workbench import Workbench

SETTLE_MS = 150
"""Milliseconds after a change of the file until it is read: editors write in several steps."""
CHOSEN = "policy"
"""The key under which the chosen policy is remembered."""


class PolicyDesk(QObject):
    """Chooses the remembered policy at the start, and remembers every later choice."""

    def __init__(
        self, parent: QWidget, workbench: Workbench, bridge: Bridge, settings: Settings
    ) -> None:
        super().__init__(parent)
        self._window = parent
        self._workbench = workbench
        self._bridge = bridge
        self._settings = settings
        self._watched = ""
        self._content = b""
        """Path and content of the chosen policy's file; both empty while the policy is not a file."""
        self._watcher = QFileSystemWatcher(self)
        self._soon = delayed(self, SETTLE_MS, self._reload_if_changed)
        self._watcher.fileChanged.connect(lambda _: self._soon.start())
        self._watcher.directoryChanged.connect(lambda _: self._soon.start())
        self._remembered = settings.text(CHOSEN, DEFAULT_POLICY)
        self._is_restored = False
        if self._remembered in TITLES:
            self._restore()
        else:  # a plug-in or a file: foreign code, which may load slowly
            bridge.run(
                lambda task: find_policy(self._remembered), self._accept_policy, self._refuse_policy
            )
        workbench.subscribe(self._remember)
        workbench.subscribe(lambda state: self._watch(state.choices.policy))

    def choose_file(self) -> None:
        """Ask for a policy file, and choose the policy that it holds."""
        path = ask.ask_policy_file(self._window, self._settings)
        if path:
            self.open_file(path)

    def open_file(self, path: str) -> None:
        """Choose the policy that a file defines; the file is executed.

        If that fails, show the reason as one sentence.
        """

        def choose(policy: Policy[object, object]) -> None:
            self._is_restored = True
            self._workbench.stepping.choose(policy=policy.reference)

        self._bridge.run(lambda task: find_policy(path), choose, self._say)

    def _say(self, failure: InspectorError) -> None:
        self._workbench.failed(str(failure))

    # -- changes of the file -------------------------------------------------------------------------------------------

    def _watch(self, policy: str) -> None:
        """Watch the chosen policy's file, and its folder because editors replace the file by another one."""
        path = policy if is_file(policy) else ""
        if path == self._watched:
            return
        if watched := [*self._watcher.files(), *self._watcher.directories()]:
            self._watcher.removePaths(watched)
        self._watched = path
        self._content = _read(path)
        if path:
            self._watcher.addPaths([path, str(Path(path).parent)])

    def _reload_if_changed(self) -> None:
        """Load the policy again if the content of its file has changed."""
        path = self._watched
        content = _read(path)
        if not path or content == self._content or not content:
            return
        self._content = content
        if path not in self._watcher.files():
            self._watcher.addPath(path)
        self._bridge.run(
            lambda task: find_policy(path),
            lambda _: self._workbench.stepping.reload_policy(),
            self._say,
        )

    def _accept_policy(self, policy: Policy[object, object]) -> None:
        self._restore()

    def _restore(self) -> None:
        if not self._is_restored:
            self._is_restored = True
            self._workbench.stepping.choose(policy=self._remembered)

    def _refuse_policy(self, failure: InspectorError) -> None:
        self._is_restored = True
        title = TITLES[DEFAULT_POLICY]
        self._workbench.failed(
            f"The policy that you chose last cannot be loaded, so {title} is used instead. {failure}"
        )

    def _remember(self, state: State) -> None:
        policy = state.choices.usual_policy
        if not self._is_restored and policy == DEFAULT_POLICY:
            return  # the user has not chosen anything yet
        self._is_restored = True
        if policy != self._remembered:
            self._remembered = policy
            self._settings.keep_text(CHOSEN, policy)


def _read(path: str) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return Path(path).read_bytes() if path else b""
    except OSError:
        return b""
