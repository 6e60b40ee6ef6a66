"""The rows of the network table (exchanges, or model calls of a transcript): columns, order, filter and waterfall."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """A row of the table: an exchange, or a model call of a transcript without exchanges."""

    what: ExchangeSummary
    place: ExchangePlace
    request: Request | None = None
    """The request of the row; None for a side call."""

    @property
    def id(self) -> object:
        """A key that is unique among the rows of the session."""
        if self.what.method:
            return self.what.line
        return (self.place.thread, self.place.request, self.what.line)

    @property
    def tone(self) -> Tone:
        """The kind of the status, which determines its colour."""
        if self.what.is_waiting:
            return "waits"
        if self.what.has_failed:
            return "bad"
        return "good" if self.what.ended else ""


@dataclass(frozen=True, slots=True)
class ExchangeColumn(Column[ListedExchange]):
    """A column of the table. `width` is its maximum width in characters."""

    key: Callable[[ListedExchange], Any] = field(kw_only=True)
    """Returns the value by which rows are sorted."""
    rank: int = 0
    """Columns with the highest rank are hidden first if there is not enough room; 0: never hidden."""


def list_exchanges(session: Session) -> list[ListedExchange]:
    """Return all exchanges of a recording or capture, or the model calls of another session. O(exchanges +
    requests).
    """
    if not session.exchanges:
        return [
            replace(row, what=replace(row.what, number=index))
            for index, row in enumerate(_calls(session))
        ]
    places = exchange_places(session)
    requests = {thread.id: thread.requests for thread in session.threads}
    rows = list[ListedExchange]()
    for exchange in session.exchanges:
        place = places.get(exchange.line, NOWHERE)
        request = None if place.request is None else requests[place.thread][place.request]
        rows.append(ListedExchange(exchange, place, request))
    return rows


def _calls(session: Session) -> Iterator[ListedExchange]:
    """Yield the requests and side calls of a transcript in the form of exchanges."""
    for thread in session.threads:
        for request in thread.requests:
            exchange = ExchangeSummary(
                number=0,
                line=request.line,
                time=request.time,
                method="",
                path="",
                client=thread.client,
                model=request.model or thread.model,
                first_byte_ms=request.first_byte_ms,
                elapsed_ms=request.elapsed_ms,
                ended="complete",
                usage=request.usage,
            )
            place = ExchangePlace(thread.id, request=request.index, is_sub=bool(thread.parent))
            yield ListedExchange(exchange, place, request)
    subs = {thread.id for thread in session.threads if thread.parent}
    for side in session.side_calls:
        exchange = ExchangeSummary(
            number=0,
            line=side.line,
            time=side.time,
            method="",
            path=side.what,
            model=side.model,
            status=side.status,
            ended="complete",
            usage=side.usage,
        )
        yield ListedExchange(
            exchange, ExchangePlace(side.thread, kind=side.kind, is_sub=side.thread in subs)
        )


# -- words -------------------------------------------------------------------------------------------------------------


def time_words(milliseconds: float | None) -> str:
    """Return a duration as `640 ms`, `1.9 s` or `2:05 min`; empty if it is unknown."""
    if milliseconds is None:
        return ""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} min"


def exchange_status(exchange: ExchangeSummary) -> str:
    """Return the status: `200`, `429`, `held`, `…` while under way, `none` without an answer; empty if not recorded."""
    if exchange.is_waiting:
        return "held"
    if not exchange.ended:
        return "…"
    if exchange.status:
        return str(exchange.status)
    return "none" if exchange.method else ""


def kind_words(row: ListedExchange) -> str:
    """Return the kind of a row: `request 12`, or the kind of a side call."""
    if row.place.kind:
        return row.place.kind
    return f"request {row.place.request}" if row.place.request is not None else ""


def held_words(exchange: ExchangeSummary) -> str:
    """Return how long an exchange was held and how it was changed, such as `41 s · changed` or `cut again`."""
    words = ["held" if exchange.is_waiting else time_words(exchange.held_ms)]
    if exchange.done != "as it was":
        words.append(exchange.done)
    if exchange.ended != "complete":
        words.append(exchange.ended)
    return " · ".join(dict.fromkeys(filter(None, words)))


def up_words(exchange: ExchangeSummary) -> str:
    """Return the size of what the client sent and, if it differs, of what was forwarded."""
    forwarded = f" → {size_words(exchange.sent)}" if exchange.sent is not None else ""
    return size_words(exchange.up) + forwarded


def _output(row: ListedExchange) -> str:
    usage = row.what.usage
    if usage is None:
        return ""
    sign = "" if usage.output_is_final else "≥ "
    return f"{sign}{grouped(usage.output)}"


def _client(row: ListedExchange) -> str:
    return client_title(row.what.client) if row.what.client else ""


def _finish(row: ListedExchange) -> str:
    return row.request.finish if row.request is not None else ""


def _time(row: ListedExchange) -> str:
    return row.what.time[:19].replace("T", " ")


def _arrival(row: ListedExchange) -> tuple[str, int]:
    return row.what.time, row.what.number


def _number(value: float | None) -> float:
    return -1.0 if value is None else value


def _figures(
    title: str,
    of: Callable[[ListedExchange], Any],
    words: Callable[[Any], str],
    width: int,
    rank: int,
) -> ExchangeColumn:
    """Return a column of numbers, sorted by value. Unknown numbers are left empty."""

    def text(row: ListedExchange) -> str:
        value = of(row)
        return "" if value is None else words(value)

    return ExchangeColumn(title, text, width, True, key=lambda row: _number(of(row)), rank=rank)


COLUMNS: Sequence[ExchangeColumn] = (
    ExchangeColumn("#", lambda row: f"{row.what.number:,}" if row.what.method else "", 6, True, key=_arrival),
    ExchangeColumn("sent at", _time, 20, key=_arrival, rank=12),
    ExchangeColumn("status", lambda row: exchange_status(row.what), 6, key=lambda row: row.what.status or 0),
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
WATERFALL = next(n for n, column in enumerate(COLUMNS) if column.title == "time")
"""Index of the column with the bars."""


# -- the filter --------------------------------------------------------------------------------------------------------

ALL, MAIN, SUB, SIDE, ERRORS = "all", "main", "sub-agents", "side calls", "errors"
CHOICES = (
    (ALL, "All exchanges"),
    (MAIN, "Requests of conversations that no other conversation started"),
    (SUB, "Requests and side calls of sub-agents"),
    (SIDE, "Titles, token counts, probes and calls for a summary: they belong to no conversation"),
    (ERRORS, "Requests that the provider refused, that broke off, or that were dropped"),
)
_KEEPS: Mapping[str, Callable[[ListedExchange], bool]] = {
    ALL: lambda row: True,
    MAIN: lambda row: row.place.request is not None and not row.place.is_sub,
    SUB: lambda row: row.place.is_sub,
    SIDE: lambda row: bool(row.place.kind),
    ERRORS: lambda row: row.what.has_failed,
}


def kinds_of(rows: Sequence[ListedExchange]) -> frozenset[str]:
    """Return the kinds of which some, but not all, of the rows are. O(rows)."""
    counts = {kind: sum(map(keeps, rows)) for kind, keeps in _KEEPS.items()}
    return frozenset(kind for kind, many in counts.items() if 0 < many < len(rows))


class RowFilter:
    """Sorts and filters rows. Their texts are computed once, so that each typed letter costs 0.2 µs per row."""

    def __init__(self, rows: Sequence[ListedExchange]) -> None:
        self._rows = rows
        self._texts: Sequence[str] = ()
        self._order: tuple[object, Sequence[int]] = (None, ())

    def __len__(self) -> int:
        return len(self._rows)

    def order(self, column: int, falling: bool) -> Sequence[int]:
        """Return the indices of the rows, sorted by a column. The last order is cached."""
        if self._order[0] != (column, falling):
            keys = [*map(COLUMNS[column].key, self._rows)]
            self._order = (
                (column, falling),
                sorted(range(len(keys)), key=keys.__getitem__, reverse=falling),
            )
        return self._order[1]

    def prepare(self) -> None:
        """Compute the searchable texts of the rows. O(rows); texts that many rows share are built once."""
        if len(self._texts) == len(self._rows):
            return
        shared_texts = dict[object, str]()
        texts = list[str]()
        for row in self._rows:
            key = _text_key(row)
            shared = shared_texts.get(key)
            if shared is None:
                shared = shared_texts[key] = _shared_text(row)
            # Numbers are typed without the commas that the column shows.
            plain_words = kind_words(row).replace(",", "")
            own_words = "" if row.place.kind else f"{kind_words(row)} {plain_words}"
            texts.append(f"{own_words} {shared}")
        self._texts = texts

    def filter_rows(self, order: Iterable[int], which: str, text: str) -> list[ListedExchange]:
        """Return the rows at these indices that are of a kind and contain all words of a text.

        Words are searched in the columns, in the path and in the error.
        """
        places = list(order)
        words = text.casefold().split()
        if words:
            self.prepare()
        for word in words:
            places = [index for index in places if word in self._texts[index]]
        matching = [self._rows[index] for index in places]
        return matching if which == ALL else list(filter(_KEEPS[which], matching))


def _text_key(row: ListedExchange) -> object:
    """Return all values on which the shared text of a row depends."""
    what = row.what
    place = row.place
    outcome = (what.status, what.ended, what.held, what.done, what.held_ms, what.error)
    origin = (what.client, what.model, what.method, what.path)
    return outcome, origin, place.thread, place.kind, _finish(row)


def _shared_text(row: ListedExchange) -> str:
    """Return the searchable text of a row except its request, which is unique to the row."""
    what = row.what
    place = row.place
    columns = (
        exchange_status(what),
        _client(row),
        what.model,
        place.thread,
        place.kind,
        _finish(row),
    )
    return " ".join((*columns, held_words(what), what.method, what.path, what.error)).casefold()


# -- the model ---------------------------------------------------------------------------------------------------------


MANY = 20_000
"""Number of rows above which a job sorts and filters them."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Sorted and filtered rows, compared with those shown before."""

    rows: Sequence[ListedExchange]
    more: int | None
    """Number of new rows above the previous ones; None: the rows were replaced or reordered."""
    changed: tuple[int, int] | None
    """The first and the last row whose content changed; None if none did."""
    places: Mapping[object, int]
    """The index of each row, by its id and by its thread and request."""


def arrange_rows(
    old: Sequence[ListedExchange],
    among: RowFilter,
    chosen: tuple[str, str],
    column: int,
    falling: bool,
) -> Arrangement:
    """Sort and filter rows. O(rows).

    Args:
        old: The rows shown before.
        chosen: The kind of rows to keep, and the text that they must contain.
        column: Index of the column by which they are sorted.
    """
    if len(among) > MANY:
        among.prepare()  # in the job, before the user types
    rows = among.filter_rows(among.order(column, falling), *chosen)
    ids = [row.id for row in rows]
    more = len(rows) - len(old)
    places = dict[object, int]()
    for index, row in enumerate(rows):
        places.setdefault((row.place.thread, row.place.request), index)
    places.update(zip(ids, range(len(ids)), strict=True))
    if not old or more < 0 or ids[more:] != [row.id for row in old]:
        return Arrangement(rows, more=None, changed=None, places=places)
    changed = [more + index for index, row in enumerate(old) if rows[more + index] != row]
    return Arrangement(
        rows, more, changed=(changed[0], changed[-1]) if changed else None, places=places
    )


class ExchangeModel(TableModel[ListedExchange]):
    """The model of the table. It finds out which rows are new or changed, so that only these are laid out again."""

    replaced = Signal()
    """Emitted when the rows were replaced or reordered."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(COLUMNS)
        self._job = LatestJob(bridge)
        self._filter = RowFilter(())
        self._chosen = (ALL, "")
        self._by = 0
        self._falling = True
        self.seen: Collection[int] = range(len(COLUMNS))
        """Indices of the visible columns."""
        self.places: Mapping[object, int] = {}
        """The index of each row, by its id and by (thread, request)."""

    def show_all(self, rows: Sequence[ListedExchange]) -> None:
        """Show all exchanges in the order of their arrival."""
        self._filter = RowFilter(rows)
        self._arrange()

    def choose(self, which: str, text: str) -> None:
        self._chosen = (which, text)
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, and equal rows by their arrival."""
        self._by = column
        self._falling = order == Qt.SortOrder.DescendingOrder
        self._arrange()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)

    def _arrange(self) -> None:
        job = partial(arrange_rows, self.rows, self._filter, self._chosen, self._by, self._falling)
        self._job.cancel()
        if len(self._filter) <= MANY:
            self._show_arrangement(job())
        else:
            self._job.run(lambda task: job(), self._show_arrangement)

    def _show_arrangement(self, new: Arrangement) -> None:
        self.places = new.places
        if new.more is None:
            self.show_rows(new.rows)
            self.replaced.emit()
            return
        if new.more:
            self.beginInsertRows(TOP, 0, new.more - 1)
            self.rows = new.rows
            self.endInsertRows()
        self.rows = new.rows
        if new.changed:
            first, last = new.changed
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role != Qt.ItemDataRole.ToolTipRole:
            return super().data(index, role)
        row, column = self.rows[index.row()], COLUMNS[index.column()]
        texts = (f"{row.what.method} {row.what.path}".strip(), column.text(row), row.what.error)
        return tip("\n".join(line(text, 600) for text in texts if text))

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        title = super().headerData(section, orientation, role)
        if title is None or role != Qt.ItemDataRole.DisplayRole or section != self._sorted_column():
            return title
        return sorted_title(title, self._falling)

    def _sorted_column(self) -> int | None:
        """Return the visible column that shows the order. If `#` is hidden, that is `sent at`, and vice versa."""
        same_order = [
            column for column in self.seen if COLUMNS[column].key is COLUMNS[self._by].key
        ]
        if self._by in same_order:
            return self._by
        return next(iter(same_order), None)
