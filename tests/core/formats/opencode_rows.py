"""Rows of opencode's database and its exports, made for tests."""

from collections.abc import Iterable
from typing import Any

SESSION = "ses_1"


def session(name: str = SESSION, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"title of {name}",
        "version": "1.18.33",
        "directory": "/home/dev/project",
        **more,
    }


def user(name: str, at: int, *parts: Any, **more: Any) -> dict[str, Any]:
    """A message of the user; a text stands for a part."""
    return {
        "info": {"id": name, "role": "user", "time": {"created": at}, **more},
        "parts": _parts(
            name,
            [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts],
        ),
    }


def assistant(
    name: str, at: int, prompt: int, *parts: Any, done: bool = True, **more: Any
) -> dict[str, Any]:
    """One step of the assistant with its parts; `prompt` tokens were reported, 0 = nothing yet."""
    tokens = {"input": prompt, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    said = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    ends = [{"type": "step-finish", "reason": "stop", "tokens": tokens}] if prompt and done else []
    info: dict[str, Any] = {
        "id": name,
        "role": "assistant",
        "modelID": "claude-x",
        "time": {"created": at},
        **more,
    }
    if done:
        info["time"] = {"created": at, "completed": at + 1}
        info["finish"] = "stop"
    return {"info": info, "parts": _parts(name, [{"type": "step-start"}, *said, *ends])}


def _parts(name: str, parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"prt_{name}_{n:03}", **part} for n, part in enumerate(parts)]


def tool(call: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    said = {"completed": {"output": f"output of {call}"}, "error": {"error": "it failed"}}.get(
        status, {}
    )
    return {
        "type": "tool",
        "tool": "bash",
        "callID": call,
        "state": {
            "status": status,
            "input": {"command": call},
            "time": {"start": 1},
            **said,
            **state,
        },
    }


def export(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"info": session(**more), "messages": list(messages)}


def rows(*messages: dict[str, Any], name: str = SESSION, **more: Any) -> list[dict[str, Any]]:
    """The same as an export, row by row."""
    found = [{"table": "session", "row": session(name, **more)}]
    for message in messages:
        info = message["info"]
        base = {"session_id": name, "time_created": info["time"]["created"]}
        data = {key: value for key, value in info.items() if key != "id"}
        found.append({"table": "message", "row": {"id": info["id"], "data": data, **base}})
        for part in message["parts"]:
            about = {"id": part["id"], "message_id": info["id"], **base}
            found.append(
                {
                    "table": "part",
                    "row": {**about, "data": {k: v for k, v in part.items() if k != "id"}},
                }
            )
    return found
