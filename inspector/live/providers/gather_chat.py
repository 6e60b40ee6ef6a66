"""OpenAI Chat's stream put back together: chunks in, the whole completion out."""

from typing import Any


class ChatGathering:
    """Feed every chunk; `completion` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self._head: dict[str, Any] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._said: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, chunk: dict[str, Any]) -> str:
        """The text that this chunk brought, if any."""
        self._head = self._head or {key: chunk.get(key) for key in ("id", "model")}
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices") or []
        if not choices:
            return ""
        choice = choices[0]
        if choice.get("finish_reason"):
            self._finish, self.finished = choice["finish_reason"], True
        delta = choice.get("delta") or {}
        for field in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(text := delta.get(field), str) and text:
                self._said.setdefault(field, []).append(text)
        for n, piece in enumerate(delta.get("tool_calls") or ()):
            self._call(piece.get("index", n), piece)
        return delta["content"] if isinstance(delta.get("content"), str) else ""

    def _call(self, n: int, piece: dict[str, Any]) -> None:
        call = self._calls.setdefault(n, {"id": "", "name": "", "arguments": []})
        function = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["name"] = function.get("name") or call["name"]
        if function.get("arguments"):
            call["arguments"].append(function["arguments"])

    def completion(self) -> dict[str, Any]:
        """What has come so far, as a call without streaming returns it."""
        message: dict[str, Any] = {"role": "assistant"}
        message |= {field: "".join(pieces) for field, pieces in self._said.items()}
        if self._calls:
            message["tool_calls"] = [_whole(self._calls[n]) for n in sorted(self._calls)]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {**self._head, "choices": [choice], "usage": self._usage}


def _whole(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}
