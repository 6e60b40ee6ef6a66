"""The rows of the network table, exchanges or the calls of a transcript that holds none: what stands in each column,
what it is sorted by, which rows a filter keeps, and where the bars of the waterfall lie."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import Qt, Signal

from inspector.core.exchange import NOWHERE, ExchangePlace, ExchangeSummary
from inspector.core.session import Request, Session, exchange_places
from inspector.gui.bridge import Bridge, LatestJob
from inspector.gui.look.labels import tip
from inspector.gui.look.number_formats import grouped, share_words, size_words
from inspector.gui.look.visible import line
from inspector.gui.panels.proxy.hold_box import client_title
from inspector.gui.widgets.table import TOP, Column, Index, TableModel, sorted_title

Tone: TypeAlias = Literal["", "good", "bad", "waits"]


@dataclass(frozen=True, slots=True)
class ListedExchange:
    """One row."""

    what: ExchangeSummary
    place: ExchangePlace
    request: Request | None = None
    """None for a side call."""

    @property
    def id(self) -> object:
        """Tells it from the others of the session."""
        return self.what.line if self.what.method else (self.place.thread, self.place.request, self.what.line)

    @property
    def tone(self) -> Tone:
        """How its status is coloured."""
        one = self.what
        if one.is_waiting:
            return "waits"
        if one.has_failed:
            return "bad"
        return "good" if one.ended else ""


@dataclass(frozen=True, slots=True)
class ExchangeColumn(Column[ListedExchange]):
    """`key`: what it is sorted by; `rank`: where there is no room for all, those of the highest go first. `width` is
    the most that it takes."""

    key: Callable[[ListedExchange], Any] = field(kw_only=True)
    rank: int = 0


def listed(session: Session) -> list[ListedExchange]:
    """All exchanges of a recording or capture; of any other session its calls. O(exchanges + requests)."""
    if not session.exchanges:
        return [replace(row, what=replace(row.what, number=n)) for n, row in enumerate(_calls(session))]
    places, threads = exchange_places(session), {thread.id: thread.requests for thread in session.threads}

    def row(one: ExchangeSummary) -> ListedExchange:
        place = places.get(one.line, NOWHERE)
        return ListedExchange(one, place, None if place.request is None else threads[place.thread][place.request])

    return [row(exchange) for exchange in session.exchanges]


def _calls(session: Session) -> Iterator[ListedExchange]:
    for thread in session.threads:
        for request in thread.requests:
            told = ExchangeSummary(
                0, request.line, request.time, "", "", thread.client, request.model or thread.model,
                first_byte_ms=request.first_byte_ms,
                elapsed_ms=request.elapsed_ms,
                ended="complete",
                usage=request.usage,
            )  # fmt: skip
            yield ListedExchange(told, ExchangePlace(thread.id, request.index, "", bool(thread.parent)), request)
    subs = {thread.id for thread in session.threads if thread.parent}
    for side in session.side_calls:
        told = ExchangeSummary(
            0, side.line, side.time, "", side.what, model=side.model, status=side.status, ended="complete",
            usage=side.usage,
        )  # fmt: skip
        yield ListedExchange(told, ExchangePlace(side.thread, None, side.kind, side.thread in subs))


# -- words -------------------------------------------------------------------------------------------------------------


def time_words(milliseconds: float | None) -> str:
    """`640 ms`, `1.9 s`, `2:05 min`; empty for an unknown one."""
    if milliseconds is None:
        return ""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{int(seconds) // 60}:{int(seconds) % 60:02} min"


def status_words(one: ExchangeSummary) -> str:
    """`200`, `429`, `held`, `…` while it is under way, `none` where nothing came; empty where none is recorded."""
    if one.is_waiting:
        return "held"
    if not one.ended:
        return "…"
    if one.status:
        return str(one.status)
    return "none" if one.method else ""


def kind_words(row: ListedExchange) -> str:
    """`request 12`, or what kind of side call it is."""
    if row.place.kind:
        return row.place.kind
    return f"request {row.place.request}" if row.place.request is not None else ""


def held_words(one: ExchangeSummary) -> str:
    """How long it was held, and what was done to it: `41 s · changed`, `cut again`."""
    words = ["held" if one.is_waiting else time_words(one.held_ms)]
    words += [one.done if one.done != "as it was" else "", one.ended if one.ended not in ("", "complete") else ""]
    return " · ".join(dict.fromkeys(word for word in words if word))


def up_words(one: ExchangeSummary) -> str:
    """What the client sent, and what went on where that was something else."""
    sent = f" → {size_words(one.sent)}" if one.sent is not None else ""
    return size_words(one.up) + sent


def _output(row: ListedExchange) -> str:
    usage = row.what.usage
    return "" if usage is None else f"{'' if usage.output_is_final else '≥ '}{grouped(usage.output)}"


def _client(row: ListedExchange) -> str:
    return client_title(row.what.client) if row.what.client else ""


def _finish(row: ListedExchange) -> str:
    return row.request.finish if row.request is not None else ""


def _time(row: ListedExchange) -> str:
    return row.what.time[:19].replace("T", " ")


def _came(row: ListedExchange) -> tuple[str, int]:
    return row.what.time, row.what.number


def _number(value: float | None) -> float:
    return -1.0 if value is None else value


def _figures(
    title: str, of: Callable[[ListedExchange], Any], words: Callable[[Any], str], width: int, rank: int
) -> ExchangeColumn:
    """A column of numbers, in words and in order of their size; of what is unknown nothing is said."""

    def text(row: ListedExchange) -> str:
        value = of(row)
        return "" if value is None else words(value)

    return ExchangeColumn(title, text, width, True, key=lambda row: _number(of(row)), rank=rank)


COLUMNS: Sequence[ExchangeColumn] = (
    ExchangeColumn("#", lambda row: f"{row.what.number:,}" if row.what.method else "", 6, True, key=_came),
    ExchangeColumn("sent at", _time, 20, key=_came, rank=12),
    ExchangeColumn("status", lambda row: status_words(row.what), 6, key=lambda row: row.what.status or 0),
    ExchangeColumn("client", _client, 14, key=_client, rank=6),
    ExchangeColumn("model", lambda row: row.what.model, 26, key=lambda row: row.what.model, rank=4),
    ExchangeColumn("thread", lambda row: row.place.thread, 14, key=lambda row: row.place.thread, rank=3),
    ExchangeColumn(
        "kind", kind_words, 16, key=lambda row: (row.place.kind, row.place.thread, _number(row.place.request)), rank=2
    ),
    ExchangeColumn("up", lambda row: up_words(row.what), 16, True, key=lambda row: _number(row.what.up), rank=5),
    _figures("down", lambda row: row.what.down, size_words, 7, 8),
    _figures("first byte", lambda row: row.what.first_byte_ms, time_words, 9, 7),
    ExchangeColumn("time", lambda row: time_words(row.what.elapsed_ms), key=lambda row: _number(row.what.elapsed_ms)),
    _figures("messages", lambda row: row.request and len(row.request.view), grouped, 9, 10),
    _figures("prompt", lambda row: row.what.usage and row.what.usage.prompt, grouped, 10, 9),
    _figures("cached", lambda row: row.what.cached, share_words, 6, 1),
    ExchangeColumn(
        "output", _output, 9, True, key=lambda row: row.what.usage.output if row.what.usage else -1, rank=11
    ),
    ExchangeColumn("ended", _finish, 12, key=_finish, rank=13),
    ExchangeColumn("held", lambda row: held_words(row.what), 18, key=lambda row: _number(row.what.held_ms)),
)  # fmt: skip
WATERFALL = next(n for n, one in enumerate(COLUMNS) if one.title == "time")
"""The column with the bars."""


# -- which of them -----------------------------------------------------------------------------------------------------

ALL, MAIN, SUB, SIDE, ERRORS = "all", "main", "sub-agents", "side calls", "errors"
CHOICES = (
    (ALL, "Everything that passed"),
    (MAIN, "Requests of conversations that no other one started"),
    (SUB, "Requests and side calls of sub-agents"),
    (SIDE, "Titles, token counts, probes, calls for a summary: requests of no conversation"),
    (ERRORS, "What the provider refused, what broke off, what was dropped"),
)
_KEEPS: Mapping[str, Callable[[ListedExchange], bool]] = {
    ALL: lambda row: True,
    MAIN: lambda row: row.place.request is not None and not row.place.is_sub,
    SUB: lambda row: row.place.is_sub,
    SIDE: lambda row: bool(row.place.kind),
    ERRORS: lambda row: row.what.has_failed,
}


def kinds_of(rows: Sequence[ListedExchange]) -> frozenset[str]:
    """The kinds that some of them are of, and not all. O(rows)."""
    counts = {kind: sum(map(keeps, rows)) for kind, keeps in _KEEPS.items()}
    return frozenset(kind for kind, many in counts.items() if 0 < many < len(rows))


class RowFilter:
    """Which of these rows are kept. What stands in them is written down once: a key that is pressed then costs 0.2 µs
    a row."""

    def __init__(self, rows: Sequence[ListedExchange]) -> None:
        self._rows = rows
        self._texts: Sequence[str] = ()
        self._order: tuple[object, Sequence[int]] = (None, ())

    def __len__(self) -> int:
        return len(self._rows)

    def order(self, by: int, falling: bool) -> Sequence[int]:
        """The places of the rows as that column puts them in order; remembered until another is asked for."""
        if self._order[0] != (by, falling):
            keys = [*map(COLUMNS[by].key, self._rows)]
            self._order = (by, falling), sorted(range(len(keys)), key=keys.__getitem__, reverse=falling)
        return self._order[1]

    def prepare(self) -> None:
        """Write down what stands in the rows. O(rows); what most of them share is spelt once."""
        if len(self._texts) == len(self._rows):
            return
        known, texts = dict[object, str](), list[str]()
        for row in self._rows:
            one, place = row.what, row.place
            told = (one.status, one.ended, one.client, one.model, one.held, one.done, one.held_ms, one.method, one.path)
            key = (told, one.error, place.thread, place.kind, _finish(row))
            if (shared := known.get(key)) is None:
                words = (status_words(one), _client(row), one.model, place.thread, place.kind, _finish(row))
                whole = " ".join((*words, held_words(one), one.method, one.path, one.error))
                shared = known[key] = whole.casefold()
            texts.append(shared if place.kind else f"{kind_words(row)} {shared}")
        self._texts = texts

    def kept(self, order: Iterable[int], which: str, text: str) -> list[ListedExchange]:
        """Of the rows at these places those of that kind in which all words of the text stand, in a column, in the path
        or in the error."""
        left, keep, rows = list(order), _KEEPS[which], self._rows
        if words := text.casefold().split():
            self.prepare()
        for word in words:
            left = [n for n in left if word in self._texts[n]]
        found = [rows[n] for n in left]
        return found if which == ALL else [row for row in found if keep(row)]


# -- the model ---------------------------------------------------------------------------------------------------------


MANY = 20_000
"""Rows from which on they are put in order off the GUI thread."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Rows in order, and what is new of them."""

    rows: Sequence[ListedExchange]
    more: int | None
    """That stand above all others; None: the rows are others, or in another order."""
    changed: tuple[int, int] | None
    """The first and the last that tell something else."""
    places: Mapping[object, int]
    """Where each stands, by its id, and by its thread and request."""


def arranged(
    old: Sequence[ListedExchange], among: RowFilter, chosen: tuple[str, str], by: int, falling: bool
) -> Arrangement:
    """Those that are chosen, in the order of that column. `old`: what was shown before. O(rows)."""
    if len(among) > MANY:
        among.prepare()  # elsewhere, before anybody types
    rows = among.kept(among.order(by, falling), *chosen)
    ids, more = [row.id for row in rows], len(rows) - len(old)
    places: dict[object, int] = {(one.place.thread, one.place.request): n for n, one in reversed([*enumerate(rows)])}
    places.update(zip(ids, range(len(ids)), strict=True))
    if not old or more < 0 or ids[more:] != [one.id for one in old]:
        return Arrangement(rows, None, None, places)
    changed = [more + n for n, one in enumerate(old) if rows[more + n] != one]
    return Arrangement(rows, more, (changed[0], changed[-1]) if changed else None, places)


class ExchangeModel(TableModel[ListedExchange]):
    """Knows which rows are new or changed, so that thousands are not laid out again for one that came."""

    replaced = Signal()
    """The rows are others, or in another order."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(COLUMNS)
        self._job = LatestJob(bridge)
        self._filter, self._chosen = RowFilter(()), (ALL, "")
        self._by, self._falling = 0, True
        self.seen: Collection[int] = range(len(COLUMNS))
        """Columns that are not left out."""
        self.places: Mapping[object, int] = {}
        """Where each row stands, by the exchange's id, and by (thread, request)."""

    def show_all(self, rows: Sequence[ListedExchange]) -> None:
        """All that passed, in the order in which it came."""
        self._filter = RowFilter(rows)
        self._arrange()

    def choose(self, which: str, text: str) -> None:
        self._chosen = (which, text)
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By that column; equal ones as they came."""
        self._by, self._falling = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def _arrange(self) -> None:
        job = partial(arranged, self.rows, self._filter, self._chosen, self._by, self._falling)
        self._job.cancel()
        if len(self._filter) <= MANY:
            self._take(job())
        else:
            self._job.run(lambda task: job(), self._take)

    def _take(self, new: Arrangement) -> None:
        self.places = new.places
        if new.more is None:
            self.show_rows(new.rows)
            self.replaced.emit()
            return
        if new.more:  # newest first: they stand above all others
            self.beginInsertRows(TOP, 0, new.more - 1)
            self.rows = new.rows
            self.endInsertRows()
        self.rows = new.rows
        if new.changed:
            self.dataChanged.emit(self.index(new.changed[0], 0), self.index(new.changed[1], len(COLUMNS) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role != Qt.ItemDataRole.ToolTipRole:
            return super().data(index, role)
        row, column = self.rows[index.row()], COLUMNS[index.column()]
        told = (f"{row.what.method} {row.what.path}".strip(), column.text(row), row.what.error)
        return tip("\n".join(line(text, 600) for text in told if text))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        told = super().headerData(section, orientation, role)
        alike = [n for n in self.seen if COLUMNS[n].key is COLUMNS[self._by].key]
        by = self._by if self._by in alike else next(iter(alike), None)  # `#` and `sent at` are the same order
        if told is None or role != Qt.ItemDataRole.DisplayRole or section != by:
            return told
        return sorted_title(told, self._falling)


# -- the waterfall -----------------------------------------------------------------------------------------------------

_GAP = 0.03
"""Share of the column that a time takes in which nothing was under way, however long it was."""


def waterfall(rows: Sequence[ListedExchange]) -> dict[object, tuple[float, float, float]]:
    """Where each bar begins, has its first byte, and ends, from 0 to 1, by the row's id.

    One axis for all of them; a time in which none of them was under way is a small gap, however long it was. What is
    held is not under way. Without those that have no times yet. O(n log n).
    """
    spans = sorted(((span, row.id) for row in rows if (span := _span(row.what)) is not None), key=lambda one: one[0])
    edges: list[tuple[float, float]] = []
    end = shift = gaps = 0.0
    for n, ((start, _, last), _) in enumerate(spans):
        if n == 0:
            shift, end = start, start
        if start > end:
            shift += start - end
            gaps += 1
        end = max(end, last)
        edges.append((start - shift, gaps))
    whole = max((last - start + edge for ((start, _, last), _), (edge, _) in zip(spans, edges, strict=True)), default=0)
    share = min(_GAP, 0.5 / gaps) if gaps else 0.0
    scale = (1 - gaps * share) / (whole or 1.0)
    found = {}
    for ((start, first, last), id_), (edge, before) in zip(spans, edges, strict=True):
        left = edge * scale + before * share
        found[id_] = (left, left + (first - start) * scale, left + (last - start) * scale)
    return found


def _span(one: ExchangeSummary) -> tuple[float, float, float] | None:
    """When it was handed on, had its first byte, and ended, in seconds."""
    if one.elapsed_ms is None:
        return None
    try:
        start = datetime.fromisoformat(one.time).timestamp() + (one.held_ms or 0.0) / 1000
    except ValueError:
        return None
    last = start + one.elapsed_ms / 1000
    first = start + min(one.first_byte_ms or one.elapsed_ms, one.elapsed_ms) / 1000
    return start, first, last
