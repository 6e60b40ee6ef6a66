"""The tree of spans: which of them are calls of a model, in which order, and which agent's.

A span written twice counts once; a call around a call is a wrapper of it; an agent's sums are no call.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from inspector.core.formats.traces.payloads import read_input
from inspector.core.formats.traces.span import Span, completed

_NEAR = 100
"""Agents beside each other that are looked at."""


@dataclass(slots=True)
class AgentRun:
    """An agent at work: its calls and its tools, in the order of time. Without an agent: those of one trace."""

    id: str
    agent: Span | None = None
    calls: list[Span] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)
    parent: "AgentRun | None" = None
    parent_call: str = ""
    """Id of the tool call that started it, where the tool's span says it."""

    @property
    def name(self) -> str:
        """The agent's."""
        return (self.agent.agent or self.agent.name) if self.agent is not None else ""


class SpanTree:
    """All spans of a file as they stand now, in runs and calls."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = {span.id: span for span in sorted(spans, key=attrgetter("start"))}
        self._order = self._outermost_first()
        self._around: dict[str, tuple[Span | None, Span | None, str]] = {}
        """The nearest call, agent or tool around a span; the nearest agent or tool (a tool that calls a model is a
        sub-agent); the outermost span that is known, or the one that is missing: what has it in common is one trace."""
        by_id, around = self._spans, self._around
        for span in self._order:
            if (up := by_id.get(span.parent)) is None:
                around[span.id] = None, None, span.parent
                continue
            above, agent, root = around[up.id]
            if up.kind:
                above, agent = up, up if up.kind != "call" else agent
            around[span.id] = above, agent, root or up.id
        self._alone: set[str] = set()
        """Outermost calls and tools: those of one conversation are one run, with what is in them."""
        self.wrappers = 0
        """Calls that are only said once more, or summed up, by a span around them."""
        self.unfinished = 0
        """Calls of which there is the beginning only."""
        self.count = len(self._spans)
        self.runs = self._found()
        """Every agent's run, in the order in which they began to call."""
        self.calls = sorted(((call, run) for run in self.runs for call in run.calls), key=lambda one: one[0].start)
        """In their order, each with its run."""
        self.tools = sum(len(run.tools) for run in self.runs)
        known: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
        for call, _ in self.calls:
            known[call.beside].add(call.model)
        self.beside = known[True] - known[False]
        """Models of which some call tells that the cache stands beside the prompt: so it does in all calls of them."""

    def begins_as(self, former: "SpanTree") -> bool:
        """Are the calls those of `former`, in the same runs, with others after them?"""
        return len(self.calls) >= len(former.calls) and all(map(_is_same, self.calls, former.calls))

    def _outermost_first(self) -> Sequence[Span]:
        """None of those that stand in a circle."""
        spans, inner = self._spans, defaultdict[str, list[Span]](list)
        for span in spans.values():
            inner[span.parent if span.parent in spans else ""].append(span)
        order = inner[""]
        for span in order:  # it grows meanwhile
            if span.id in inner:
                order += inner[span.id]
        return order

    def _found(self) -> Sequence[AgentRun]:
        around = [self._around[span.id] for span in self._order if span.kind == "call"]
        inner = Counter(above.id for above, _, _ in around if above is not None and above.kind == "call")
        self.wrappers = len(inner)
        beside = self._agents_beside({agent.id for _, agent, _ in around if agent is not None})
        found: dict[str, AgentRun] = {}
        for span in self._spans.values():
            if span.kind not in ("call", "tool") or span.id in inner:
                continue
            if span.kind == "call" and not _is_begun(span):
                self.unfinished += 1
                continue
            above, agent, root = self._around.get(span.id, (None, None, span.parent))
            before = (one for one in reversed(beside.get(span.parent, ())[:_NEAR]) if one.start <= span.start)
            agent = agent or next(before, None)
            key = agent.id if agent is not None else self._trace(span, root)
            if (run := found.get(key)) is None:
                run = found[key] = AgentRun(key, agent)
            if agent is None and not span.parent:
                self._alone.add(span.id)
            if span.kind == "tool":
                run.tools.append(span)
            else:
                run.calls.append(_filled(span, agent, above, inner.get(above.id, 0) if above is not None else 0))
        self._place(found)
        return list(found.values())

    def _agents_beside(self, calling: Container[str]) -> Mapping[str, Sequence[Span]]:
        """By parent: agents with no call inside them. Some frameworks write an agent's calls beside its span."""
        found: dict[str, list[Span]] = {}
        for span in self._spans.values():
            if span.kind == "agent" and span.parent and span.id not in calling:
                found.setdefault(span.parent, []).append(span)
        return found

    def _trace(self, span: Span, root: str) -> str:
        """The run of what no agent makes there."""
        return f"{span.conversation} {'' if root in self._alone else root}"

    def _place(self, found: Mapping[str, AgentRun]) -> None:
        """Who started each: the nearest run around it that calls a model itself, by the tool in between; else calls of
        the same trace that no agent makes."""
        callers: dict[str, AgentRun | None] = {}
        for span in self._order:
            if not span.kind:
                continue
            above, _, root = self._around[span.id]
            run, around = found.get(span.id), callers[above.id] if above is not None else None
            callers[span.id] = run if run is not None and run.calls else around
            if run is None or not run.calls:
                continue
            tool = span if span.kind == "tool" else above
            run.parent_call = tool.tool_call if tool is not None and tool.kind == "tool" else ""
            loose = found.get(self._trace(span, root))
            run.parent = around or (loose if loose is not None and loose.calls else None)


def _filled(call: Span, agent: Span | None, above: Span | None, told: int) -> Span:
    """With what only the spans around a call say of it: its agent, and its wrapper, which tells so many."""
    if above is not None and told:
        more = {"system": above.system, "tools": above.tools}
        if told == 1:
            logged = read_input(above.input)
            more |= {"usage": above.usage, "model": above.model, "finish": above.finish, "window": above.window}
            more |= {"input": above.input, "output": above.output}
            if logged.items and not logged.is_text and read_input(call.input).is_text:
                call = replace(call, input=None)
            if above.tools is None:
                more["tools"] = logged.tools
        call = completed(call, more)
    if agent is None or not (agent.conversation or agent.system or agent.tools):
        return call
    more = {"system": agent.system, "tools": agent.tools} if agent.kind == "agent" else {}
    return completed(call, more | {"conversation": agent.conversation})


def _is_begun(span: Span) -> bool:
    """Is there anything of the call? A snapshot of its start says nothing yet."""
    return span.finished or span.usage is not None or span.input is not None


_ALL = attrgetter(*Span.__slots__)


def _is_same(one: tuple[Span, AgentRun], former: tuple[Span, AgentRun]) -> bool:
    """Is as much told of a call as before, and of whose it is?"""
    (call, run), (told, before) = one, former
    if call is not told and _ALL(call) != _ALL(told):
        return False
    named = run.agent is before.agent or run.name == before.name
    return named and run.id == before.id and (run.parent is None) == (before.parent is None)
