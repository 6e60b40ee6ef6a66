"""Made sessions for replays: calls with results, a user's word now and then, usage, a recorded compaction."""

from collections.abc import Sequence
from decimal import Decimal

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.core.session import Compaction, Request, Thread
from inspector.core.tokens.estimators import messages_weight
from inspector.core.tokens.harnesses import Pi
from inspector.core.tokens.prices import call_cost, named_models, sum_prices
from inspector.core.usage import Usage
from tests.core.policies.build import build

OVERHEAD = 3_000
MODEL = "claude-opus-4-5-20251101"


def thread_cost(thread: Thread) -> Decimal | None:
    """US dollars of all requests, each once. None where one of them has no price."""
    return sum_prices(
        call_cost(model, one.usage, one.time) for one, model in named_models(thread) if one.usage
    )


def thread(k: int, body: str, usage: Usage | None = None) -> Thread:
    """One request per call of build(k): the buffer before each assistant message."""
    stretch = Stretch(None, build(k, body).messages)
    requests = [Request(n, stretch.view(1 + 2 * n), usage=usage) for n in range(k)]
    return Thread("main", requests=requests, end=stretch.view(), messages=stretch.own)


def said(*steps: tuple[str, str]) -> Thread:
    """A session from a script: ("user", text), ("answer", text), ("read", "path content"), ("write", path).

    A request before every answer or call; each reports OVERHEAD + twice its tokens by characters, read from the cache
    as far as it was sent before.
    """
    stretch, requests = Stretch(), list[Request]()
    for n, (kind, text) in enumerate(steps):
        if kind == "user":
            stretch.append(Message(f"u{n}", "user", (Text(text),)))
            continue
        requests.append(_request(requests, stretch))
        if kind == "answer":
            stretch.append(Message(f"a{n}", "assistant", (Text(text),)))
            continue
        path, _, content = text.partition(" ")
        name = "Read" if kind == "read" else "Write"
        stretch.append(
            Message(f"a{n}", "assistant", (ToolCall(f"c{n}", name, {"file_path": path}),))
        )
        stretch.append(Message(f"t{n}", "tool", (ToolResult(f"c{n}", content or "done"),)))
    return Thread("main", model=MODEL, requests=requests, end=stretch.view(), messages=stretch.own)


def _request(before: Sequence[Request], stretch: Stretch) -> Request:
    view, index = stretch.view(), len(before)
    prompt, read = OVERHEAD + 2 * messages_weight(Pi(), view), 0
    if before and before[-1].usage is not None:
        read = before[-1].usage.prompt
    usage = Usage(cache_read=read, cache_write=prompt - read, output=10)
    return Request(
        index,
        view,
        usage=usage,
        model=MODEL,
        finish="tool_use",
        time=f"2026-01-01T00:{index:02}:00Z",
    )


def compacted(before: int, after: int, kept: int = 0, swallowed: int = 0) -> Thread:
    """`before` requests, a recorded summary, `after` requests. `swallowed` messages no request ever showed."""
    old = build(before, "result " * 20).messages
    body = [Message(m.id, m.role, m.parts) for m in old]
    first = Stretch(None, body[: len(body) - swallowed])
    requests = [
        Request(n, first.view(1 + 2 * n), usage=Usage(input=1_000 + 100 * n)) for n in range(before)
    ]
    summary = Message("summary", "user", (Text("what was done"),), summary=True)
    added = Message("file", "user", (Text("File a.py: x = 1"),), mark="attachment")
    rest = list(build(after, "more").messages)
    stands: Sequence[Message] = [summary, *(body[-kept:] if kept else ()), added, rest[0]]
    second = Stretch(None, [*stands, *rest[1:]])
    for n in range(after):
        view = second.view(len(stands) + 2 * n)
        requests.append(Request(before + n, view, usage=Usage(input=500 + 100 * n)))
    compaction = Compaction(before, "auto", summary=summary, kept=kept)
    messages = [*body, summary, added, *rest]
    return Thread("main", "", MODEL, requests, messages, second.view(), compactions=(compaction,))
