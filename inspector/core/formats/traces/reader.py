"""Reads spans of any tracer into a session: an agent's run is a thread, each call of a model a request.

What a call sent is in its own span, so buffers are as they were logged. If a tracer logs only what is new, the call
continues the one before it in the same run; the session says so. Spans come in any order and may come twice.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from inspector.core.formats.format import BuiltReader
from inspector.core.formats.reading import note_shared_ids
from inspector.core.formats.traces.attributes import describe
from inspector.core.formats.traces.buffers import LOGGED, CallReader
from inspector.core.formats.traces.span import Span, SpanEvent, completed
from inspector.core.formats.traces.threads import TraceThreads
from inspector.core.formats.traces.tree import SpanTree
from inspector.core.prefix import Prefix
from inspector.core.session import Session
from inspector.core.usage import ABSURD

_MOST_INPUTS = 64
"""Inputs that are kept to be shared with the call after them."""


SpansOf: TypeAlias = Callable[[Any, int], Iterator[Span | SpanEvent]]
"""(value of a file, its line) -> the spans in it, and what was logged beside spans."""


class TraceReader(BuiltReader):
    """A `Reader` (see `format.py`) for the spans that a mapping finds in each value."""

    def __init__(self, name: str, spans_of: SpansOf) -> None:
        super().__init__()
        self._name, self._spans_of = name, spans_of
        self._spans: dict[str, Span] = {}
        self._events: dict[str, list[Mapping[str, Any]]] = {}
        """What was logged beside the spans, by their ids."""
        self._with_events: dict[str, tuple[Span, int, Span]] = {}
        """By id: a span, a number of its events, and the span that they complete."""
        self._calls = CallReader()
        self._inputs: OrderedDict[str, list[Any]] = OrderedDict()
        """The last input that was a list, by parent of the call; the latest last."""
        self._tools: Any = None
        """Those of the last call that has some."""
        self._passed = 0
        """Values that are no spans."""
        self._shared_ids = 0
        """Spans that have the id of another one."""
        self._threads: TraceThreads | None = None
        """The threads when they were last asked for: kept while new spans only come after the others."""

    def _take(self, line: int, value: Any, file: str) -> None:
        has_spans = False
        for span in self._spans_of(value, line):
            has_spans = True
            if isinstance(span, SpanEvent):
                self._events.setdefault(span.span, []).append(span.fields)
            else:
                self._add(span)
        if has_spans:
            return
        if not isinstance(value, dict):
            self._problems.note(line, "this is no span; it was left out", value)
        elif value.get("object") != "trace":
            self._passed += 1

    def _add(self, span: Span) -> None:
        """Take a span; of two with one id the finished or later one counts."""
        span.id = self._identify(span)
        self._share(span)
        former = self._spans.get(span.id)
        if former is None or span.finished or not former.finished:
            self._spans[span.id] = span
            self._calls.forget(span.id)
        if span.absurd:
            self._problems.note(span.line, ABSURD, span.name)

    def _identify(self, span: Span) -> str:
        """Return the id of a span; one that began at another time than the span of that id is another span."""
        if not span.id:
            return f"span {len(self._spans) + 1}"
        former = self._spans.get(span.id)
        if former is None or not span.start or not former.start or span.start == former.start:
            return span.id
        self._shared_ids += 1
        return f"{span.id}@{span.start}"

    def _build(self) -> Session:
        """Continue the threads if new spans only come after the others, else build them again."""
        tree = SpanTree(self._completed_spans().values())
        if self._threads is None or not self._threads.is_continued_by(tree):
            self._threads = TraceThreads(self._calls)
        session = self._threads.session(self._name, Prefix(self._problems), self._passed, tree)
        return replace(session, notes=(*session.notes, *note_shared_ids(self._shared_ids, "spans")))

    def _share(self, span: Span) -> None:
        """Keep what a call sent as the same objects that the call before it sent: that is most of it."""
        if span.tools is not None:
            if self._tools != span.tools:
                self._tools = span.tools
            span.tools = self._tools
        if type(span.input) is not list:
            return
        items, former = span.input, self._inputs.get(span.parent, [])
        same = 0
        for former_item, item in zip(former, items, strict=False):
            if former_item != item:
                break
            same += 1
        items[:same] = former[:same]
        self._inputs[span.parent] = items
        self._inputs.move_to_end(span.parent)
        if len(self._inputs) > _MOST_INPUTS:
            self._inputs.popitem(last=False)

    def _completed_spans(self) -> dict[str, Span]:
        """Return all spans, with what was logged beside them."""
        spans = dict(self._spans)
        for id_, events in self._events.items():
            if id_ in spans:
                spans[id_] = self._complete(spans[id_], events)
        return spans

    def _complete(self, span: Span, events: list[Mapping[str, Any]]) -> Span:
        """Return a span with what its events say and it does not. The same object until more events come."""
        source, count, whole = self._with_events.get(span.id, (None, 0, span))
        if source is not span or count != len(events):
            event_span = describe(Span(span.id, kind=span.kind), {}, events)
            more = {
                name: getattr(event_span, name) for name in (*LOGGED, "usage", "model", "finish")
            }
            whole = completed(span, more)
            self._with_events[span.id] = span, len(events), whole
        return whole
