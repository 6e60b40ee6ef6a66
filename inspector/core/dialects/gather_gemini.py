"""Gemini's stream put back together: chunks in, the whole response out as `generateContent` returns it.

Takes chunks as they come from anywhere: what is not of the expected shape is passed over. Pieces of one text become one
part; every other part stays as it came.
"""

from collections.abc import Mapping
from typing import Any


class GeminiGathering:
    """Feed every chunk; `response` is whole once `finished`."""

    def __init__(self) -> None:
        self.finished = False
        self.failure: Mapping[str, Any] | None = None
        """The error that the stream told of, where it did."""
        self._told: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._pieces: list[str] = []

    def feed(self, chunk: Mapping[str, Any]) -> str:
        """The text that this chunk brought, if any: thoughts are none."""
        inner = chunk.get("response")  # Code Assist wraps what the API says
        chunk = inner if isinstance(inner, Mapping) and "candidates" not in chunk else chunk
        if isinstance(error := chunk.get("error"), Mapping):
            self.failure = error
        self._told |= {key: value for key, value in chunk.items() if key != "candidates"}
        candidate = _first(chunk.get("candidates"))
        self._candidate |= {key: value for key, value in candidate.items() if key != "content"}
        self.finished = self.finished or bool(candidate.get("finishReason"))
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        return (
            "".join(self._add(part) for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else ""
        )

    def _add(self, part: Mapping[str, Any]) -> str:
        text = part.get("text")
        if not isinstance(text, str):
            self._close()
            self._parts.append(dict(part))
            return ""
        more = {key: value for key, value in part.items() if key != "text"}
        thought = bool(part.get("thought"))
        last = self._parts[-1] if self._pieces else None
        if last is None or bool(last.get("thought")) != thought:
            self._close()
            self._parts.append(more)
        else:
            last |= more
        self._pieces.append(text)
        return "" if thought else text

    def _close(self) -> None:
        """The text that was being told is whole."""
        if self._pieces:
            self._parts[-1]["text"] = "".join(self._pieces)
            self._pieces.clear()

    def response(self) -> dict[str, Any]:
        """What has come so far."""
        if self._pieces:
            self._pieces[:] = ["".join(self._pieces)]
            self._parts[-1]["text"] = self._pieces[0]
        parts = [part for part in self._parts if part != {"text": ""}]
        candidate = {**self._candidate, "content": {"role": "model", "parts": parts}}
        return {**self._told, "candidates": [candidate]}


def _first(candidates: Any) -> Mapping[str, Any]:
    """The first candidate: of several, only that one goes on in the conversation."""
    found = [one for one in candidates if isinstance(one, Mapping)] if isinstance(candidates, list) else []
    return next((one for one in found if not one.get("index")), {})
