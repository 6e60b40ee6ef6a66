"""The exchanges that passed lately, a line each, as the recording tells of them."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.core.formats.proxy.headers import read_headers
from inspector.core.formats.proxy.keys import key_of

_KEPT = 400


@dataclass(frozen=True, slots=True)
class Passed:
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


class Ledger:
    """Fed with the lines of a recording; keeps the latest exchanges, newest last."""

    def __init__(self) -> None:
        self._rows: OrderedDict[int, Passed] = OrderedDict()
        self._models: OrderedDict[int, str] = OrderedDict()

    @property
    def rows(self) -> tuple[Passed, ...]:
        """All that are kept."""
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

    def _asked(self, number: int, line: Mapping[str, Any]) -> Passed:
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
        return Passed(
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


def _told(one: Passed, line: Mapping[str, Any]) -> Passed:
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
