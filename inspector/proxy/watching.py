"""A proxy as the window has it: server, gate, ledger, and a provider of our own where that is wanted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inspector.core.errors import InspectorError
from inspector.extensions.windows import user_windows
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.holds.ledger import Ledger
from inspector.proxy.relay.server import ProxyServer

SIMULATED = "simulated"
UPSTREAMS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Providers by name."""


class _Gate(Holds):
    """Tells what was recorded, too."""

    def __init__(self, rule: Rule, told: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(rule, user_windows())
        self._heard_of = told

    def heard(self, line: Mapping[str, Any]) -> None:
        """In the recorder's thread."""
        super().heard(line)
        self._heard_of(line)


class Watching:
    """Begins at once; `close` ends it. Raises InspectorError where it cannot begin.

    `told` is called, from any thread, whenever something has passed or is held otherwise.
    """

    def __init__(self, upstream: str, record: Path, port: int, rule: Rule, told: Callable[[], None]) -> None:
        self._simulated: Any = None
        self.ledger = Ledger()
        self._told = told
        self.holds: Holds = _Gate(rule, self._take)
        self.upstream, self.record = upstream, record
        try:
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as why:
            raise InspectorError(f"{record.parent} cannot be made: {why.strerror or why}.") from None
        try:
            self._server = ProxyServer(
                self._address(upstream),
                record,
                port=port,
                gate=self.holds,
                tell=self._trouble,
                standing=rule.standing(),
            )
            self._server.start()
        except BaseException:
            self._stop_simulated()
            raise
        self.holds.note = self._noted
        self.holds.subscribe(lambda shown: told())
        self.url = self._server.url
        self.trouble = ""
        """What the recorder complained of last; empty for nothing."""

    def set_rule(self, rule: Rule) -> None:
        """Hold by another rule from here on; the recording knows."""
        self.holds.set_rule(rule)
        self._server.recorder.stands(rule.standing())

    def _address(self, upstream: str) -> str:
        if upstream != SIMULATED:
            return UPSTREAMS.get(upstream, upstream)
        from inspector.simulated.server import SimulatedServer

        self._simulated = SimulatedServer().start()
        return str(self._simulated.url)

    def _noted(self, what: str) -> None:
        self._server.recorder.note(what)
        self._trouble(what)

    def _take(self, line: Mapping[str, Any]) -> None:
        if self.ledger.take(line):
            self._told()

    def _trouble(self, sentence: str) -> None:
        self.trouble = sentence
        self._told()

    def _stop_simulated(self) -> None:
        if self._simulated is not None:
            self._simulated.stop()

    def close(self) -> None:
        """End it; what is held is let go by the end of its connections. May be called twice."""
        self._server.close()
        self._stop_simulated()
