"""Read spans of any tracer into a session: an agent's run is a thread, each model call is a request.

The span of a call holds what the call sent, so buffers are as they were logged. If a tracer logs only new messages, the
call continues the previous call of its run, and a note of the session says so. Spans may come in any order, and twice.
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
"""Maximum number of inputs kept, so that the next call can share their items."""


SpansOf: TypeAlias = Callable[[Any, int], Iterator[Span | SpanEvent]]
"""(value of a file, its line) -> the spans in the value, and the events that it records for other spans."""


class TraceReader(BuiltReader):
    """A `Reader` (see `format.py`) for the spans that `spans_of` finds in each value."""

    def __init__(self, name: str, spans_of: SpansOf) -> None:
        super().__init__()
        self._name, self._spans_of = name, spans_of
        self._spans: dict[str, Span] = {}
        self._events: dict[str, list[Mapping[str, Any]]] = {}
        """The fields of events logged beside their spans, by span id."""
        self._with_events: dict[str, tuple[Span, int, Span]] = {}
        """By span id: the span, the number of events read for it, and the span completed with these events."""
        self._calls = CallReader()
        self._inputs: OrderedDict[str, list[Any]] = OrderedDict()
        """The last input that was a list, by parent of the call; the latest last."""
        self._tools: Any = None
        """The tools of the last call that has tools."""
        self._passed = 0
        """Number of values that hold no span."""
        self._shared_ids = 0
        """Number of spans that have the id of another span."""
        self._threads: TraceThreads | None = None
        """The threads that were built last. They are reused while new spans only come after the earlier ones."""

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
        """Add a span. It replaces an earlier span with its id, unless only the earlier one is finished."""
        span.id = self._identify(span)
        self._share(span)
        former = self._spans.get(span.id)
        if former is None or span.finished or not former.finished:
            self._spans[span.id] = span
            self._calls.forget(span.id)
        if span.absurd:
            self._problems.note(span.line, ABSURD, span.name)

    def _identify(self, span: Span) -> str:
        """Return a unique id for a span. A span with a known id but another start time is another span."""
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
        """Replace the tools and input items of a call by the equal objects of earlier calls, which share them."""
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
        """Return all spans, completed with the events logged beside them."""
        spans = dict(self._spans)
        for id_, events in self._events.items():
            if id_ in spans:
                spans[id_] = self._complete(spans[id_], events)
        return spans

    def _complete(self, span: Span, events: list[Mapping[str, Any]]) -> Span:
        """Return a span with its missing fields set from its events, as the same object until more events arrive."""
        source, count, whole = self._with_events.get(span.id, (None, 0, span))
        if source is not span or count != len(events):
            event_span = describe(Span(span.id, kind=span.kind), {}, events)
            more = {
                name: getattr(event_span, name) for name in (*LOGGED, "usage", "model", "finish")
            }
            whole = completed(span, more)
            self._with_events[span.id] = span, len(events), whole
        return whole
