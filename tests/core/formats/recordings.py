"""Recordings made by hand: the records that the proxy would have written, each body told as far as it is new."""

import json
from pathlib import Path
from typing import Any

from inspector.core.formats.proxy import FORMAT
from inspector.core.session import Session

PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
}


class Recording:
    """Collects records; `like` is worked out against the exchange named, or the last one of the same path."""

    def __init__(self, like: bool = True) -> None:
        first = {
            "type": "proxy",
            "version": 1,
            "id": "r-1",
            "time": "2026-01-01T00:00:00Z",
            "upstream": "http://x",
        }
        self.records: list[dict[str, Any]] = [first]
        self.bodies: dict[int, dict[str, Any]] = {}
        self._like = like
        self._paths: dict[int, str] = {}

    def ask(
        self,
        body: dict[str, Any] | None,
        path: str = PATHS["anthropic"],
        headers: dict[str, str] | None = None,
        *,
        method: str = "POST",
        like: int | None = None,
        **more: Any,
    ) -> int:
        """A request. Returns the number of its exchange."""
        number = len(self._paths)
        same = [n for n, known in self._paths.items() if known == path and n in self.bodies]
        named = like if like is not None else (same[-1] if same and self._like else None)
        record: dict[str, Any] = {
            "type": "request",
            "exchange": number,
            "time": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
            "transport": "http",
            "connection": 0,
            "method": method,
            "path": path,
            "headers": [[name, value] for name, value in (headers or {}).items()],
            **more,
        }
        self._paths[number] = path
        if body is not None:
            record.update(self.told(body, named))
            self.bodies[number] = body
        self.records.append(record)
        return number

    def told(self, body: dict[str, Any], named: int | None) -> dict[str, Any]:
        """`body` and `like`, as the recorder would write them."""
        if named is None:
            return {"body": body}
        known = self.bodies[named]
        every = [key for key in body if key in known and body[key] == known[key]]
        first: dict[str, int] = {}
        for key, value in body.items():
            former = known.get(key)
            if key not in every and isinstance(value, list) and isinstance(former, list):
                pairs = zip(value, former, strict=False)
                shortest = min(len(value), len(former))
                first[key] = next(
                    (n for n, (one, other) in enumerate(pairs) if one != other), shortest
                )
        rest = {
            key: value[first.get(key, 0) :] if key in first else value
            for key, value in body.items()
        }
        rest = {key: value for key, value in rest.items() if key not in every}
        return {"body": rest, "like": {"exchange": named, "all": every, "first": first}}

    def send(self, number: int, body: dict[str, Any], named: int | None = None) -> None:
        """What was forwarded instead."""
        told = self.told(body, number if named is None else named)
        self.records.append({"type": "sent", "exchange": number, "time": "", **told})

    def reply(self, number: int, body: Any = None, *, status: int = 200, **more: Any) -> int:
        """A response. `stream`, `frames` or `text` instead of the body as they are given."""
        record = {
            "type": "response",
            "exchange": number,
            "time": "2026-01-01T01:00:00Z",
            "status": status,
        }
        told = {"body": body} if body is not None else {}
        self.records.append({**record, "headers": [], "ended": "complete", **told, **more})
        return number

    def session(self) -> Session:
        """What the reader makes of it."""
        return read(self.records)

    def save(self, path: Path) -> Path:
        """As the file that the proxy would have left."""
        path.write_text(
            "".join(json.dumps(record) + "\n" for record in self.records), encoding="utf-8"
        )
        return path


def read(records: list[Any]) -> Session:
    """The session of these records."""
    reader = FORMAT.start()
    for line, record in enumerate(records, 1):
        reader.feed(line, record)
    return reader.session()


def texts(session: Session, at: int, thread: str = "main") -> list[str]:
    """What the messages of a request say, results and calls in short."""
    found = []
    for message in session.thread(thread).requests[at].view:
        result = message.result
        calls = " ".join(call.name for call in message.calls)
        found.append(message.text or (result.content if result else calls))
    return found


TOOL = {"name": "read", "input_schema": {"type": "object"}}


CLAUDE = {"x-claude-code-session-id": "s-1", "user-agent": "claude-cli/2.1.330"}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


def said(*blocks: dict[str, Any], tokens: int = 100, **more: Any) -> dict[str, Any]:
    """A whole answer of Anthropic's."""
    usage = {"input_tokens": tokens, "output_tokens": 5}
    told = {
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "usage": usage,
        "stop_reason": "end_turn",
    }
    return {**told, "content": list(blocks), **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call-{number}", "name": name, "input": arguments}


def result(number: int, content: str = "text") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": content}
    return {"role": "user", "content": [block]}


def body(messages: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-x",
        "max_tokens": 10,
        "system": "sys",
        "tools": [TOOL],
        "messages": list(messages),
        **more,
    }


def assistant(answer: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": answer["content"]}


def turns(
    recording: Recording, count: int, headers: dict[str, str] | None = None, word: str = "go"
) -> list[Any]:
    """So many turns of an agent with a tool. Returns the conversation that it ends with."""
    messages: list[Any] = [user(word)]
    for n in range(count):
        answer = said(text(f"{word} {n}"), call("read", n), tokens=100 + 10 * n)
        recording.reply(recording.ask(body(messages), headers=headers), answer)
        messages += [assistant(answer), result(n)]
    return messages
