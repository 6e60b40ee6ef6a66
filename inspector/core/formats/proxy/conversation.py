"""One thread of a recording, built while its exchanges arrive. Their answers may arrive in any order.

A list that a caller may hold never changes for the caller: it is copied before one of its items changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.core.buffer import EMPTY_VIEW, Prompt, View, head, shared
from inspector.core.dialects.anthropic import is_summary
from inspector.core.formats.proxy.exchange import Exchange
from inspector.core.formats.proxy.keys import ClientKey
from inspector.core.formats.proxy.pool import extended
from inspector.core.message import Message, Text, ToolCall
from inspector.core.prefix import Prefix
from inspector.core.session import SERVER_SIDE, Compaction, CompactionKind, Request, Thread

_CLIENT_LEADS = ("<", "# AGENTS.md instructions")
"""Beginnings of texts that the client writes in the user's name."""
_BY_PROXY = "proxy"
_LABELS = ("description", "task_name", "title")
"""Arguments that may name the sub-agent in a tool call that starts one."""
_SUMMARY_WITHIN = 8
"""Number of messages after the shared beginning of two buffers that are searched for a summary."""


@dataclass(slots=True, eq=False)
class ShownCompaction:
    """A compaction: the exchange whose buffer shows it (`by`), and the `calls` that asked for its summary."""

    by: Exchange
    summary: Message | None
    kept: int
    kind: CompactionKind
    calls: Sequence[Exchange]
    trigger: str


Scope: TypeAlias = tuple[str, str, str]
"""Key of a `ThreadScope`. Buffers are compared only within one scope."""


@dataclass(slots=True, eq=False)
class Conversation:
    """One thread: its requests in order, its compactions, and what identifies it."""

    key: ClientKey
    number: int
    scope: Scope
    parent: "Conversation | None" = None
    parent_call: str = ""
    steps: list[Exchange] = field(default_factory=list)
    compactions: list[ShownCompaction] = field(default_factory=list)
    label: str = ""
    """Name of a sub-agent, from the tool call that started it."""
    connections: set[tuple[int, int]] = field(default_factory=set)
    """Connections on which its requests arrived: (run of the proxy, number of the connection)."""
    system: str | None = None
    """System prompt of its last request, even if that was refused."""
    summary_calls: list[Exchange] = field(default_factory=list)
    """Calls that asked for a summary which no buffer of the thread holds yet."""
    refused: View = EMPTY_VIEW
    """The buffer of the last request that the provider refused."""
    has_tools: bool = False
    """Did any of its requests offer tools?"""
    _messages: list[Message] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _requests: list[Request] = field(default_factory=list)
    """The steps as requests, as `thread` returned them. Those from index `_stale` on are outdated."""
    _stale: int = 0
    _thread: tuple[tuple[str, str, str, str], Thread] | None = None

    @property
    def end(self) -> View:
        """The buffer after the last step, with its answer."""
        return self.steps[-1].end if self.steps else EMPTY_VIEW

    @property
    def last_sent(self) -> View:
        """The buffer of the last step, or of a refused request if there is no step."""
        return self.steps[-1].body.view if self.steps else self.refused

    @property
    def prompt(self) -> Prompt:
        """The prompt that was sent with the last step."""
        return self.steps[-1].body.prompt if self.steps else Prompt()

    def begins_with(self, message: Message) -> bool:
        """Is `message` the first message of the thread's buffer?"""
        return any(first.id == message.id for first in head(self.end, 1))

    # -- steps -----------------------------------------------------------------------------------------------------

    def add(self, exchange: Exchange) -> None:
        """Append the next step of the thread."""
        before = self.steps[-1] if self.steps else None
        prompt = exchange.body.prompt
        view, same = _continue_stretch(before, exchange.body.view)
        self._note_compaction(before, view, same, exchange)
        self._set_buffer(exchange, view)
        self.has_tools = self.has_tools or bool(prompt.tools)
        self.steps.append(exchange)
        self.connections.add(exchange.connection)
        self.system = prompt.system
        self._collect(view.tail(same))
        self._thread = None

    def update(self, exchange: Exchange) -> None:
        """Replace the buffer of a step after its body changed.

        A body changes if another request was forwarded, or if the response that it continues has arrived.
        """
        at = self.index(exchange)
        before = self.steps[at - 1] if at else None
        view, same = _continue_stretch(before, exchange.body.view)
        self._set_buffer(exchange, view)
        self._forget_compactions(exchange)
        self._note_compaction(before, view, same, exchange)
        self._collect(view.messages())
        self._mark_stale(at)

    def refresh(self, exchange: Exchange) -> None:
        """Mark a step as changed, so that `thread` reads it again."""
        self._mark_stale(self.index(exchange))

    def add_answer(self, exchange: Exchange, end: View) -> None:
        """Add the answer to a step. `end` is the buffer with the answer.

        Call `refresh` so that `thread` shows the usage and the finish reason of the answer.
        """
        self._collect(end.tail(exchange.body.view.length))
        exchange.end = end
        self._thread = None

    def remove(self, exchange: Exchange) -> None:
        """Remove a step that the provider did not answer."""
        at = self.index(exchange)
        self.refused = exchange.body.view
        del self.steps[at]
        self._forget_compactions(exchange)
        self._mark_stale(at)

    def index(self, exchange: Exchange) -> int:
        """Return the index of a step. Costs O(steps after it)."""
        return next(at for at in range(len(self.steps) - 1, -1, -1) if self.steps[at] is exchange)

    def holds(self, message: Message) -> bool:
        """Was the message in any buffer of the thread?"""
        return message.id in self._ids

    def _collect(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if message.id not in self._ids:
                self._ids.add(message.id)
                self._messages.append(message)

    def _set_buffer(self, exchange: Exchange, view: View) -> None:
        exchange.end = view
        if view is exchange.body.view:
            return
        if exchange.sent is not None:
            exchange.sent = replace(exchange.sent, view=view)
        else:
            exchange.asked = replace(exchange.asked, view=view)

    def _mark_stale(self, at: int) -> None:
        self._stale, self._thread = min(self._stale, at), None

    # -- compactions -----------------------------------------------------------------------------------------------

    def _forget_compactions(self, exchange: Exchange) -> None:
        self.compactions = [
            compaction for compaction in self.compactions if compaction.by is not exchange
        ]

    def _note_compaction(
        self, before: Exchange | None, view: View, same: int, exchange: Exchange
    ) -> None:
        """Record a compaction if the buffer of a step shows one.

        Args:
            before: The previous step; None for the first step.
            view: The buffer of the step.
            same: Number of messages at the beginning of `view` that the previous buffer has, too.
            exchange: The step.
        """
        if before is None:
            if exchange.sent is None:
                return
        elif same >= before.end.length:
            return
        summary = next(
            (message for message in view.tail(same)[:_SUMMARY_WITHIN] if message.summary), None
        )
        compaction = _made_by_proxy(exchange, view, summary)
        if compaction is None and before is not None:
            compaction = self._made_by_client(before, view, same, exchange, summary)
        if compaction is not None:
            self.compactions.append(compaction)

    def _made_by_client(
        self, before: Exchange, view: View, same: int, exchange: Exchange, summary: Message | None
    ) -> ShownCompaction | None:
        """Return the client's compaction if messages were removed and a summary was added or requested; else None."""
        calls = tuple(self.summary_calls)
        if summary is None:
            has_shrunk = same < before.body.view.length and view.length < before.end.length
            if not has_shrunk or not calls:
                return None
        ids_before = {message.id for message in before.end}
        kept_count = sum(message.id in ids_before and message is not summary for message in view)
        by_provider = SERVER_SIDE if summary is not None and is_summary(summary.parts) else ""
        trigger = next((call.trigger for call in calls if call.trigger), by_provider)
        self.summary_calls = []
        return ShownCompaction(
            exchange, summary, kept_count, kind="summary", calls=calls, trigger=trigger
        )

    def _as_compaction(self, compaction: ShownCompaction) -> Compaction:
        source = compaction.summary or compaction.by
        at = self.index(compaction.by)
        cause = compaction.by
        predicted = cause.predicted if compaction.trigger == _BY_PROXY else None
        return Compaction(
            at,
            compaction.trigger,
            compaction.kind,
            self._tokens_before(compaction, at),
            summary=compaction.summary,
            kept=compaction.kept,
            line=source.line or cause.line,
            time=source.time or cause.time,
            predicted=predicted,
        )

    def _tokens_before(self, compaction: ShownCompaction, at: int) -> int | None:
        """Return the tokens before a compaction made by the provider; None if they are not recorded.

        The call itself reports them, or the call before it if that one only compacted.
        """
        if compaction.trigger != SERVER_SIDE:
            return None
        for exchange in (compaction.by, *self.steps[max(0, at - 1) : at]):
            usage = exchange.reply.usage if exchange.reply is not None else None
            if usage is not None and usage.compacted:
                return usage.compacted
        return None

    # -- as a thread -----------------------------------------------------------------------------------------------

    def _as_requests(self) -> Sequence[Request]:
        """Return the steps as requests.

        Callers may hold a `Prefix` of the list, so it is only appended to. If an item changed, a new list is made.
        """
        if self._stale < len(self._requests):
            self._requests = self._requests[: self._stale]
        for n, exchange in enumerate(self.steps[self._stale :], self._stale):
            self._requests.append(exchange.request(n, exchange.body.view))
        self._stale = len(self.steps)
        return Prefix(self._requests)

    def thread(
        self, name: str, title: str, parent: str, parent_call: str, *, forwarded: bool = False
    ) -> Thread:
        """Return the thread so far. `forwarded`: did the requests go through a proxy that may change them?"""
        about = (name, title, parent, parent_call)
        if self._thread is not None and self._thread[0] == about:
            return self._thread[1]
        last = self.steps[-1] if self.steps else None
        model, window = (last.model, last.window) if last else ("", None)
        compactions = [self._as_compaction(compaction) for compaction in self.compactions]
        requests = self._as_requests()
        thread = Thread(
            id=name,
            title=title,
            model=model,
            requests=requests,
            messages=Prefix(self._messages),
            end=self.end,
            prompt=self.prompt,
            compactions=compactions,
            parent=parent,
            parent_call=parent_call,
            window=window,
            client=self.key.client,
            keeps_instructions=forwarded,
        )
        self._thread = about, thread
        return thread

    # -- how the thread is recognised ------------------------------------------------------------------------------

    def is_prompted(self, exchange: Exchange) -> bool:
        """Does the request have the system prompt of the thread's last request?"""
        return self.system == exchange.body.prompt.system

    def may_ask_again(self, exchange: Exchange) -> bool:
        """May this request repeat the thread's last one, which was refused or not answered?

        A client does not repeat a request on another connection while the answer is pending.
        """
        if self.steps and self.end.length > self.last_sent.length:
            return False
        if exchange.connection in self.connections:
            return True
        run, _ = exchange.connection
        is_under_way = (
            bool(self.steps)
            and self.steps[-1].reply is None
            and self.steps[-1].connection[0] == run
        )
        return self.is_prompted(exchange) and not is_under_way

    def label_of(self, call_id: str) -> str:
        """Return the name that one of the thread's tool calls gives to its sub-agent, as one line; empty if none."""
        call = next((call for call in self._calls_backwards() if call.id == call_id), None)
        arguments = call.arguments if call is not None and isinstance(call.arguments, dict) else {}
        for name in _LABELS:
            text = arguments.get(name)
            if isinstance(text, str) and text.strip():
                return line_of(text)
        return ""

    def _calls_backwards(self) -> Iterator[ToolCall]:
        for message in reversed(self._messages):
            yield from message.calls

    @property
    def first_words(self) -> str:
        """The beginning of the first text that the user wrote, as one line for a title."""
        for message in self._messages:
            if message.role != "user":
                continue
            for part in message.parts:
                text = part.text.lstrip() if isinstance(part, Text) else ""
                if text and not text.startswith(_CLIENT_LEADS):
                    return line_of(text)
        return ""


def _made_by_proxy(
    exchange: Exchange, view: View, summary: Message | None
) -> ShownCompaction | None:
    """Return the compaction if the proxy forwarded another buffer than the client sent; None if there is none.

    Cuts of earlier requests that the proxy only repeated ("cut again") are no compaction.
    """
    if exchange.sent is None or exchange.released == "cut again":
        return None
    held = exchange.uncut.view
    ids_sent = {message.id for message in view}
    ids_asked = {message.id for message in held}
    if ids_asked <= ids_sent or (summary is not None and summary.id in ids_asked):
        return None
    kept_count = sum(message.id in ids_sent for message in held)
    is_by_provider = summary is not None and is_summary(summary.parts)
    kind: CompactionKind = "edit" if summary is None else "summary"
    return ShownCompaction(
        exchange,
        summary,
        kept_count,
        kind,
        calls=(),
        trigger=SERVER_SIDE if is_by_provider else _BY_PROXY,
    )


def line_of(text: str) -> str:
    """Return the first line of a text, at most 80 characters, for a title."""
    return text.strip().partition("\n")[0][:80]


def _continue_stretch(before: Exchange | None, view: View) -> tuple[View, int]:
    """Rebuild a buffer on the stretch of the previous step, as far as their messages are the same.

    Returns:
        The buffer, and how many messages at its beginning are the same as in the previous step.
    """
    if before is None:
        return view, 0
    same = shared(before.end, view)
    stretch, base = before.end.stretch, view.stretch.base
    if not same or view.stretch is stretch or (base is not None and base.stretch is stretch):
        return view, same
    return extended(View(stretch, same), view.tail(same)), same
