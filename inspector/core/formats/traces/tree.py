"""The tree of spans: which of them are calls of a model, in which order, and which agent's.

A span written twice counts once; a call around a call is a wrapper of it; an agent's sums are no call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    """All spans of a file."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = {span.id: span for span in sorted(spans, key=lambda one: one.start)}
        self._closest: dict[str, Span | None] = {}
        self._agents: dict[str, Span | None] = {}
        """Of the calls, once all agents are known."""
        self._roots: dict[str, str] = {}
        self._callers: dict[str, AgentRun | None] = {}
        """By span: the nearest run at it or around it that calls a model."""
        self._beside: dict[str, list[Span]] = {}
        """By parent: agents with no call inside them. Some frameworks write an agent's calls beside its span."""
        self.wrappers = 0
        """Calls that are only said once more, or summed up, by a span around them."""
        self.unfinished = 0
        """Calls of which there is the beginning only."""

    def runs(self) -> Sequence[AgentRun]:
        """Every agent's run, in the order in which they began to call."""
        inner: dict[str, int] = {}
        calls = [span for span in self._spans.values() if span.kind == "call"]
        for span in calls:
            if (above := self._above(span)) is not None and above.kind == "call":
                inner[above.id] = inner.get(above.id, 0) + 1
        self.wrappers = len(inner)
        self._agents = {span.id: agent for span in calls if (agent := self._agent(span)) is not None}
        calling = {agent.id for agent in self._agents.values() if agent is not None}
        for span in self._spans.values():
            if span.kind == "agent" and span.parent and span.id not in calling:
                self._beside.setdefault(span.parent, []).append(span)
        found: dict[str, AgentRun] = {}
        for span in self._spans.values():
            if span.kind == "call" and span.id not in inner:
                if _is_begun(span):
                    self._run(span, found).calls.append(self._filled(span, inner))
                else:
                    self.unfinished += 1
            elif span.kind == "tool":
                self._run(span, found).tools.append(span)
        for run in found.values():
            self._place(run, found)
        return list(found.values())

    def _above(self, span: Span) -> Span | None:
        """The nearest call, agent or tool around a span. Amortised O(1)."""
        if not span.parent:
            return None
        path: list[str] = []
        seen = {span.id}
        at, found = span.parent, None
        while at not in self._closest:
            above = self._spans.get(at)
            if above is None or above.id in seen:
                break
            path.append(at)
            if above.kind:
                found = above
                break
            seen.add(at)
            at = above.parent
        else:
            found = self._closest[at]
        for one in path:
            self._closest[one] = found
        return found

    def _agent(self, span: Span) -> Span | None:
        """The nearest agent around a span, or tool: a tool that calls a model is a sub-agent."""
        if not span.parent:
            return None
        seen = {span.id}
        above = self._above(span)
        while above is not None and above.kind == "call" and above.id not in seen:
            seen.add(above.id)
            above = self._above(above)
        if above is not None and above.kind != "call":
            return above
        before = [one for one in self._beside.get(span.parent, ())[:_NEAR] if one.start <= span.start]
        return before[-1] if before else None

    def _root(self, span: Span) -> str:
        """The outermost span that is known, or the one that is missing: what has it in common is one trace."""
        path = [span.id]
        at = span
        while at.parent and at.parent not in self._roots and at.parent not in path[-1:]:
            above = self._spans.get(at.parent)
            if above is None or len(path) > len(self._spans):
                break
            path.append(above.id)
            at = above
        root = self._roots.get(at.parent, at.parent or ("" if at is span else at.id))
        for one in path:
            self._roots[one] = root
        return root

    def _run(self, span: Span, found: dict[str, AgentRun]) -> AgentRun:
        agent = self._agents.get(span.id) or self._agent(span)
        self._agents[span.id] = agent
        key = agent.id if agent is not None else f"{span.conversation} {self._root(span)}"
        if key not in found:
            found[key] = AgentRun(key, agent)
        return found[key]

    def _place(self, run: AgentRun, found: Mapping[str, AgentRun]) -> None:
        """Who started it: the nearest run around it that calls a model itself, by the tool in between."""
        if run.agent is None or not run.calls:
            return
        above = self._above(run.agent)
        tool = run.agent if run.agent.kind == "tool" else above
        run.parent_call = tool.tool_call if tool is not None and tool.kind == "tool" else ""
        path: list[str] = []
        while above is not None and above.id not in self._callers:
            path.append(above.id)
            around = found.get(above.id)
            self._callers[above.id] = around if around is not None and around.calls else None
            if self._callers[above.id] is not None:
                break
            above = self._above(above)
        caller = self._callers[above.id] if above is not None else None
        self._callers |= dict.fromkeys(path, caller)
        if caller is None:
            caller = next((one for one in self._loose(run.agent, found) if one.calls), None)
        run.parent = caller if caller is not run else None

    def _loose(self, agent: Span, found: Mapping[str, AgentRun]) -> Iterable[AgentRun]:
        """Calls of the same trace that no agent makes."""
        one = found.get(f"{agent.conversation} {self._root(agent)}")
        return [one] if one is not None else []

    def _filled(self, call: Span, wrappers: Mapping[str, int]) -> Span:
        """What only the spans around a call say of it: its wrapper, its agent."""
        above = self._above(call)
        if above is not None and above.id in wrappers:
            alone = wrappers[above.id] == 1
            more = {"system": above.system, "tools": above.tools}
            logged = read_input(above.input) if alone else None
            if logged is not None:
                more |= {"usage": above.usage, "model": above.model, "finish": above.finish, "window": above.window}
                more |= {"input": above.input, "output": above.output}
                if logged.items and not logged.is_text and read_input(call.input).is_text:
                    call = replace(call, input=None)
                if more["tools"] is None:
                    more["tools"] = logged.tools
            call = completed(call, more)
        agent = self._agents[call.id]
        if agent is None or not (agent.conversation or agent.system or agent.tools):
            return call
        more = {"system": agent.system, "tools": agent.tools} if agent.kind == "agent" else {}
        return completed(call, more | {"conversation": agent.conversation})


def _is_begun(span: Span) -> bool:
    """Is there anything of the call? A snapshot of its start says nothing yet."""
    return span.finished or span.usage is not None or span.input is not None
