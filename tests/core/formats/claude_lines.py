"""Sample files of Claude Code sessions, read the way the program reads them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from inspector.core.formats.claude_code import FORMAT
from inspector.core.formats.claude_code.reader import ClaudeCodeReader
from inspector.core.formats.format import Head
from inspector.core.jsontext import NotJson, loads
from inspector.core.message import Message, Text, Thinking, ToolCall, ToolResult
from inspector.core.session import Session, Thread

DATA = Path(__file__).resolve().parent.parent.parent / "data" / "claude_code"


def values(path: Path) -> list[tuple[int, Any]]:
    """The lines that are JSON, with their numbers."""
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            found.append((number, loads(line)))
        except NotJson:
            continue
    return found


def read_values(lines: Iterable[tuple[int, Any]]) -> Session:
    reader = ClaudeCodeReader()
    for number, value in lines:
        reader.feed(number, value)
    return reader.session()


def read(name: str, *companions: str) -> Session:
    """A sample with its companions."""
    reader = ClaudeCodeReader()
    for number, value in values(DATA / name):
        reader.feed(number, value)
    for companion in companions:
        for number, value in values(DATA / companion):
            reader.feed(number, value, f"x/subagents/{companion}")
    return reader.session()


def head(name: str) -> Head:
    return Head([value for _, value in values(DATA / name)][:60])


def sniffed(name: str) -> float:
    return FORMAT.sniff(head(name))


def buffers(thread: Thread) -> list[list[str]]:
    """Message ids of each request."""
    return [[message.id for message in request.view] for request in thread.requests]


def shown(message: Message) -> str:
    """A message in a word: role and what its parts are."""
    words = {Text: "text", Thinking: "thinking", ToolCall: "call", ToolResult: "result"}
    return f"{message.role}:{'+'.join(words.get(type(part), type(part).__name__) for part in message.parts)}"
