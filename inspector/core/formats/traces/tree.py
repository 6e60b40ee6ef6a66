"""Build the tree of spans: it shows which spans are model calls, in which order, and to which agent they belong.

A span that is recorded twice counts once. A call with calls inside it only wraps them and does not count. The sums that
an agent's span reports are no call.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from inspector.core.formats.traces.payloads import read_input
from inspector.core.formats.traces.span import Span, completed

_NEAR = 100
"""Maximum number of sibling agents that are searched for the agent of a call."""


@dataclass(slots=True)
class AgentRun:
    """A run of an agent: its model calls and its tools in the order of time. Without an agent: those of one trace."""

    id: str
    agent: Span | None = None
    calls: list[Span] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)
    parent: "AgentRun | None" = None
    parent_call: str = ""
    """Id of the tool call that started the run, if the tool's span records it."""

    @property
    def name(self) -> str:
        """The name of the agent; empty without one."""
        return (self.agent.agent or self.agent.name) if self.agent is not None else ""


class SpanSurroundings(NamedTuple):
    """The spans that enclose a span."""

    above: Span | None
    """The nearest enclosing call, agent or tool."""
    agent: Span | None
    """The nearest enclosing agent or tool. A tool that calls a model is a sub-agent."""
    root: str
    """Id of the outermost enclosing span, which the file may not hold. Spans with the same root are one trace."""


class SpanTree:
    """All spans of a file so far, grouped into runs and calls."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = {span.id: span for span in sorted(spans, key=attrgetter("start"))}
        self._order = self._outermost_first()
        self._around: dict[str, SpanSurroundings] = {}
        for span in self._order:
            self._around[span.id] = self._place_of(span)
        self._alone: set[str] = set()
        """Ids of outermost calls and tools. Those of one conversation are one run, with the spans inside them."""
        self.wrappers = 0
        """Number of calls that only repeat or sum up the calls inside them."""
        self.unfinished = 0
        """Number of calls of which only the beginning was recorded."""
        self.count = len(self._spans)
        self.runs = self._find_runs()
        """All runs, in the order of their first call or tool."""
        self.calls = [(call, run) for run in self.runs for call in run.calls]
        """All calls in the order of time, each with its run."""
        self.calls.sort(key=lambda call_and_run: call_and_run[0].start)
        self.tools = sum(len(run.tools) for run in self.runs)
        models: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
        for call, _ in self.calls:
            models[call.beside].add(call.model)
        self.beside = models[True] - models[False]
        """Models whose prompt counts exclude cached tokens: some call shows it, and no call shows the contrary."""

    def _place_of(self, span: Span) -> SpanSurroundings:
        """Return the spans that enclose a span. Call it for the span's parent first."""
        parent = self._spans.get(span.parent)
        if parent is None:
            return SpanSurroundings(above=None, agent=None, root=span.parent)
        above, agent, root = self._around[parent.id]
        if parent.kind:
            above = parent
            agent = parent if parent.kind != "call" else agent
        return SpanSurroundings(above, agent, root or parent.id)

    def begins_as(self, former: "SpanTree") -> bool:
        """Does this tree begin with the calls of `former`, unchanged and in the same runs?"""
        return len(self.calls) >= len(former.calls) and all(map(_is_same, self.calls, former.calls))

    def _outermost_first(self) -> Sequence[Span]:
        """Return the spans, each after its parent, without those whose parents form a circle."""
        spans = self._spans
        inner = defaultdict[str, list[Span]](list)
        for span in spans.values():
            inner[span.parent if span.parent in spans else ""].append(span)
        order = inner[""]
        for span in order:  # the list grows in the loop
            if span.id in inner:
                order += inner[span.id]
        return order

    def _find_runs(self) -> Sequence[AgentRun]:
        places = [self._around[span.id] for span in self._order if span.kind == "call"]
        inner = Counter(
            place.above.id
            for place in places
            if place.above is not None and place.above.kind == "call"
        )
        self.wrappers = len(inner)
        beside = self._agents_beside(
            {place.agent.id for place in places if place.agent is not None}
        )
        runs: dict[str, AgentRun] = {}
        for span in self._spans.values():
            if span.kind not in ("call", "tool") or span.id in inner:
                continue
            if span.kind == "call" and not _is_begun(span):
                self.unfinished += 1
                continue
            self._add_to_run(runs, span, inner, beside)
        self._find_parents(runs)
        return list(runs.values())

    def _add_to_run(
        self,
        runs: dict[str, AgentRun],
        span: Span,
        inner: Mapping[str, int],
        beside: Mapping[str, Sequence[Span]],
    ) -> None:
        """Add a call or a tool to the run of its agent.

        Args:
            runs: The runs so far, by key.
            span: The call or tool.
            inner: How many calls are directly inside each call, by id of the outer call.
            beside: Agents with no call inside them, by id of their parent span.
        """
        above, agent, root = self._around.get(
            span.id, SpanSurroundings(above=None, agent=None, root=span.parent)
        )
        agent = agent or _agent_before(span, beside)
        key = agent.id if agent is not None else self._trace(span, root)
        run = runs.setdefault(key, AgentRun(key, agent))
        if agent is None and not span.parent:
            self._alone.add(span.id)
        if span.kind == "tool":
            run.tools.append(span)
            return
        calls_inside = inner.get(above.id, 0) if above is not None else 0
        run.calls.append(_filled(span, agent, above if calls_inside else None, calls_inside))

    def _agents_beside(self, calling: Container[str]) -> Mapping[str, Sequence[Span]]:
        """Return agents with no call inside them, by parent. Some frameworks write an agent's calls beside its span."""
        agents: dict[str, list[Span]] = {}
        for span in self._spans.values():
            if span.kind == "agent" and span.parent and span.id not in calling:
                agents.setdefault(span.parent, []).append(span)
        return agents

    def _trace(self, span: Span, root: str) -> str:
        """Return the key of the run of calls and tools without an agent."""
        return f"{span.conversation} {'' if root in self._alone else root}"

    def _find_parents(self, runs: Mapping[str, AgentRun]) -> None:
        """Set the parent of each run, and the tool call that started it.

        The parent is the nearest enclosing run that makes model calls itself. If there is none, it is the run that
        holds the calls of the trace without an agent.
        """
        callers: dict[str, AgentRun | None] = {}
        for span in self._order:
            if not span.kind:
                continue
            above, _, root = self._around[span.id]
            run = runs.get(span.id)
            caller = callers[above.id] if above is not None else None
            if run is None or not run.calls:
                callers[span.id] = caller
                continue
            callers[span.id] = run
            tool = span if span.kind == "tool" else above
            run.parent_call = tool.tool_call if tool is not None and tool.kind == "tool" else ""
            loose = runs.get(self._trace(span, root))
            run.parent = caller or (loose if loose is not None and loose.calls else None)


def _filled(call: Span, agent: Span | None, wrapper: Span | None, calls_inside: int) -> Span:
    """Return a call with its missing fields set from its agent and its wrapper, which has `calls_inside` calls."""
    if wrapper is not None:
        call = _filled_by_wrapper(call, wrapper, is_only=calls_inside == 1)
    if agent is None or not (agent.conversation or agent.system or agent.tools):
        return call
    more: dict[str, Any] = {"conversation": agent.conversation}
    if agent.kind == "agent":
        more |= {"system": agent.system, "tools": agent.tools}
    return completed(call, more)


def _filled_by_wrapper(call: Span, wrapper: Span, *, is_only: bool) -> Span:
    """Return a call with its missing fields set from its wrapper: all fields if it is the only call inside.

    If the wrapper has several calls, only its system prompt and tools apply to each of them.
    """
    if not is_only:
        return completed(call, {"system": wrapper.system, "tools": wrapper.tools})
    logged = read_input(wrapper.input)
    if logged.items and not logged.is_text and read_input(call.input).is_text:
        call = replace(call, input=None)
    fields = ("system", "usage", "model", "finish", "window", "input", "output")
    more = {name: getattr(wrapper, name) for name in fields}
    more["tools"] = logged.tools if wrapper.tools is None else wrapper.tools
    return completed(call, more)


def _agent_before(span: Span, beside: Mapping[str, Sequence[Span]]) -> Span | None:
    """Return the last sibling agent that began before the span; None if there is none."""
    agents = beside.get(span.parent, ())[:_NEAR]
    return next((agent for agent in reversed(agents) if agent.start <= span.start), None)


def _is_begun(span: Span) -> bool:
    """Was anything recorded of the call? A snapshot of its start holds nothing yet."""
    return span.finished or span.usage is not None or span.input is not None


_ALL = attrgetter(*Span.__slots__)


def _is_same(call_and_run: tuple[Span, AgentRun], former: tuple[Span, AgentRun]) -> bool:
    """Are a call and its run the same as in the former tree?"""
    (call, run), (former_call, former_run) = call_and_run, former
    if call is not former_call and _ALL(call) != _ALL(former_call):
        return False
    is_same_agent = run.agent is former_run.agent or run.name == former_run.name
    return (
        is_same_agent
        and run.id == former_run.id
        and (run.parent is None) == (former_run.parent is None)
    )
