"""The proxy of the window: the server, its gate, and a simulated provider if one is wanted."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from inspector.extensions.windows import user_windows
from inspector.proxy.ending import OpenExchanges, finish_exchanges
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer
from inspector.proxy.relay.upstreams import HOSTS
from inspector.safety.folders import make_private_folder

SIMULATED = "simulated"


class LiveProxy:
    """A proxy that starts when it is created; `finish` or `close` ends it. Raises InspectorError if it cannot start.

    `on_change` is called, from any thread, whenever an exchange begins or ends or the held requests change.
    """

    def __init__(
        self, upstream: str, record: Path, port: int, rule: Rule, on_change: Callable[[], None]
    ) -> None:
        self._exchanges = OpenExchanges()
        self._told = on_change
        self.holds: Holds = Holds(rule, user_windows())
        self.upstream = upstream
        self.record = record
        self.trouble = ""
        """The recorder's last complaint; empty if there was none."""
        make_private_folder(record.parent)
        with ExitStack() as opened:
            if upstream == SIMULATED:
                from inspector.simulated.server import SimulatedServer

                upstream = opened.enter_context(SimulatedServer()).url
            self._server = ProxyServer(
                HOSTS.get(upstream, upstream),
                record,
                port=port,
                gate=self.holds,
                tell=self._trouble,
                heard=self._take,
                rule=rule.document(),
            )
            opened.enter_context(self._server)
            self._opened = opened.pop_all()
        self.holds.note = self._note_trouble
        self.holds.subscribe(lambda holds: on_change())
        self.url = self._server.url

    @property
    def under_way(self) -> frozenset[int]:
        """Return the numbers of the exchanges that have no answer yet."""
        return self._exchanges.numbers

    def set_rule(self, rule: Rule) -> None:
        self.holds.set_rule(rule)
        self._server.recorder.set_rule(rule.document())

    def _note_trouble(self, what: str) -> None:
        self._server.recorder.note(what)
        self._trouble(what)

    def _take(self, line: Mapping[str, Any]) -> None:
        if self._exchanges.take(line):
            self._told()

    def _trouble(self, sentence: str) -> None:
        self.trouble = sentence
        self._told()

    def finish(self, is_hurried: Callable[[], bool]) -> None:
        """Forward held requests unchanged, wait for open answers, and end. Blocks.

        Args:
            is_hurried: Asked repeatedly; once it returns True, the waiting ends.
        """
        finish_exchanges(self._server, self._exchanges, is_hurried)
        self.close()

    def close(self) -> None:
        """End the proxy, including open exchanges. May be called twice."""
        self._opened.close()
