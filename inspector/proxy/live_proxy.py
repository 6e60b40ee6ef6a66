"""A proxy as the window has it: the server, its gate, a table of the exchanges that passed, and a provider of our own
where that is wanted.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspector.core.errors import InspectorError
from inspector.core.formats.proxy.keys import key_of, read_headers
from inspector.extensions.windows import user_windows
from inspector.proxy.holds.hold import Rule
from inspector.proxy.holds.holds import Holds
from inspector.proxy.relay.server import ProxyServer

_KEPT = 400


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """One exchange. Zero and empty: not known (yet)."""

    exchange: int
    time: str
    method: str
    path: str
    client: str = ""
    session: str = ""
    """The client's session; its tag, where it has none."""
    thread: str = ""
    model: str = ""
    status: int = 0
    first_byte_ms: float = 0.0
    elapsed_ms: float = 0.0
    size: int = 0
    """Bytes of the request."""
    ended: str = ""
    """How the answer ended; empty while it is under way."""
    done: str = ""
    """What the proxy did: held, changed, cut again, dropped."""


class ExchangeTable:
    """Fed with the lines of a recording; keeps the latest exchanges, newest last."""

    def __init__(self) -> None:
        self._rows: OrderedDict[int, ExchangeRow] = OrderedDict()
        self._models: OrderedDict[int, str] = OrderedDict()

    @property
    def rows(self) -> tuple[ExchangeRow, ...]:
        return tuple(self._rows.values())

    def take(self, line: Mapping[str, Any]) -> bool:
        """One line; does it change a row?"""
        number = line.get("exchange")
        if not isinstance(number, int):
            return False
        if line.get("type") == "request":
            self._rows[number] = self._asked(number, line)
            while len(self._rows) > _KEPT:
                self._rows.popitem(last=False)
            return True
        one = self._rows.get(number)
        if one is None:
            return False
        self._rows[number] = _told(one, line)
        return self._rows[number] is not one

    def _asked(self, number: int, line: Mapping[str, Any]) -> ExchangeRow:
        told = line.get("body")
        body = told if isinstance(told, Mapping) else {}
        headers = read_headers(line.get("headers"))
        tag = _str(line.get("tag"))
        key = key_of(headers, body, tag)
        like = line.get("like")
        model = _str(body.get("model"))
        if not model and isinstance(like, Mapping):
            model = self._models.get(like.get("exchange", -1), "")
        self._models[number] = model
        while len(self._models) > 10 * _KEPT:
            self._models.popitem(last=False)
        size = line.get("size")
        return ExchangeRow(
            number,
            _str(line.get("time")),
            _str(line.get("method")),
            _str(line.get("path")),
            key.client,
            key.session,
            key.thread,
            model,
            size=size if isinstance(size, int) else 0,
        )


def _told(one: ExchangeRow, line: Mapping[str, Any]) -> ExchangeRow:
    match line.get("type"):
        case "held":
            return replace(one, done=f"held: {_str(line.get('why'))}")
        case "released":
            return replace(one, done=_str(line.get("how")))
        case "response":
            return replace(
                one,
                status=int(_number(line.get("status"))),
                first_byte_ms=_number(line.get("first_byte_ms")),
                elapsed_ms=_number(line.get("elapsed_ms")),
                ended=_str(line.get("ended")) or "complete",
            )
    return one


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0


SIMULATED = "simulated"
UPSTREAMS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Providers by name."""


class LiveProxy:
    """Begins at once; `close` ends it. Raises InspectorError where it cannot begin.

    `told` is called, from any thread, whenever something has passed or is held otherwise.
    """

    def __init__(self, upstream: str, record: Path, port: int, rule: Rule, told: Callable[[], None]) -> None:
        self._simulated: Any = None
        self.ledger = ExchangeTable()
        self._told = told
        self.holds: Holds = Holds(rule, user_windows())
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
                heard=self._take,
                rule=rule.document(),
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
        self._server.recorder.set_rule(rule.document())

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
