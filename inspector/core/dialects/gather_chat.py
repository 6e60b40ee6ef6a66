"""OpenAI Chat's stream put back together: chunks in, the whole completion out.

Takes chunks as they come from anywhere: what is not of the expected shape is passed over.
"""

from collections.abc import Mapping
from typing import Any


class ChatGathering:
    """Feed every chunk; `completion` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream told of, where it did."""
        self._head: dict[str, Any] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._said: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, chunk: Mapping[str, Any]) -> str:
        """The text that this chunk brought, if any."""
        if isinstance(error := chunk.get("error"), Mapping):
            self.failure = error
        self._head = self._head or {key: chunk[key] for key in ("id", "model") if chunk.get(key)}
        self._usage = chunk.get("usage") or self._usage
        choice = _first(chunk.get("choices"))
        if choice.get("finish_reason"):
            self._finish, self.finished = str(choice["finish_reason"]), True
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        for field in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(text := delta.get(field), str) and text:
                self._said.setdefault(field, []).append(text)
        pieces = delta.get("tool_calls")
        for n, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if isinstance(piece, Mapping):
                self._call(n, piece)
        content = delta.get("content")
        return content if isinstance(content, str) else ""

    def _call(self, n: int, piece: Mapping[str, Any]) -> None:
        at = piece.get("index")
        call = self._calls.setdefault(at if isinstance(at, int) else n, {"id": "", "name": "", "arguments": []})
        function = piece.get("function")
        told = function if isinstance(function, Mapping) else {}
        call["id"] = piece.get("id") or call["id"]
        call["name"] = told.get("name") or call["name"]
        if isinstance(arguments := told.get("arguments"), str):
            call["arguments"].append(arguments)

    def completion(self) -> dict[str, Any]:
        """What has come so far, as a call without streaming returns it."""
        message: dict[str, Any] = {"role": "assistant"}
        message |= {field: "".join(pieces) for field, pieces in self._said.items()}
        if self._calls:
            message["tool_calls"] = [_whole(self._calls[n]) for n in sorted(self._calls)]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {**self._head, "choices": [choice], "usage": self._usage}


def _first(choices: Any) -> Mapping[str, Any]:
    """The first choice: of several, only that one goes on in the conversation."""
    found = [one for one in choices if isinstance(one, Mapping)] if isinstance(choices, list) else []
    return next((one for one in found if not one.get("index")), {})


def _whole(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}
