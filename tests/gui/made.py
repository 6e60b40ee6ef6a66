"""Sessions made for tests: small, with everything that the window shows."""

import json
from pathlib import Path

from inspector.core.buffer import Stretch
from inspector.core.message import Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Compaction, Problem, Request, Session, Thread
from inspector.core.usage import Usage


def session(requests: int = 12, path: str = "made.jsonl") -> Session:
    """Two messages a request, usage from 10,000 tokens up, a compaction before the last request, a sub-agent."""
    main = thread("main", requests, compact=True)
    agent = thread("agent-1", 3, title="look for <b>bold</b> ways")
    problems = (Problem(3, "not JSON", "{oops"),)
    return Session("test", (main, agent), problems, path=path, client="Claude Code 2.1.17")


def thread(name: str, requests: int, title: str = "", *, compact: bool = False) -> Thread:
    """A thread whose buffer grows; with `compact` it stands on a summary at its last request."""
    stretch = Stretch(
        own=[Message(f"{name}-u", "user", (Text("Please look at 文件 <img src=x>"),))]
    )
    messages, made = list(stretch.own), []
    for n in range(requests):
        last = compact and n == requests - 1
        if last:
            summary = Message(f"{name}-s", "user", (Text("What happened so far"),), summary=True)
            stretch = Stretch(own=[summary])
            messages.append(summary)
        usage = Usage(
            input=500, cache_read=9_000 if last else 9_500 + 10_000 * n, cache_write=500, output=90
        )
        made.append(
            Request(
                n, stretch.view(), usage=usage, model="claude-opus-4-5", time="2026-01-03T10:11:12Z"
            )
        )
        for message in turn(name, n):
            stretch.append(message)
            messages.append(message)
    compactions = (Compaction(requests - 1, "auto", tokens_before=120_000),) if compact else ()
    return Thread(
        name, title, "claude-opus-4-5", made, messages, stretch.view(), compactions=compactions
    )


def turn(name: str, n: int) -> tuple[Message, Message]:
    """A call and its result; every fifth fails."""
    call = ToolCall(f"{name}-c{n}", "Bash", {"command": f"pytest -q tests/{n}.py"})
    parts = (Thinking("let me see"), Text(f"Step {n} of {name}."), call)
    result = ToolResult(call.id, f"needle-{n} found\n" * (n + 1), is_error=n % 5 == 4)
    return Message(f"{name}-a{n}", "assistant", parts), Message(f"{name}-r{n}", "tool", (result,))


def payload(path: Path, words: str = "Hello there, what is in this window?") -> Path:
    """A file with an Anthropic request body."""
    body = {
        "model": "claude-opus-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": words}],
    }
    path.write_text(json.dumps(body), "utf-8")
    return path
