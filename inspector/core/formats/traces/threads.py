"""Build threads from a tree of spans: each model call is a request, the runs of an agent are a thread."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from inspector.core.buffer import EMPTY_VIEW, Prompt, View, head, shared
from inspector.core.dialects.catalogue import Endpoint
from inspector.core.dialects.openai_responses import read_arguments
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange, Reply
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.session import split_singles
from inspector.core.formats.traces.buffers import CallReader, SpokenCall
from inspector.core.formats.traces.former_runs import RunScopes
from inspector.core.formats.traces.span import Span, unpack_json
from inspector.core.formats.traces.tree import AgentRun, SpanTree
from inspector.core.formats.traces.wire import result_text
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Problem, Session, Thread
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator, messages_weight
from inspector.core.usage import Usage

_ESTIMATOR = estimator(DEFAULT_ESTIMATOR)
_CALL = Endpoint("call")
_NUMBER = re.compile(r"[-_# ]?\d+$")
"""A number at the end of an agent's name, which may change at every turn."""
_NEARER = 4
"""Factor by which the error of the logged buffer must exceed the error of the rebuilt buffer, in tokens."""
_WORDY = 16
"""Most characters of text per token. If a buffer has more per reported token, the usage is not of the whole prompt."""


class TracedCall(NamedTuple):
    """A call with its run, its messages and its usage, ready to be added to a thread."""

    span: Span
    run: AgentRun
    spoken: SpokenCall
    usage: Usage | None
    last: Exchange | None
    """The previous call of the same run."""


class TraceThreads:
    """The threads of a trace. Calls are added one after the other and never removed."""

    def __init__(self, calls: CallReader) -> None:
        self._tree = SpanTree(())
        self._calls, self._pool = calls, calls.pool
        self._conversations = Conversations()
        self._thread_of_run: dict[str, Conversation] = {}
        """By id of the run: the thread of its first call."""
        self._run_of_thread: dict[int, AgentRun] = {}
        """By number of the thread: the run of its first call."""
        self._ends: dict[str, View] = {}
        """The buffer after each response, by id of the response."""
        self._last: dict[str, Exchange] = {}
        """The last call of each run."""
        self._scopes = RunScopes()
        self._wordy: dict[int, Conversation] = {}
        """Threads, by number, in which a call may hold more text than the tokens that it reported."""
        self._rebuilt = self._empty = self._partial = 0

    def is_continued_by(self, tree: SpanTree) -> bool:
        """Does `tree` only add calls after those of the last tree?"""
        former = self._tree
        if (
            self._partial
            or tree.beside != former.beside
            or (self._rebuilt and tree.tools != former.tools)
        ):
            return False
        return tree.begins_as(former)

    def session(
        self, name: str, problems: Sequence[Problem], passed: int, tree: SpanTree
    ) -> Session:
        """Add the new calls of a tree, and return the session so far.

        Args:
            name: Name of the format.
            problems: What could not be read.
            passed: Values of the file that are no spans.
            tree: The tree of all spans; it must continue the last one (`is_continued_by`).
        """
        new_calls = tree.calls[len(self._tree.calls) :]
        self._tree = tree
        runs = {run.id: run for run in tree.runs}
        self._run_of_thread = {number: runs[run.id] for number, run in self._run_of_thread.items()}
        for span, run in new_calls:
            self._add_call(span, run)
        self._leave_out_partial_usage()
        threads, singles = self._name_threads()
        conversation = next((span.conversation for span, _ in tree.calls if span.conversation), "")
        session_threads = tuple(threads or self._tool_threads()) or (Thread("main"),)
        notes = tuple(self._notes(len(tree.calls), passed))
        side_calls = [
            step.side_call("", before_request=0, compaction=None)
            for single in singles
            for step in single.steps
        ]
        return Session(
            name, session_threads, problems, id=conversation, notes=notes, side_calls=side_calls
        )

    # -- one call --------------------------------------------------------------------------------------------------

    def _add_call(self, span: Span, run: AgentRun) -> None:
        spoken = self._calls.read(span, run.id)
        usage = self._usage_of(span) or spoken.response.usage
        call = TracedCall(span, run, spoken, usage, last=self._last.get(run.id))
        base = self._find_base(call)
        view, prompt = (spoken.view, spoken.prompt) if base is None else self._rebuild(base, call)
        self._empty += not view.length
        owner = _owner_of(run)
        scope = self._scopes.scope_of(span, run, view, owner)
        exchange = _as_exchange(call, view, prompt, scope)
        grown = self._thread_that_grows(call.last, exchange) if base is None else None
        thread = self._conversations.add_step(exchange, grown)
        end = self._pool.after(exchange.asked.view, spoken.answer)
        self._conversations.add_answer(thread, exchange, end)
        self._thread_of_run.setdefault(run.id, thread)
        self._run_of_thread.setdefault(thread.number, run)
        self._last[run.id] = exchange
        self._scopes.add_end(owner, scope, end)
        if len(thread.steps) > 1:
            self._scopes.remove_end(owner, thread.steps[-2].end)
        if span.response:
            self._ends[span.response] = end
        if usage is not None and not (base is None and _is_short_text(span.input, usage)):
            self._wordy[thread.number] = thread

    def _usage_of(self, span: Span) -> Usage | None:
        """Return the usage that a call reported.

        If its counts do not show whether the prompt includes the cached tokens, other calls of the model may show it.
        """
        if span.beside is None and span.usage is not None and span.model in self._tree.beside:
            return replace(span.usage, input=span.usage.prompt)
        return span.usage

    def _thread_that_grows(self, last: Exchange | None, exchange: Exchange) -> Conversation | None:
        """Return the thread of the last call if this buffer only adds messages to that call's buffer; else None."""
        if last is None:
            return None
        thread, sent, view = (
            self._conversations.thread_of(last),
            last.asked.view,
            exchange.asked.view,
        )
        only_adds = 0 < sent.length < view.length and shared(sent, view) == sent.length
        return thread if only_adds and thread is not None and thread.key == exchange.key else None

    # -- calls that log only what is new ---------------------------------------------------------------------------

    def _rebuild(self, base: View, call: TracedCall) -> tuple[View, Prompt]:
        """Return buffer and prompt of a call that logs only new messages.

        The new messages follow `base`. What the call does not log of its prompt is taken from the last call.
        """
        self._rebuilt += 1
        former = call.last.body.prompt if call.last else Prompt()
        own = call.spoken.prompt
        system = former.system if own.system is None else own.system
        tools = former.tools if own.tools is None else own.tools
        view = self._pool.after(base, [(message,) for message in call.spoken.view])
        prompt = Prompt(system, tools)
        return view, self._pool.prompt(prompt, lambda: prompt)

    def _find_base(self, call: TracedCall) -> View | None:
        """Return the buffer that a call continues if the call logs only new messages; None if it logs all messages."""
        last, view = call.last, call.spoken.view
        if last is None or not last.end.length:
            return None
        if not view.length:
            return self._with_results(last.end, call.run)
        (first,) = head(view, 1)
        thread = self._conversations.thread_of(last)
        if shared(last.asked.view, view) or (thread is not None and thread.holds(first)):
            return None
        if call.span.conversation in self._ends and first.role != "system":
            return self._ends[call.span.conversation]
        return last.end if first.role == "tool" or _is_difference(call, last) else None

    def _with_results(self, end: View, run: AgentRun) -> View:
        """Return `end` followed by the results of its last tool calls, as far as the spans of the tools hold them."""
        (last,) = end.tail(end.length - 1)
        units: list[list[Message]] = []
        for tool_call in last.calls:
            tool = _find_tool(tool_call, run.tools)
            if tool is not None:
                units.append([_result_of(tool_call.id, tool)])
        return self._pool.after(end, units)

    # -- the threads -----------------------------------------------------------------------------------------------

    def _leave_out_partial_usage(self) -> None:
        """Remove usage that cannot be of the whole prompt, because its tokens are too few for the text of the buffer.

        If that is at least half of a thread's usage, all usage of the thread is removed.
        """
        for thread in self._wordy.values():
            measured = [
                step
                for step in thread.steps
                if step.reply is not None and step.reply.usage is not None
            ]
            partial = [step for step in measured if _holds_more_text(step)]
            if not partial:
                continue
            for step in measured if 2 * len(partial) >= len(measured) else partial:
                assert step.reply is not None
                step.reply = replace(step.reply, usage=None)
                thread.refresh(step)
                self._partial += 1

    def _name_threads(self) -> tuple[list[Thread], Sequence[Conversation]]:
        """Return the named threads, and the single calls beside them."""
        self._conversations.forget_parents()
        if not self._conversations.all:
            return [], []
        placed, singles = split_singles(self._conversations.all)
        names = {thread.number: f"thread-{thread.number + 1}" for thread in placed}
        names |= {thread.number: "main" for thread in placed[:1]}
        for thread in placed:
            self._find_parent(thread, names)
        return [self._as_thread(thread, names) for thread in placed], singles

    def _find_parent(self, thread: Conversation, names: Mapping[int, str]) -> None:
        """Set the parent of a thread: by the spans, else by the tool call that holds the thread's task."""
        run = self._run_of_thread[thread.number]
        parent = self._thread_of_run.get(run.parent.id) if run.parent is not None else None
        if not run.parent_call and names[thread.number] != "main":
            self._conversations.find_parent(thread)
        if (
            parent is not None
            and parent is not thread
            and parent is not thread.parent
            and parent.number in names
        ):
            thread.parent, thread.parent_call = parent, run.parent_call

    def _as_thread(self, thread: Conversation, names: Mapping[int, str]) -> Thread:
        name = names[thread.number]
        title = self._run_of_thread[thread.number].name or thread.label or thread.first_words
        if name == "main":
            return thread.thread(name, title, "", "")
        parent = names.get(thread.parent.number, "") if thread.parent is not None else ""
        return thread.thread(name, title, parent, thread.parent_call)

    def _tool_threads(self) -> list[Thread]:
        """Return a thread with the tool calls and results of each run, for a trace without model calls."""
        threads: list[Thread] = []
        for run in self._tree.runs:
            if end := self._tools_of(run):
                name = f"thread-{len(threads) + 1}" if threads else "main"
                threads.append(Thread(name, run.name, messages=end.messages(), end=end))
        return threads

    def _tools_of(self, run: AgentRun) -> View:
        units: list[list[Message]] = []
        for n, tool in enumerate(run.tools):
            name = tool.tool_call or f"tool-{n}"
            call = ToolCall(name, tool.name, read_arguments(tool.input))
            units.append([Message("", "assistant", (call,), line=tool.line, time=tool.time)])
            units.append([_result_of(name, tool)])
        return self._pool.after(EMPTY_VIEW, units)

    def _notes(self, calls: int, passed: int) -> Iterator[str]:
        if not calls:
            yield f"None of the {self._tree.count:,} spans is a call of a model: there are no requests to show."
        of = f"of {calls:,} calls"
        if self._empty:
            yield f"Traced without messages: {self._empty:,} {of}. Only their tokens are known."
        if self._rebuilt:
            yield f"Traced with new messages only: {self._rebuilt:,} {of}. The earlier ones are from the calls before."
        if self._partial:
            yield f"Usage left out: {self._partial:,} {of}. The reported tokens are too few for the whole prompt."
        if self._tree.wrappers:
            yield f"Spans not counted, because they repeat or sum up a call inside them: {self._tree.wrappers:,}."
        if self._tree.unfinished:
            yield f"Calls that began and did not end were left out: {self._tree.unfinished:,}."
        if passed:
            yield f"Values that are no spans (logs, metrics) were passed over: {passed:,}."


def _owner_of(run: AgentRun) -> str:
    """Return a key of the run's agent; runs with the same key may continue each other. Empty without an agent."""
    return f"{_without_number(run.name)} {run.parent is not None}" if run.agent is not None else ""


def _as_exchange(call: TracedCall, view: View, prompt: Prompt, scope: str) -> Exchange:
    span, response = call.span, call.spoken.response
    model = span.model or response.model
    is_empty = not view.length
    key = ClientKey("", scope, call.run.id if is_empty else "", strong=is_empty)
    body = Body(dialect=None, fields={"model": model}, prompt=prompt, view=view)
    reply = Reply((), call.usage, finish=span.finish or response.finish, model=model)
    exchange = Exchange(
        number=0,
        line=span.line,
        time=span.time,
        path="",
        endpoint=_CALL,
        key=key,
        asked=body,
        window=span.window,
        reply=reply,
        end=view,
    )
    _note_times(exchange.figures, span)
    return exchange


def _is_short_text(value: Any, usage: Usage) -> bool:
    """Is an input a text that fits into the prompt tokens of this usage?"""
    return isinstance(value, str) and len(value) <= _WORDY * usage.prompt


def _is_difference(call: TracedCall, last: Exchange) -> bool:
    """Did a call log only its new messages? Its reported tokens decide.

    If so, its prompt grew by the tokens of the new messages. So the buffer rebuilt with the earlier messages must
    explain the reported tokens much better than the logged buffer.
    """
    former = last.reply.usage if last.reply is not None else None
    usage, view = call.usage, call.spoken.view
    if (
        usage is None
        or former is None
        or call.spoken.prompt is not last.asked.prompt
        or usage.prompt <= former.prompt
    ):
        return False
    growth = usage.prompt - former.prompt
    own = messages_weight(_ESTIMATOR, view)
    unseen = former.prompt - messages_weight(_ESTIMATOR, last.asked.view)
    error_rebuilt = abs(growth - former.output - own)
    error_logged = abs(usage.prompt - own - unseen)
    return _NEARER * error_rebuilt < error_logged


def _find_tool(call: ToolCall, tools: Sequence[Span]) -> Span | None:
    """Return the span of the tool that a tool call started: by id, else by name and arguments; the last of several."""
    by_id = [tool for tool in tools if tool.tool_call == call.id]
    if by_id:
        return by_id[-1]
    arguments = dumps(call.arguments)
    by_name = [
        tool
        for tool in tools
        if tool.name == call.name and arguments in dumps(unpack_json(tool.input))
    ]
    return by_name[-1] if by_name else None


def _result_of(call_id: str, tool: Span) -> Message:
    result = ToolResult(call_id, result_text(unpack_json(tool.output)))
    return Message("", "tool", (result,), line=tool.line, time=tool.time)


def _note_times(figures: dict[str, Any], call: Span) -> None:
    """Set the duration of a call and the time until its answer began, in ms, if they are recorded and possible."""
    start, end = call.start, call.end
    if end > start > 0:
        figures["elapsed_ms"] = (end - start) / 1_000_000
        if start < call.first <= end:
            figures["first_byte_ms"] = (call.first - start) / 1_000_000


@lru_cache(maxsize=1 << 10)
def _without_number(name: str) -> str:
    return _NUMBER.sub("", name)


def _holds_more_text(step: Exchange) -> bool:
    """Does the buffer hold more text than fits into the reported tokens?"""
    if step.reply is None or step.reply.usage is None:
        return False
    return step.asked.view.weight("letters", _count_letters) > _WORDY * step.reply.usage.prompt


def _count_letters(message: Message) -> int:
    """Count the characters of texts and tool results, not of images: their tokens say nothing about their size."""
    letters = 0
    for part in message.parts:
        if isinstance(part, Text):
            letters += len(part.text)
        elif isinstance(part, ToolResult):
            letters += len(part.content)
    return letters
