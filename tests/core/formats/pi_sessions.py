"""Records of pi, made for tests."""

from typing import Any

from inspector.core.session import Request


def ids(request: Request) -> list[str]:
    return [message.id for message in request.view]


HEAD = {"type": "session", "version": 3, "id": "s", "cwd": "/home/dev"}


def row(kind: str, name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "parentId": parent, **fields}


def said(
    name: str, parent: str | None, role: str, text: str, tokens: int = 0, **fields: Any
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}], **fields}
    if role == "assistant":
        message |= {
            "usage": {"input": tokens, "output": 1},
            "stopReason": fields.get("stopReason", "stop"),
        }
    return row("message", name, parent, message=message)
