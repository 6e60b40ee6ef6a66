"""Providers for tests: all three dialects through the real SDKs, against the simulated server."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from inspector.core.buffer import Buffer, Prompt, Tool
from inspector.core.jsontext import loads
from inspector.core.message import Message, Text, ToolCall, ToolResult
from inspector.providers.answerers import Address, Answering, Api, answerer
from inspector.providers.provider import Provider
from inspector.safety.keys import ApiKey
from inspector.simulated.server import SimulatedServer

WIRES: tuple[Api, ...] = ("anthropic", "responses", "chat")
SECRET = "sk-test-5f3a/secret+key=77"
READ = Tool(
    "Read",
    {
        "name": "Read",
        "description": "Reads a file — «ü»",
        "input_schema": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
        },
    },
)
GREP = Tool(
    "Grep",
    {
        "name": "Grep",
        "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
    },
)


def user(id: str, text: str) -> Message:  # noqa: A002
    """A user message."""
    return Message(id, "user", (Text(text),))


def call(id: str, call_id: str, name: str = "Read", **arguments: Any) -> Message:  # noqa: A002
    """An assistant message with one call."""
    return Message(id, "assistant", (Text("Let me see."), ToolCall(call_id, name, arguments)))


def result(id: str, call_id: str, content: str) -> Message:  # noqa: A002
    """A tool result."""
    return Message(id, "tool", (ToolResult(call_id, content),))


def asking(*messages: Message, tools: tuple[Tool, ...] = (READ, GREP)) -> Buffer:
    """A buffer with a system prompt and tools."""
    return Buffer(
        messages or (user("u", "Please fix the parser in src/parser.py"),),
        Prompt("You code.", tools),
    )


@contextmanager
def provider(
    server: SimulatedServer,
    wire: Api,
    model: str = "simulated",
    key: str = SECRET,
    session: str = "session-1",
    url: str = "",
) -> Iterator[Provider]:
    """A provider, closed after the test."""
    base = (url or server.url) + ("" if wire == "anthropic" else "/v1")
    opened = Address("simulated", wire, ApiKey(key), base).open(model, session)
    try:
        yield opened
    finally:
        opened.close()


def by_url(server: SimulatedServer, wire: Api, model: str = "simulated") -> Answering:
    """The answerer that a user gets who names the server by its URL."""
    return answerer(f"{wire}+{server.url}", model)


def bodies(server: SimulatedServer) -> list[Any]:
    """What arrived, parsed."""
    return [loads(seen.body) for seen in server.world.seen]


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException]]:
    """Run it elsewhere; what it raises is put into the list."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised
