"""Agents that work: each client's way to write a conversation that grows by a call and a result a turn.

What they carry is of several kinds (code, prose, JSON, Chinese), so that tokenizers disagree about it.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from inspector.core.jsontext import dumps

RULES = (
    "Sandbox: you may write below the working directory only. The network is off. Ask before you delete. "
    * 6
)
SYSTEM = "You are an agent that works in a terminal. Be brief. " * 20
TASK = "Mend src/app.py so that it listens on port 8080, and keep the tests green."
_PROPERTIES = {"path": {"type": "string", "description": "A path below the working directory"}}
SCHEMA = {"type": "object", "properties": _PROPERTIES, "required": ["path"]}
TOOLS = tuple(
    (f"read_{n}", f"Reads one file of kind {n}, as text, with its line numbers.") for n in range(8)
)


def _words(at: random.Random, count: int) -> str:
    words = (
        "the",
        "port",
        "of",
        "this",
        "server",
        "is",
        "read",
        "from",
        "its",
        "settings",
        "before",
        "a",
        "test",
    )
    return " ".join(at.choice(words) for _ in range(count))


def result(n: int) -> str:
    """What the n-th call brings: always the same for the same number."""
    at = random.Random(n)
    size = at.randrange(20, 220)
    kinds: tuple[Callable[[], str], ...] = (
        lambda: _words(at, size * 3),
        lambda: "\n".join(
            f"    self._value_{at.randrange(99)} = load(path, {at.random():.6f})"
            for _ in range(size)
        ),
        lambda: str(
            [{"id": at.randrange(10**9), "ok": at.random() < 0.5} for _ in range(size // 2)]
        ),
        lambda: "".join(chr(0x4E00 + at.randrange(2_000)) for _ in range(size * 3)),
    )
    return kinds[n % len(kinds)]()


@dataclass
class Agent:
    """One conversation. `body` is what it would send now; `goes_on` adds a call and its result."""

    name: str
    path: str
    headers: Mapping[str, str]
    key: str
    first: list[Any]
    fixed: Mapping[str, Any]
    step: Callable[[int, str], list[Any]]
    items: list[Any] = field(default_factory=list)
    turns: int = 0

    def __post_init__(self) -> None:
        self.items = list(self.first)

    @property
    def body(self) -> dict[str, Any]:
        """The whole conversation, with prompt and tools."""
        return {**self.fixed, self.key: list(self.items)}

    def goes_on(self, turns: int = 1) -> None:
        """It reads more files."""
        for _ in range(turns):
            self.items += self.step(self.turns, result(self.turns))
            self.turns += 1

    def ask(self, url: str, body: bytes | None = None) -> httpx2.Response:
        """One request. `body`: what a gate made of it."""
        headers = {"content-type": "application/json", **self.headers}
        content = dumps(self.body).encode() if body is None else body
        answer = httpx2.post(url + self.path, content=content, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer


def claude_code() -> Agent:
    """System items lie among the messages."""

    def step(n: int, found: str) -> list[Any]:
        call = {
            "type": "tool_use",
            "id": f"toolu_{n}",
            "name": f"read_{n % 8}",
            "input": {"path": f"src/m{n}.py"},
        }
        given = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": found}
        said = {"type": "text", "text": f"I look at {n}."}
        return [
            {"role": "assistant", "content": [said, call]},
            {"role": "user", "content": [given]},
        ]

    tools = [{"name": name, "description": told, "input_schema": SCHEMA} for name, told in TOOLS]
    reminder = {
        "type": "text",
        "text": "<system-reminder>\nThe branch is main.\n</system-reminder>",
    }
    first = [
        {"role": "user", "content": [reminder, {"type": "text", "text": TASK}]},
        {"role": "system", "content": RULES},
    ]
    fixed = {"model": "claude-simulated", "max_tokens": 60, "system": SYSTEM, "tools": tools}
    headers = {"x-claude-code-session-id": "11112222-3333", "user-agent": "claude-cli/2.1.330"}
    return Agent("claude-code", "/v1/messages", headers, "messages", first, fixed, step)


def _developer(text: str, role: str = "developer") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def codex() -> Agent:
    """No instructions in the body: developer items hold them."""

    def step(n: int, found: str) -> list[Any]:
        call = {"type": "function_call", "call_id": f"call_{n}", "name": f"read_{n % 8}"}
        said = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": f"Now {n}."}],
        }
        asked = call | {"arguments": f'{{"path": "src/m{n}.py"}}'}
        return [
            said,
            asked,
            {"type": "function_call_output", "call_id": f"call_{n}", "output": found},
        ]

    tools = [
        {"type": "function", "name": name, "description": told, "parameters": SCHEMA}
        for name, told in TOOLS
    ]
    agents = _developer("# AGENTS.md instructions for /work\n\nUse tabs.", "user")
    first = [_developer(RULES), agents, _developer(TASK, "user")]
    fixed = {"model": "gpt-simulated", "tools": tools, "store": False, "max_output_tokens": 60}
    headers = {"session-id": "c0de-1", "thread-id": "c0de-1", "user-agent": "codex_exec/0.169.0"}
    return Agent("codex", "/v1/responses", headers, "input", first, fixed, step)


def _chat(name: str, headers: Mapping[str, str], first: list[Any]) -> Agent:
    def step(n: int, found: str) -> list[Any]:
        call = {"name": f"read_{n % 8}", "arguments": f'{{"path": "src/m{n}.py"}}'}
        calls = [{"id": f"call_{n}", "type": "function", "function": call}]
        said = {"role": "assistant", "content": f"Now {n}.", "tool_calls": calls}
        return [said, {"role": "tool", "tool_call_id": f"call_{n}", "content": found}]

    tools = [
        {"type": "function", "function": {"name": name, "description": told, "parameters": SCHEMA}}
        for name, told in TOOLS
    ]
    fixed = {"model": "gpt-simulated", "tools": tools, "max_completion_tokens": 60}
    return Agent(name, "/v1/chat/completions", headers, "messages", first, fixed, step)


def pi() -> Agent:
    """Chat, with a developer message in front."""
    first = [{"role": "developer", "content": SYSTEM + RULES}, {"role": "user", "content": TASK}]
    return _chat("pi", {"user-agent": "pi/0.87.1"}, first)


def opencode() -> Agent:
    """Chat, with two system messages in front."""
    first = [{"role": "system", "content": SYSTEM}, {"role": "system", "content": RULES}]
    headers = {"x-session-id": "ses_1", "user-agent": "opencode/1.18.33"}
    return _chat("opencode", headers, [*first, {"role": "user", "content": TASK}])


def gemini_cli() -> Agent:
    """Calls have no ids."""

    def step(n: int, found: str) -> list[Any]:
        call = {"functionCall": {"name": f"read_{n % 8}", "args": {"path": f"src/m{n}.py"}}}
        given = {"functionResponse": {"name": f"read_{n % 8}", "response": {"output": found}}}
        return [
            {"role": "model", "parts": [{"text": f"Now {n}."}, call]},
            {"role": "user", "parts": [given]},
        ]

    declared = [{"name": name, "description": told, "parameters": SCHEMA} for name, told in TOOLS]
    fixed = {
        "systemInstruction": {"parts": [{"text": SYSTEM + RULES}]},
        "tools": [{"functionDeclarations": declared}],
        "generationConfig": {"maxOutputTokens": 60},
    }
    first = [{"role": "user", "parts": [{"text": TASK}]}]
    path = "/v1beta/models/gemini-simulated:generateContent"
    return Agent(
        "gemini-cli", path, {"user-agent": "GeminiCLI/0.61.0"}, "contents", first, fixed, step
    )


AGENTS: tuple[Callable[[], Agent], ...] = (claude_code, codex, pi, opencode, gemini_cli)


def prompt_tokens(answer: Any) -> int:
    """What the provider reported for the prompt, in whatever dialect."""
    usage = answer.get("usage") or answer["usageMetadata"]
    if "promptTokenCount" in usage:
        return int(usage["promptTokenCount"])
    if "prompt_tokens" in usage:
        return int(usage["prompt_tokens"])
    return sum(int(usage.get(name) or 0) for name in _INPUT)


_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
