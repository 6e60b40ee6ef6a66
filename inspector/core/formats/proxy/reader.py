"""Reads a recording of the proxy: records of exchanges, in the order in which they came, to sessions and threads."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from inspector.core.buffer import EMPTY_VIEW, View
from inspector.core.dialects.catalogue import Endpoint, endpoint
from inspector.core.formats.proxy.bodies import (
    Bodies,
    Body,
    beginning,
    last_summary,
    read_by_model,
    read_like,
)
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import DROPPED, REFUSED, Exchange, Reply, read_reply
from inspector.core.formats.proxy.keys import key_of, read_headers
from inspector.core.formats.proxy.pool import Pool, extended
from inspector.core.formats.proxy.session import recorded_session
from inspector.core.formats.proxy.side import gist, plain_kind, side_kind, signs_of, trigger_of
from inspector.core.formats.reading import ProblemList
from inspector.core.prefix import Prefix
from inspector.core.session import Session
from inspector.core.untyped import count_of, fields_of, object_of, text_of, whole_of
from inspector.core.usage import ABSURD, MOST


def named_endpoint(record: Mapping[str, Any]) -> Endpoint:
    """What a request asks for, by its path."""
    return endpoint(text_of(record.get("method")), text_of(record.get("path")))


class ProxyReader:
    """A `Reader` (see `format.py`)."""

    def __init__(self, where: Callable[[Mapping[str, Any]], Endpoint] = named_endpoint) -> None:
        """`where`: what a recorded request asks for."""
        self._where = where
        self._pool = Pool()
        self._bodies = Bodies(self._pool)
        self._conversations = Conversations()
        self._exchanges: dict[int, Exchange] = {}
        self._all: list[Exchange] = []
        self._former: set[int] = set()
        """Numbers of exchanges that an earlier run of the proxy recorded."""
        self._runs = 0
        self._window: int | None = None
        """The window that the proxy was set to, by its latest record."""
        self._ends: dict[str, View] = {}
        """What a response leads to, by its id: `previous_response_id` continues there."""
        self._waiting: dict[str, list[Exchange]] = {}
        self._problems = ProblemList()
        self._id = ""
        self._notes: list[str] = []
        """What the proxy wants said."""

    def feed(self, line: int, value: Any, file: str = "") -> None:
        """Take a record. Types that are not known say nothing to us."""
        del file  # a recording has no companions
        if not isinstance(value, Mapping) or not isinstance(kind := value.get("type"), str):
            self._problems.note(line, "this is no record of the proxy; it was left out", value)
            return
        if kind == "proxy":
            self._runs += 1
            self._id = self._id or text_of(value.get("id"))
            self._window = count_of(value.get("window")) or None
            self._former |= self._exchanges.keys()  # another run of the proxy may count from 0 again
        elif kind == "rule":
            self._window = count_of(value.get("window")) or None
        elif kind == "note":
            self._notes += [what] if isinstance(what := value.get("what"), str) else []
        elif kind in _EXCHANGED:
            self._exchanged(kind, line, value)

    def session(self) -> Session:
        """The session so far."""
        problems, is_ours = Prefix(self._problems), self._runs > 0
        return recorded_session(self._all, self._conversations, self._id, problems, self._notes, forwarded=is_ours)

    def exchange(self, number: int) -> Exchange | None:
        """One exchange of the latest run of the proxy, as it stands; None where it is not known."""
        return self._exchanges.get(number)

    def _exchanged(self, kind: str, line: int, value: Mapping[str, Any]) -> None:
        number = value.get("exchange")
        if type(number) is not int:
            self._problems.note(line, f"a {kind} without the number of its exchange; it was left out", value)
            return
        if kind == "request":
            self._request(line, number, value)
            return
        one = self._exchanges.get(number)
        if one is None:
            self._problems.note(line, f"a {kind} of exchange {number}, whose request is not in the file", value)
            return
        match kind:
            case "sent":
                sent, _ = self._body(line, value, one.endpoint, one.asked)
                if one.released == "changed" and one.sent is not None:
                    one.recut = one.sent
                one.sent = read_by_model(sent) or sent
                self._changed(one)
            case "response":
                self._response(line, one, value)
                return
            case "held":
                one.held = text_of(value.get("why")) or "by hand"
                one.predicted = _prediction(value)
                self._know(one)
            case "released":
                one.released, one.promised = text_of(value.get("how")), _prediction(value)
                self._know(one)  # another request may be sent than the one whose size was predicted
                if one.released in ("dropped", "client gone") and one.reply is None:
                    self._away(one, DROPPED)
        one.note(kind, value)

    # -- requests ----------------------------------------------------------------------------------------------------

    def _request(self, line: int, number: int, value: Mapping[str, Any]) -> None:
        if number in self._exchanges and number not in self._former:
            self._problems.note(line, f"a second request of exchange {number}; it was left out", value)
            return
        self._former.discard(number)
        if "left_out" in value:
            self._problems.note(line, "the body of the request is not in the recording: it was too large", value)
        method, path = text_of(value.get("method")), text_of(value.get("path"))
        where = self._where(value)
        headers = read_headers(value.get("headers"))
        if value.get("transport") == "websocket":  # sent when the connection was made, about its first frame
            headers = {name: told for name, told in headers.items() if name != "x-codex-turn-metadata"}
        asked, missing = self._body(line, value, where, None)
        system = (asked.prompt.system or "")[:4000]
        key = key_of(headers, asked.fields, text_of(value.get("tag")), system)
        connection = value.get("connection")
        link = self._runs, connection if type(connection) is int else 0
        one = Exchange(number, line, text_of(value.get("time")), path, where, key, asked, link, end=asked.view)
        one.sent = read_by_model(asked)
        one.end = one.body.view
        one.window = self._window or (_MILLION if "context-1m" in headers.get("anthropic-beta", "") else None)
        one.kind = text_of(value.get("aside"))
        one.note("request", value)
        self._exchanges[number] = one
        self._all.append(one)
        if missing:
            one.record = value
            self._waiting.setdefault(missing, []).append(one)
        self._sort_in(one, method, headers)

    def _sort_in(self, one: Exchange, method: str, headers: Mapping[str, str]) -> None:
        """Step or side call, and of which thread."""
        asked, where = one.asked, one.endpoint
        told = asked.view.length > 0 or "model" in asked.fields or bool(asked.prompt.system)
        if where.purpose != "call" or where.dialect is None or not told:
            one.kind = plain_kind("other" if where.purpose == "call" else where.purpose, method, one.path)
        elif not one.kind:
            one.kind = side_kind(signs_of(asked, headers))
        if not one.kind:
            self._conversations.place(one)
            return
        if one.kind == "compaction":
            one.trigger = trigger_of(headers, asked.fields)
        self._conversations.aside(one, self._conversations.owner(one) if where.dialect else None)

    def _body(self, line: int, value: Mapping[str, Any], where: Endpoint, own: Body | None) -> tuple[Body, str]:
        """The body of a request (`own`: of what was sent in its place), and the response that is missing before it."""
        body = object_of(value, "body")
        other = None
        if (like := read_like(value.get("like"))) is not None:
            former = self._exchanges.get(like.exchange)
            other = own if like.exchange == value.get("exchange") and own else former.asked if former else None
            if other is None:
                what = f"the request is like that of exchange {like.exchange}, which is not in the file"
                self._problems.note(line, f"{what}: what they share is lost", value)
        previous = body.get("previous_response_id")
        if previous is None and other is not None and like is not None and "previous_response_id" in like.all:
            previous = other.fields.get("previous_response_id")
        name, time = text_of(previous), text_of(value.get("time"))
        start = self._ends.get(name, EMPTY_VIEW)
        read = self._bodies.read(where.dialect, body, other, like, start=start, line=line, time=time)
        return read, name if name and name not in self._ends else ""

    def _changed(self, one: Exchange) -> None:
        """Its buffer is another one."""
        one.end = one.body.view
        thread = self._conversations.thread_of(one)
        if thread is not None and not one.kind:
            self._conversations.change(thread, one)
        if one.reply is not None:
            self._answer(one, one.reply, one.line)

    def _know(self, one: Exchange) -> None:
        """Its step says what is known of it now."""
        thread = self._conversations.thread_of(one)
        if thread is not None and not one.kind:
            thread.known(one)

    # -- responses ---------------------------------------------------------------------------------------------------

    def _response(self, line: int, one: Exchange, value: Mapping[str, Any]) -> None:
        if one.reply is not None:
            self._problems.note(line, f"a second response of exchange {one.number}; it was left out", value)
            return
        reply = one.reply = read_reply(one.endpoint.dialect, value)
        one.note("response", value)
        if reply.absurd:
            self._problems.note(line, ABSURD, value)
        if one.endpoint.purpose == "count":
            told = fields_of(value.get("body"))
            counts = (whole_of(told.get(key)) for key in ("input_tokens", "totalTokens", "total_tokens"))
            one.counted = next((count for count in counts if count is not None), None)
        if reply.failure and not one.kind:
            self._away(one, REFUSED)
        elif not reply.failure:
            self._answer(one, reply, line)

    def _answer(self, one: Exchange, reply: Reply, line: int) -> None:
        dialect = one.endpoint.dialect
        if dialect is None:
            return
        compacted = one.endpoint.purpose == "compact"
        thread = self._conversations.thread_of(one)
        if (
            reply.edits
            and not one.kind
            and thread is not None
            and (body := self._bodies.cleared(one.body, reply.edits))
        ):
            one.sent = body
            self._conversations.change(thread, one)
        before = EMPTY_VIEW if compacted else one.body.view
        if one.kind == "compaction":
            one.said = gist([message for unit in dialect.units(reply.wire, line) for message in unit])
            if one.said:
                self._pool.summaries.append(one.said)
            if thread is not None and one not in thread.compacting:
                thread.compacting.append(one)
        end = self._bodies.add(dialect, before, reply.wire, line, reply.time)
        compacts = not one.kind and reply.finish != "compaction"  # else it paused there, and answered nothing
        if compacts and thread is not None and (at := last_summary(end, before.length)) is not None:
            one.sent, rest = replace(one.body, view=beginning(end, at, at + 1)), end.tail(at + 1)
            self._conversations.change(thread, one)
            before = one.body.view
            end = extended(before, rest)
        if not one.kind and thread is not None:
            thread.known(one)
            self._conversations.answered(thread, one, end)
        one.end = end
        if reply.id and not compacted:
            self._ends[reply.id] = end
            for other in self._waiting.pop(reply.id, ()):
                self._found(other)

    def _found(self, one: Exchange) -> None:
        """What it continues has come."""
        assert one.record is not None
        one.asked, _ = self._body(one.line, one.record, one.endpoint, None)
        one.record = None
        self._changed(one)

    def _away(self, one: Exchange, kind: str) -> None:
        """It was no step after all."""
        if one.kind:
            return
        thread = self._conversations.thread_of(one)
        one.kind = kind
        if thread is not None:
            thread.remove(one)
        self._conversations.aside(one, thread)


def _prediction(value: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """(tokens, least, most) that a record predicts; None where it predicts nothing."""
    match value:
        case {"tokens": int(tokens), "band": [int(low), int(high)]} if 0 <= low <= tokens <= high <= MOST:
            return tokens, low, high
    return None


_MILLION = 1_000_000
"""The window that Anthropic's `context-1m` asks for."""
_EXCHANGED = ("request", "response", "sent", "held", "released")
