"""Read a recording of the proxy, which is a sequence of records of exchanges, into a session with threads."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, View
from inspector.core.dialects.catalogue import Endpoint, endpoint
from inspector.core.dialects.dialect import Dialect
from inspector.core.formats.proxy.bodies import (
    Bodies,
    Body,
    Likeness,
    last_summary,
    read_by_model,
    read_like,
    slice_view,
)
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import DROPPED, REFUSED, Exchange, Reply, read_response
from inspector.core.formats.proxy.keys import key_of, read_headers
from inspector.core.formats.proxy.pool import Pool, extended
from inspector.core.formats.proxy.session import recorded_session
from inspector.core.formats.proxy.side import gist, plain_kind, side_kind, signs_of, trigger_of
from inspector.core.formats.reading import ProblemList
from inspector.core.prefix import Prefix
from inspector.core.session import Session
from inspector.core.untyped import count_of, fields_of, object_of, text_of, whole_of
from inspector.core.usage import ABSURD, MOST

_MILLION = 1_000_000
"""The window that Anthropic's `context-1m` asks for."""
_SYSTEM_HEAD = 4_000
"""Number of characters at the beginning of a system prompt that are searched for the client's keys."""
_OF_EXCHANGE = ("request", "response", "sent", "held", "released")
"""Types of records that belong to an exchange."""
_TOKEN_COUNTS = ("input_tokens", "totalTokens", "total_tokens")


def named_endpoint(record: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint of a recorded request, by its method and path."""
    return endpoint(text_of(record.get("method")), text_of(record.get("path")))


class ProxyReader:
    """A `Reader` (see `format.py`) of the proxy's recordings."""

    def __init__(
        self, find_endpoint: Callable[[Mapping[str, Any]], Endpoint] = named_endpoint
    ) -> None:
        """Create a reader. `find_endpoint` returns the endpoint of a recorded request."""
        self._find_endpoint = find_endpoint
        self._pool = Pool()
        self._bodies = Bodies(self._pool)
        self._conversations = Conversations()
        self._exchanges: dict[int, Exchange] = {}
        self._all: list[Exchange] = []
        self._former: set[int] = set()
        """Numbers of exchanges that an earlier run of the proxy recorded."""
        self._runs = 0
        self._window: int | None = None
        """The context window in tokens to which the proxy was set last; None if it was not set."""
        self._ends: dict[str, View] = {}
        """The buffer after each response, by id of the response, for requests with a `previous_response_id`."""
        self._waiting: dict[str, list[Exchange]] = {}
        """Requests that continue a response that has not arrived yet, by id of the response."""
        self._problems = ProblemList()
        self._id = ""
        self._notes: list[str] = []
        """Notes that the proxy wrote into the recording."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Read one record. Records of unknown types are ignored."""
        del file  # a recording has no companions
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(kind, str):
            self._problems.note(line, "this is no record of the proxy; it was left out", value)
            return
        if kind == "proxy":
            self._runs += 1
            self._id = self._id or text_of(value.get("id"))
            self._window = count_of(value.get("window")) or None
            # Another run of the proxy may count from 0 again.
            self._former |= self._exchanges.keys()
        elif kind == "rule":
            self._window = count_of(value.get("window")) or None
        elif kind == "note":
            if isinstance(note := value.get("what"), str):
                self._notes.append(note)
        elif kind in _OF_EXCHANGE:
            self._take_record(kind, line, value)

    def session(self) -> Session:
        """Return the session so far."""
        problems = Prefix(self._problems)
        is_ours = self._runs > 0
        return recorded_session(
            self._all,
            self._conversations,
            name=self._id,
            problems=problems,
            proxy_notes=self._notes,
            forwarded=is_ours,
        )

    def exchange(self, number: int) -> Exchange | None:
        """Return the exchange with this number, of the proxy's latest run that used it; None if there is none."""
        return self._exchanges.get(number)

    def _take_record(self, kind: str, line: int, record: Mapping[str, Any]) -> None:
        number = record.get("exchange")
        if type(number) is not int:
            self._problems.note(
                line, f"a {kind} without the number of its exchange; it was left out", record
            )
            return
        if kind == "request":
            self._take_request(line, number, record)
            return
        exchange = self._exchanges.get(number)
        if exchange is None:
            self._problems.note(
                line, f"a {kind} of exchange {number}, whose request is not in the file", record
            )
            return
        match kind:
            case "sent":
                self._take_sent(line, exchange, record)
            case "response":
                self._take_response(line, exchange, record)
                return
            case "held":
                exchange.held = text_of(record.get("why")) or "by hand"
                exchange.predicted = _read_prediction(record)
                self._refresh_step(exchange)
            case "released":
                self._take_release(exchange, record)
        exchange.note(kind, record)

    # -- requests ----------------------------------------------------------------------------------------------------

    def _take_request(self, line: int, number: int, record: Mapping[str, Any]) -> None:
        if number in self._exchanges and number not in self._former:
            self._problems.note(
                line, f"a second request of exchange {number}; it was left out", record
            )
            return
        self._former.discard(number)
        if "left_out" in record:
            self._problems.note(
                line, "the body of the request is not in the recording: it was too large", record
            )
        headers = _headers_of_request(record)
        exchange, missing = self._read_exchange(line, number, record, headers)
        self._exchanges[number] = exchange
        self._all.append(exchange)
        if missing:
            exchange.record = record
            self._waiting.setdefault(missing, []).append(exchange)
        self._sort_in(exchange, text_of(record.get("method")), headers)

    def _read_exchange(
        self, line: int, number: int, record: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[Exchange, str]:
        """Return the exchange of a request, and the id of the response for which it must wait (empty if none)."""
        where = self._find_endpoint(record)
        body, missing = self._read_body(line, record, where, None)
        system = (body.prompt.system or "")[:_SYSTEM_HEAD]
        key = key_of(headers, body=body.fields, tag=text_of(record.get("tag")), system=system)
        connection = record.get("connection")
        link = self._runs, connection if type(connection) is int else 0
        time = text_of(record.get("time"))
        path = text_of(record.get("path"))
        exchange = Exchange(
            number,
            line,
            time,
            path,
            endpoint=where,
            key=key,
            asked=body,
            connection=link,
            end=body.view,
        )
        exchange.sent = read_by_model(body)
        exchange.end = exchange.body.view
        asked_window = _MILLION if "context-1m" in headers.get("anthropic-beta", "") else None
        exchange.window = self._window or asked_window
        exchange.kind = text_of(record.get("aside"))
        exchange.note("request", record)
        return exchange, missing

    def _sort_in(self, exchange: Exchange, method: str, headers: Mapping[str, str]) -> None:
        """Add a request to its thread as a step or as a side call."""
        body, where = exchange.asked, exchange.endpoint
        has_content = body.view.length > 0 or "model" in body.fields or bool(body.prompt.system)
        if where.purpose != "call" or where.dialect is None or not has_content:
            purpose = "other" if where.purpose == "call" else where.purpose
            exchange.kind = plain_kind(purpose, method, exchange.path)
        elif not exchange.kind:
            exchange.kind = side_kind(signs_of(body, headers))
        if not exchange.kind:
            self._conversations.add_step(exchange)
            return
        if exchange.kind == "compaction":
            exchange.trigger = trigger_of(headers, body.fields)
        owner = self._conversations.find_owner(exchange) if where.dialect else None
        self._conversations.add_side_call(exchange, owner)

    def _read_body(
        self, line: int, record: Mapping[str, Any], where: Endpoint, original: Body | None
    ) -> tuple[Body, str]:
        """Read the body of a request or, if its `original` body is given, the body that was sent instead of it.

        Returns:
            The body, and the id of the response that it continues if that has not arrived yet (else empty).
        """
        body = object_of(record, "body")
        like = read_like(record.get("like"))
        other = self._body_like(line, record, like, original)
        previous = body.get("previous_response_id")
        if (
            previous is None
            and other is not None
            and like is not None
            and "previous_response_id" in like.all
        ):
            previous = other.fields.get("previous_response_id")
        previous_id = text_of(previous)
        time = text_of(record.get("time"))
        start = self._ends.get(previous_id, EMPTY_VIEW)
        read = self._bodies.read(
            where.dialect, body, other, like, start=start, line=line, time=time
        )
        return read, previous_id if previous_id not in self._ends else ""

    def _body_like(
        self, line: int, record: Mapping[str, Any], like: Likeness | None, original: Body | None
    ) -> Body | None:
        """Return the earlier body that the `like` of a record names; None if there is none."""
        if like is None:
            return None
        if original is not None and like.exchange == record.get("exchange"):
            return original
        former = self._exchanges.get(like.exchange)
        if former is not None:
            return former.asked
        what = f"the request is like that of exchange {like.exchange}, which is not in the file"
        self._problems.note(line, f"{what}: the messages that both share are lost", record)
        return None

    # -- at the proxy ------------------------------------------------------------------------------------------------

    def _take_sent(self, line: int, exchange: Exchange, record: Mapping[str, Any]) -> None:
        sent, _ = self._read_body(line, record, exchange.endpoint, exchange.asked)
        if exchange.released == "changed" and exchange.sent is not None:
            exchange.recut = exchange.sent
        exchange.sent = read_by_model(sent) or sent
        self._update_buffer(exchange)

    def _take_release(self, exchange: Exchange, record: Mapping[str, Any]) -> None:
        exchange.released = text_of(record.get("how"))
        exchange.promised = _read_prediction(record)
        # Another request may be sent than the one whose size was predicted.
        self._refresh_step(exchange)
        if exchange.released in ("dropped", "client gone") and exchange.reply is None:
            self._remove_step(exchange, DROPPED)

    def _step_thread(self, exchange: Exchange) -> Conversation | None:
        """Return the thread that the exchange is a step of; None for a side call."""
        return None if exchange.kind else self._conversations.thread_of(exchange)

    def _update_buffer(self, exchange: Exchange) -> None:
        """Update thread and answer of an exchange whose body was replaced."""
        exchange.end = exchange.body.view
        thread = self._step_thread(exchange)
        if thread is not None:
            self._conversations.update_step(thread, exchange)
        if exchange.reply is not None:
            self._add_answer(exchange, exchange.reply, exchange.line)

    def _refresh_step(self, exchange: Exchange) -> None:
        thread = self._step_thread(exchange)
        if thread is not None:
            thread.refresh(exchange)

    def _remove_step(self, exchange: Exchange, kind: str) -> None:
        """Turn a step that the provider did not answer into a side call of this kind."""
        if exchange.kind:
            return
        thread = self._conversations.thread_of(exchange)
        exchange.kind = kind
        if thread is not None:
            thread.remove(exchange)
        self._conversations.add_side_call(exchange, thread)

    # -- responses ---------------------------------------------------------------------------------------------------

    def _take_response(self, line: int, exchange: Exchange, record: Mapping[str, Any]) -> None:
        if exchange.reply is not None:
            self._problems.note(
                line, f"a second response of exchange {exchange.number}; it was left out", record
            )
            return
        reply = exchange.reply = read_response(exchange.endpoint.dialect, record)
        exchange.note("response", record)
        if reply.absurd:
            self._problems.note(line, ABSURD, record)
        if exchange.endpoint.purpose == "count":
            exchange.token_count = _read_token_count(record.get("body"))
        if not reply.failure:
            self._add_answer(exchange, reply, line)
        elif not exchange.kind:
            self._remove_step(exchange, REFUSED)

    def _add_answer(self, exchange: Exchange, reply: Reply, line: int) -> None:
        """Add an answer to the buffer of its request, and to its thread."""
        dialect = exchange.endpoint.dialect
        if dialect is None:
            return
        is_compact_call = exchange.endpoint.purpose == "compact"
        step_thread = self._step_thread(exchange)
        if step_thread is not None and reply.edits:
            self._clear_results(step_thread, exchange, reply)
        if exchange.kind == "compaction":
            self._note_summary(exchange, dialect, reply, line)
        before = EMPTY_VIEW if is_compact_call else exchange.body.view
        end = self._bodies.add(dialect, before, reply.wire, line, reply.time)
        if step_thread is not None:
            # A finish of "compaction" is a pause without an answer.
            if reply.finish != "compaction":
                end = self._cut_at_summary(step_thread, exchange, end, sent_count=before.length)
            step_thread.refresh(exchange)
            self._conversations.add_answer(step_thread, exchange, end)
        exchange.end = end
        if reply.id and not is_compact_call:
            self._ends[reply.id] = end
            for waiting in self._waiting.pop(reply.id, ()):
                self._read_again(waiting)

    def _clear_results(self, thread: Conversation, exchange: Exchange, reply: Reply) -> None:
        """Clear in the buffer the tool results that the provider cleared before the model read it."""
        body = self._bodies.cleared(exchange.body, reply.edits)
        if body is not None:
            exchange.sent = body
            self._conversations.update_step(thread, exchange)

    def _note_summary(self, exchange: Exchange, dialect: Dialect, reply: Reply, line: int) -> None:
        """Record the beginning of a summary, so that it is recognised in later buffers."""
        units = dialect.units(reply.wire, line)
        exchange.summary_lead = gist([message for unit in units for message in unit])
        if exchange.summary_lead:
            self._pool.summaries.append(exchange.summary_lead)
        thread = self._conversations.thread_of(exchange)
        if thread is not None and exchange not in thread.summary_calls:
            thread.summary_calls.append(exchange)

    def _cut_at_summary(
        self, thread: Conversation, exchange: Exchange, end: View, sent_count: int
    ) -> View:
        """Return the buffer after an answer. If the provider compacted first, the buffer begins with its summary.

        `sent_count` is the number of messages that were sent.
        """
        at = last_summary(end, sent_count)
        if at is None:
            return end
        rest = end.tail(at + 1)
        exchange.sent = replace(exchange.body, view=slice_view(end, at, at + 1))
        self._conversations.update_step(thread, exchange)
        return extended(exchange.body.view, rest)

    def _read_again(self, exchange: Exchange) -> None:
        """Read a request again after the response that it continues has arrived."""
        assert exchange.record is not None
        exchange.asked, _ = self._read_body(exchange.line, exchange.record, exchange.endpoint, None)
        exchange.record = None
        self._update_buffer(exchange)


def _headers_of_request(record: Mapping[str, Any]) -> Mapping[str, str]:
    headers = read_headers(record.get("headers"))
    if record.get("transport") != "websocket":
        return headers
    # this header was sent when the connection was opened and describes only its first frame
    return {name: value for name, value in headers.items() if name != "x-codex-turn-metadata"}


def _read_token_count(body: Any) -> int | None:
    fields = fields_of(body)
    counts = (whole_of(fields.get(key)) for key in _TOKEN_COUNTS)
    return next((count for count in counts if count is not None), None)


def _read_prediction(record: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Return (tokens, least, most) that a record predicts; None if it predicts nothing."""
    match record:
        case {"tokens": int(tokens), "band": [int(low), int(high)]} if (
            0 <= low <= tokens <= high <= MOST
        ):
            return tokens, low, high
    return None
