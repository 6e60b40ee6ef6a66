"""The threads that a row of request bodies belongs to, told by what the bodies share.

A body continues the thread whose buffer it extends, whose answers it repeats, or whose response it names
(`previous_response_id`). Buffers of one thread share a stretch as long as they share their beginning.
"""

from collections import Counter
from collections.abc import Sequence

from inspector.core.buffer import EMPTY_VIEW, Prompt, Stretch, View
from inspector.core.dialects.anthropic_usage import read_edits
from inspector.core.formats.payload.dialect import Dialect, Exchange
from inspector.core.formats.payload.messages import Pool, counted
from inspector.core.message import Message
from inspector.core.prefix import Prefix
from inspector.core.session import Compaction, Request, Thread


class Growing:
    """One thread while its bodies come in."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.end: View = EMPTY_VIEW
        """The last buffer with the answer to it."""
        self.seen: Counter[str] = Counter()
        """What stands in `end`, as the pool counts it."""
        self._compactions: list[Compaction] = []
        self._messages: list[Message] = []
        self._ids: set[str] = set()

    def collect(self, messages: Sequence[Message]) -> None:
        """Remember messages of the thread, each once."""
        for message in messages:
            if message.id not in self._ids:
                self._ids.add(message.id)
                self._messages.append(message)

    def compare(self, before: Sequence[Message], after: Sequence[Message], shared: int) -> None:
        """A buffer that lost messages and has a summary where they were: a compaction."""
        fresh = next((message for message in after[shared : shared + 8] if message.summary), None)
        if fresh is not None and shared < len(before) and self.requests:
            old = {message.id for message in before}
            kept = sum(message.id in old for message in after)
            self._compactions.append(Compaction(len(self.requests), "", summary=fresh, kept=kept, line=fresh.line))

    def thread(self, name: str) -> Thread:
        """The thread so far."""
        title = next((m.text.strip().partition("\n")[0][:80] for m in self._messages if m.role == "user"), "")
        last = self.requests[-1] if self.requests else None
        return Thread(
            id=name,
            title="" if name == "main" else title,
            model=last.model if last else "",
            requests=Prefix(self.requests),
            messages=Prefix(self._messages),
            end=self.end,
            prompt=last.prompt if last else Prompt(),
            compactions=Prefix(self._compactions),
            parent="" if name == "main" else "main",
        )


def common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two buffers share at their beginning."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one is not other:
            break
        count += 1
    return count


def grown(view: View, shared: int, more: Sequence[Message]) -> View:
    """The first `shared` messages of `view`, and `more`: in the same stretch where nothing stands behind them."""
    stretch = view.stretch
    while stretch.base is not None and shared <= stretch.base.length:
        stretch = stretch.base.stretch
    if not more:
        return View(stretch, shared)
    if stretch is EMPTY_VIEW.stretch or shared < len(stretch):
        stretch = Stretch(View(stretch, shared) if shared else None)
    for message in more:
        stretch.append(message)
    return stretch.view()


class Threads:
    """All threads of a file, fed one exchange after another."""

    def __init__(self, dialect: Dialect, pool: Pool) -> None:
        self.all: list[Growing] = []
        self.missing: list[int] = []
        """Lines of the bodies that go on from a response which is not in the file."""
        self._dialect = dialect
        self._pool = pool
        self._by_first: dict[str, list[Growing]] = {}
        self._by_answer: dict[str, Growing] = {}
        self._by_response: dict[str, tuple[Growing, View]] = {}

    def add(self, one: Exchange, *, step: bool = True) -> None:
        """Take one exchange. A side call (`step` false) is remembered only as something to go on from."""
        known = self._by_response.get(one.previous)
        if one.previous and known is None:
            self.missing.append(one.line)
        if known:
            thread, view = self._continued(one, known[0] if step else Growing(), known[1])
        else:
            thread, view = self._complete(one, step=step)
        answer_wire = self._dialect.answer(one.response) if one.response is not None else ()
        answer = self._read(answer_wire, one, thread.seen, view)
        thread.collect(answer)
        thread.end = grown(view, view.length, answer)
        if step:
            self._sent(thread, view, one)
            self._by_answer |= {message.id: thread for message in answer}
        if one.response_id:
            owner = known[0] if known else thread
            self._by_response[one.response_id] = (owner, thread.end)

    def _read(
        self, wire: Sequence[object], one: Exchange, seen: Counter[str], before: View = EMPTY_VIEW
    ) -> list[Message]:
        units = self._dialect.pair(self._dialect.read(wire, one.line, one.time), before)
        return self._pool.messages(units, seen)

    def _continued(self, one: Exchange, thread: Growing, view: View) -> tuple[Growing, View]:
        """A delta: what comes behind the response that it names."""
        if view != thread.end:
            thread.seen = counted(view.messages())
        more = self._read(self._dialect.body(one.request or {}), one, thread.seen, view)
        thread.collect(more)
        return thread, grown(view, view.length, more)

    def _complete(self, one: Exchange, *, step: bool) -> tuple[Growing, View]:
        """A body that holds its whole buffer: shared with the thread it continues as far as they are alike."""
        seen: Counter[str] = Counter()
        said = self._read(self._dialect.body(one.request) if one.request is not None else (), one, seen)
        thread = self._thread_of(said) if step else Growing()
        before = thread.end.messages()
        shared = common(before, said)
        thread.compare(before, said, shared)
        thread.seen = seen
        thread.collect(said[shared:])
        if step:
            self._by_answer |= {m.id: thread for m in said if m.role in ("assistant", "tool")}
        return thread, grown(thread.end, shared, said[shared:])

    def _thread_of(self, said: Sequence[Message]) -> Growing:
        """The thread that a complete body continues, else a new one."""
        for message in reversed(said):
            if message.role in ("assistant", "tool") and (thread := self._by_answer.get(message.id)):
                return thread
        for thread in self._by_first.get(said[0].id if said else "", ()):
            last = thread.requests[-1].view
            if common(last.messages(), said) == last.length:
                return thread
        if any(message.summary for message in said[:8]):
            ids = {message.id for message in said if not message.summary}
            for thread in reversed(self.all):
                if not ids.isdisjoint(message.id for message in thread.end.messages()):
                    return thread
        return Growing()

    def _sent(self, thread: Growing, view: View, one: Exchange) -> None:
        if not thread.requests:
            self.all.append(thread)
            first = view.messages()[:1]
            self._by_first.setdefault(first[0].id if first else "", []).append(thread)
        response = one.response or {}
        thread.requests.append(
            Request(
                index=len(thread.requests),
                view=view,
                prompt=self._pool.prompt(self._prompt(one)),
                usage=self._dialect.usage(response.get(self._dialect.counts)),
                model=one.model,
                time=one.time,
                finish=self._dialect.finish(response),
                line=one.line,
                edits=read_edits(response),
            )
        )

    def _prompt(self, one: Exchange) -> Prompt:
        """A body that names a model is complete: what it does not hold was not sent. A bare list holds no prompt."""
        body = one.request if one.request is not None else one.response or {}
        prompt = self._dialect.prompt(body)
        if one.request is not None and "model" in one.request:
            return prompt
        return Prompt(prompt.system or None, prompt.tools or None)
