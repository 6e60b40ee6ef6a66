"""Reads spans of any tracer into a session: an agent's run is a thread, each call of a model a request.

What a call sent stands in its own span, so buffers are as they were logged. Where a tracer logs only what is new, the
call goes on from the one before it in the same run; the session says so. Spans come in any order and may come twice.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

from inspector.core.buffer import EMPTY_VIEW, Prompt, View, head, shared
from inspector.core.dialects.catalogue import Endpoint
from inspector.core.dialects.openai_responses import read_arguments
from inspector.core.formats.format import BuiltReader
from inspector.core.formats.proxy.bodies import Body
from inspector.core.formats.proxy.conversation import Conversation
from inspector.core.formats.proxy.conversations import Conversations
from inspector.core.formats.proxy.exchange import Exchange, Reply
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.session import split_singles
from inspector.core.formats.reading import note_shared_ids
from inspector.core.formats.traces.attributes import describe
from inspector.core.formats.traces.buffers import LOGGED, CallReader, SpokenCall
from inspector.core.formats.traces.span import Span, SpanEvent, completed, parsed
from inspector.core.formats.traces.tree import AgentRun, SpanTree
from inspector.core.formats.traces.wire import said
from inspector.core.jsontext import dumps
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.prefix import Prefix
from inspector.core.session import Problem, Session, Thread
from inspector.core.tokens.estimators import DEFAULT_ESTIMATOR, estimator, messages_weight
from inspector.core.usage import ABSURD, Usage

_ESTIMATOR = estimator(DEFAULT_ESTIMATOR)
_CALL = Endpoint("call")
_NUMBER = re.compile(r"[-_# ]?\d+$")
"""An agent may be named anew at every turn."""
_BACK = 400
"""Messages that are looked at, from the last one back, for one that a former run ended in."""
_HOLDERS = 64
"""Runs that are known to end in one and the same message, before the latest."""
_NEARER = 4
"""A rebuilt buffer must explain what was reported so many times better than the one that was logged."""
_WORDY = 16
"""Characters of text that no token holds: a prompt of fewer tokens than that is not the whole one."""


SpansOf: TypeAlias = Callable[[Any, int], Iterator[Span | SpanEvent]]
"""(value of a file, its line) -> what stands in it."""


class TraceReader(BuiltReader):
    """A `Reader` (see `format.py`) for the spans that a mapping finds in each value."""

    def __init__(self, name: str, spans_of: SpansOf) -> None:
        super().__init__()
        self._name, self._spans_of = name, spans_of
        self._spans: dict[str, Span] = {}
        self._events: dict[str, list[Mapping[str, Any]]] = {}
        """What was written down beside the spans, by their ids."""
        self._told: dict[str, tuple[Span, int, Span]] = {}
        """Spans with so many of their events."""
        self._calls = CallReader()
        self._lists: OrderedDict[str, list[Any]] = OrderedDict()
        """The last input that was a list, by what the call stands in; the latest last."""
        self._tools: Any = None
        """Those of the last call that told some."""
        self._passed = 0
        self._shared_ids = 0
        """Spans that have the id of another one."""
        self._look: _TraceSession | None = None
        """The last look at the spans: it goes on where what came since only follows."""

    def _take(self, line: int, value: Any, file: str) -> None:
        found = False
        for span in self._spans_of(value, line):
            found = True
            if isinstance(span, SpanEvent):
                self._events.setdefault(span.span, []).append(span.told)
            else:
                self._add(span)
        if not found and not isinstance(value, dict):
            self._problems.note(line, "this is no span; it was left out", value)
        self._passed += not found and isinstance(value, dict) and value.get("object") != "trace"

    def _add(self, span: Span) -> None:
        """Of a span that came before, the finished or later one counts."""
        span.id = self._name_of(span)
        self._share(span)
        known = self._spans.get(span.id)
        if known is None or span.finished or not known.finished:
            self._spans[span.id] = span
            self._calls.forget(span.id)
        if span.absurd:
            self._problems.note(span.line, ABSURD, span.name)

    def _name_of(self, span: Span) -> str:
        """Return the id of a span; one that began at another time than the span of that id is another span."""
        if not span.id:
            return f"span {len(self._spans) + 1}"
        known = self._spans.get(span.id)
        if known is None or not span.start or not known.start or span.start == known.start:
            return span.id
        self._shared_ids += 1
        return f"{span.id}@{span.start}"

    def _build(self) -> Session:
        """Goes on from the last look, else built anew from messages that are read once."""
        told = {name: self._with_events(self._spans[name]) for name in self._events if name in self._spans}
        tree = SpanTree({**self._spans, **told}.values())
        if self._look is None or not self._look.goes_on(tree):
            self._look = _TraceSession(self._calls)
        session = self._look.session(self._name, Prefix(self._problems), self._passed, tree)
        return replace(session, notes=(*session.notes, *note_shared_ids(self._shared_ids, "spans")))

    def _share(self, span: Span) -> None:
        """Most of what a call sent was sent by the one before it: it is kept once."""
        if span.tools is not None:
            self._tools = span.tools = self._tools if self._tools == span.tools else span.tools
        if type(told := span.input) is not list:
            return
        known, same = self._lists.get(span.parent, ()), 0
        for before, one in zip(known, told, strict=False):
            if before != one:
                break
            same += 1
        told[:same] = known[:same]
        self._lists[span.parent] = told
        self._lists.move_to_end(span.parent)
        if len(self._lists) > _LISTS:
            self._lists.popitem(last=False)

    def _with_events(self, span: Span) -> Span:
        """The span with what its events say where it does not. Made anew when more have come."""
        events = self._events[span.id]
        known = self._told.get(span.id)
        if known is None or known[0] is not span or known[1] != len(events):
            said = describe(Span(span.id, kind=span.kind), {}, events)
            more = {name: getattr(said, name) for name in (*LOGGED, "usage", "model", "finish")}
            known = self._told[span.id] = span, len(events), completed(span, more)
        return known[2]


_LISTS = 64


class _TraceSession:
    """What was made of the spans."""

    def __init__(self, calls: CallReader) -> None:
        self._tree = SpanTree(())
        self._calls, self._pool = calls, calls.pool
        self._conversations = Conversations()
        self._of_run: dict[str, Conversation] = {}
        self._runs: dict[int, AgentRun] = {}
        self._ends: dict[str, View] = {}
        self._last: dict[str, Exchange] = {}
        """The call before, by run."""
        self._scopes: dict[str, str] = {}
        self._tails: dict[tuple[str, str], list[tuple[str, View]]] = {}
        """By whose they are and their last message: buffers with the answer to them, and where their conversations are.
        None that a run went on from."""
        self._wordy: dict[int, Conversation] = {}
        """Those in which a call may hold more text than the tokens that it reported."""
        self._rebuilt = self._empty = self._partial = 0

    def goes_on(self, tree: SpanTree) -> bool:
        """Does it only add calls after those that were taken?"""
        former = self._tree
        if self._partial or tree.beside != former.beside or (self._rebuilt and tree.tools != former.tools):
            return False
        return tree.begins_as(former)

    def session(self, name: str, problems: Sequence[Problem], passed: int, tree: SpanTree) -> Session:
        """Everything so far, once the `tree` was found to go on."""
        former, self._tree, calls = self._tree, tree, tree.calls
        now = {run.id: run for run in tree.runs}
        self._runs = {number: now[run.id] for number, run in self._runs.items()}
        for call, run in calls[len(former.calls) :]:
            self._take(call, run)
        self._without_parts()
        self._conversations.forget_parents()
        placed, singles = split_singles(self._conversations.all) if self._conversations.all else ([], [])
        names = {one.number: "main" if not n else f"thread-{one.number + 1}" for n, one in enumerate(placed)}
        for one in placed:
            self._adopt(one, names)
        threads = [self._thread(one, names) for one in placed]
        if not threads:
            threads = [thread for run in tree.runs if (thread := self._tools_only(run)) is not None]
            threads = [replace(one, id=f"thread-{n}" if n > 1 else "main") for n, one in enumerate(threads, 1)]
        sides = [each.side_call("", 0, None) for one in singles for each in one.steps]
        whose = next((call.conversation for call, _ in calls if call.conversation), "")
        notes = tuple(self._notes(len(calls), passed))
        return Session(name, tuple(threads) or (Thread("main"),), problems, id=whose, notes=notes, side_calls=sides)

    # -- one call

    def _take(self, call: Span, run: AgentRun) -> None:
        spoken = self._calls.read(call, run.id)
        reply, model = spoken.response, call.model or spoken.response.model
        usage = self._usage(call) or reply.usage
        last = self._last.get(run.id)
        view, prompt = spoken.view, spoken.prompt
        base = self._base(call, spoken, usage, last, run)
        if base is not None:
            view, prompt = self._rebuild(base, spoken, last.body.prompt if last else Prompt())
        is_empty = not view.length
        self._empty += is_empty
        whose = f"{_unnumbered(run.name)} {run.parent is not None}" if run.agent is not None else ""
        scope = self._scope(call, run, view, whose)
        key = ClientKey("", scope, run.id if is_empty else "", strong=is_empty)
        body = Body(None, {"model": model}, prompt, view)
        answered = Reply((), usage, call.finish or reply.finish, model)
        one = Exchange(0, call.line, call.time, "", _CALL, key, body, window=call.window, reply=answered, end=view)
        _note_times(one.figures, call)
        thread = self._conversations.add_step(one, self._extended(last, key, view) if last and base is None else None)
        view = one.asked.view
        end = self._pool.after(view, spoken.answer)
        self._conversations.add_answer(thread, one, end)
        written = call.input if base is None else None
        if usage is not None and not (isinstance(written, str) and len(written) <= _WORDY * usage.prompt):
            self._wordy[thread.number] = thread
        self._of_run.setdefault(run.id, thread)
        self._runs.setdefault(thread.number, run)
        self._last[run.id] = one
        tails = self._tails_of(whose, end)
        tails.append((scope, end))
        if len(tails) > _HOLDERS:
            del tails[0]
        if len(thread.steps) > 1:
            former = thread.steps[-2].end
            tails = self._tails_of(whose, former)
            tails[:] = [one for one in tails if one[1] is not former]
        if call.response:
            self._ends[call.response] = end

    def _extended(self, last: Exchange, key: ClientKey, view: View) -> Conversation | None:
        """The thread of the call before, where a buffer of the same conversation only adds to what that sent."""
        thread, sent = self._conversations.thread_of(last), last.asked.view
        is_more = 0 < sent.length < view.length and shared(sent, view) == sent.length
        return thread if thread is not None and thread.key == key and is_more else None

    def _rebuild(self, base: View, spoken: SpokenCall, before: Prompt) -> tuple[View, Prompt]:
        """What was sent by a call that told only what is new: after `base`, with what stays of the prompt."""
        self._rebuilt += 1
        system = before.system if spoken.prompt.system is None else spoken.prompt.system
        tools = before.tools if spoken.prompt.tools is None else spoken.prompt.tools
        view = self._pool.after(base, [(message,) for message in spoken.view])
        prompt = Prompt(system, tools)
        return view, self._pool.prompt(prompt, lambda: prompt)

    def _usage(self, call: Span) -> Usage | None:
        if call.beside is None and call.usage is not None and call.model in self._tree.beside:
            return replace(call.usage, input=call.usage.prompt)
        return call.usage

    def _scope(self, call: Span, run: AgentRun, view: View, whose: str) -> str:
        """Where the conversation of a call is looked for: in its run; in an agent's runs of one conversation; in a
        former run whose buffer, with its last answer, this one begins with."""
        if not view.length:
            return run.id
        if run.agent is not None and call.conversation:
            return f"{call.conversation} {whose}"
        if run.id not in self._scopes:
            self._scopes[run.id] = self._former(whose, view) or run.id
        return self._scopes[run.id]

    def _tails_of(self, whose: str, end: View) -> list[tuple[str, View]]:
        """Those that end as this buffer does."""
        key = whose, (end.tail(end.length - 1)[0].id if end.length else "")
        if (found := self._tails.get(key)) is None:
            found = self._tails[key] = []
        return found

    def _former(self, whose: str, view: View) -> str:
        """Where the conversation is that a buffer goes on, if it is only one; no other run may go on there then."""
        for message in islice(view.backwards(), _BACK):
            tails = self._tails.get((whose, message.id), [])
            if known := [(scope, end) for scope, end in tails if shared(end, view) == end.length]:
                for one in known:
                    tails.remove(one)
                scopes = {scope for scope, _ in known}
                return scopes.pop() if len(scopes) == 1 else ""
        return ""

    def _base(
        self, call: Span, spoken: SpokenCall, usage: Usage | None, last: Exchange | None, run: AgentRun
    ) -> View | None:
        """What a call goes on from that does not say all it sent; None where it does."""
        if last is None or not last.end.length:
            return None
        if not spoken.view.length:
            return self._answered(last.end, run)
        (first,) = head(spoken.view, 1)
        thread = self._conversations.thread_of(last)
        if shared(last.asked.view, spoken.view) or (thread is not None and thread.holds(first)):
            return None
        if call.conversation in self._ends and first.role != "system":
            return self._ends[call.conversation]
        if first.role == "tool":
            return last.end
        return last.end if self._is_delta(spoken, usage, last) else None

    def _is_delta(self, spoken: SpokenCall, usage: Usage | None, last: Exchange) -> bool:
        """Tokens grew by what is new, though the messages before it are not told again: is the buffer with them a
        much better explanation of what was reported than the one that was logged?"""
        told = last.reply.usage if last.reply is not None else None
        if usage is None or told is None or spoken.prompt is not last.asked.prompt or usage.prompt <= told.prompt:
            return False
        grown, own = usage.prompt - told.prompt, messages_weight(_ESTIMATOR, spoken.view)
        unseen = told.prompt - messages_weight(_ESTIMATOR, last.asked.view)
        return _NEARER * abs(grown - told.output - own) < abs(usage.prompt - own - unseen)

    def _answered(self, end: View, run: AgentRun) -> View:
        """`end` with the results of the tools that it asked for, where their spans hold them."""
        asked = end.tail(end.length - 1)[0].calls
        units: list[list[Message]] = []
        for call in asked:
            named = [tool for tool in run.tools if tool.tool_call == call.id or tool.name == call.name]
            same = [tool for tool in named if tool.tool_call == call.id] or [
                tool for tool in named if dumps(call.arguments) in dumps(parsed(tool.input))
            ]
            if same:
                units.append([_result(call.id, same[-1])])
        return self._pool.after(end, units)

    # -- the threads

    def _without_parts(self) -> None:
        """Leave out usage that cannot be of the whole prompt: a token holds no page of text."""
        for one in self._wordy.values():
            told = [step for step in one.steps if step.reply is not None and step.reply.usage is not None]
            small = [step for step in told if _is_part(step)]
            for step in told if 2 * len(small) >= len(told) else small:
                if step.reply is not None and small:
                    step.reply = replace(step.reply, usage=None)
                    one.refresh(step)
                    self._partial += 1

    def _adopt(self, one: Conversation, names: Mapping[int, str]) -> None:
        run = self._runs[one.number]
        parent = self._of_run.get(run.parent.id) if run.parent is not None else None
        if not run.parent_call and names[one.number] != "main":
            self._conversations.find_parent(one)
        if parent is not None and parent is not one and parent is not one.parent and parent.number in names:
            one.parent, one.parent_call = parent, run.parent_call

    def _thread(self, one: Conversation, names: Mapping[int, str]) -> Thread:
        parent = names.get(one.parent.number, "") if one.parent is not None else ""
        main = names[one.number] == "main"
        title = self._runs[one.number].name or one.label or one.first_words
        return one.thread(names[one.number], title, "" if main else parent, "" if main else one.parent_call)

    def _tools_only(self, run: AgentRun) -> Thread | None:
        """A run of which only the tools were recorded: what they were asked and what they said."""
        units: list[list[Message]] = []
        for n, tool in enumerate(run.tools):
            name = tool.tool_call or f"tool-{n}"
            call = ToolCall(name, tool.name, read_arguments(tool.input))
            units.append([Message("", "assistant", (call,), line=tool.line, time=tool.time)])
            units.append([_result(name, tool)])
        end = self._pool.after(EMPTY_VIEW, units)
        return Thread("", run.name, messages=end.messages(), end=end) if units else None

    def _notes(self, calls: int, passed: int) -> Iterator[str]:
        if not calls:
            yield f"None of the {self._tree.count:,} spans is a call of a model: there are no requests to show."
        of = f"of {calls:,} calls"
        if self._empty:
            yield f"Traced without messages: {self._empty:,} {of}. Only their tokens are known."
        if self._rebuilt:
            yield f"Traced with what was new only: {self._rebuilt:,} {of}. What stood before is from the calls before."
        if self._partial:
            yield f"Usage left out: {self._partial:,} {of}. So few tokens cannot be the whole prompt."
        if self._tree.wrappers:
            yield f"Spans around a call that tell it again, or a sum, are no calls: {self._tree.wrappers:,}."
        if self._tree.unfinished:
            yield f"Calls that began and did not end were left out: {self._tree.unfinished:,}."
        if passed:
            yield f"Values that are no spans (logs, metrics) were passed over: {passed:,}."


def _result(call: str, tool: Span) -> Message:
    return Message("", "tool", (ToolResult(call, said(parsed(tool.output))),), line=tool.line, time=tool.time)


def _note_times(noted: dict[str, Any], call: Span) -> None:
    """How long it took, and until its answer began, in ms; as far as it is told and can be."""
    start, end = call.start, call.end
    if end > start > 0:
        noted["elapsed_ms"] = (end - start) / 1_000_000
        if start < call.first <= end:
            noted["first_byte_ms"] = (call.first - start) / 1_000_000


@lru_cache(maxsize=1 << 10)
def _unnumbered(name: str) -> str:
    return _NUMBER.sub("", name)


def _is_part(step: Exchange) -> bool:
    """Does the buffer hold more text than so many tokens can be?"""
    reply = step.reply
    if reply is None or reply.usage is None:
        return False
    return step.asked.view.weight("letters", _letters) > _WORDY * reply.usage.prompt


def _letters(message: Message) -> int:
    """What can be nothing but text: a picture's tokens are its own affair."""
    letters = 0
    for part in message.parts:
        if isinstance(part, Text):
            letters += len(part.text)
        elif isinstance(part, ToolResult):
            letters += len(part.content)
    return letters
