"""Bodies of requests, made for tests."""

from typing import Any

from inspector.core.session import Session


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


TOOL = {"name": "read", "input_schema": {"type": "object"}}
TURNS = [
    said("user", "one"),
    said("assistant", "two"),
    said("user", "three"),
    said("assistant", "four"),
]


def body(messages: list[Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude-x", "max_tokens": 100, "messages": messages, "tools": [TOOL], **more}


def texts(session: Session, at: int, thread: str = "main") -> list[str]:
    return [message.text for message in session.thread(thread).requests[at].view]


# OpenAI Responses


def item(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
