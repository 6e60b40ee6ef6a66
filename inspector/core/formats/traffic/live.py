"""Read a conversation over Gemini's Live API. The client sends only what is new, so buffers are rebuilt here.

A call begins with the first part of an answer, and ends with the turn or with tool calls. The provider reports tokens
for each turn; they are used only if the turn had a single call. Audio is left out; the provider's transcription is read
instead. https://ai.google.dev/api/live
"""

from collections.abc import Mapping
from typing import Any

from inspector.core.formats.traffic.log import TrafficReader
from inspector.core.untyped import list_of, object_of, objects_of, text_at, text_of

_COUNTS = {"promptTokenCount": "promptTokenCount", "responseTokenCount": "candidatesTokenCount"}
_PASSED_ON = ("cachedContentTokenCount", "thoughtsTokenCount", "totalTokenCount")


def is_setup(message: Any) -> bool:
    """Is this the set-up message that begins a conversation?"""
    return "model" in object_of(message, "setup")


class LiveConversation:
    """Rebuilds the calls of one connection from its messages, which must be passed in order."""

    def __init__(self, log: TrafficReader) -> None:
        self._log = log
        self._setup: Mapping[str, Any] = {}
        self._contents: list[Mapping[str, Any]] = []
        self._call: int | None = None
        self._parts: list[Mapping[str, Any]] = []
        """Parts received so far of the current answer."""
        self._calls = 0
        """Number of calls in the current turn."""

    def sent(self, message: Any) -> None:
        """Read a message from the client."""
        if is_setup(message):
            self._setup, self._contents = object_of(message, "setup"), []
        self._contents += objects_of(
            _either(message, "clientContent", "client_content").get("turns")
        )
        results = objects_of(
            _either(message, "toolResponse", "tool_response").get("functionResponses")
        )
        if results:
            self._contents.append(
                {"role": "user", "parts": [{"functionResponse": result} for result in results]}
            )
        if text := text_at(_either(message, "realtimeInput", "realtime_input"), "text"):
            self._hear(text)

    def received(self, message: Any) -> None:
        """Read a message from the provider."""
        content = object_of(message, "serverContent")
        if heard := text_at(object_of(content, "inputTranscription"), "text"):
            self._hear(heard)
        calls = objects_of(object_of(message, "toolCall").get("functionCalls"))
        parts = [
            part
            for part in objects_of(object_of(content, "modelTurn").get("parts"))
            if "inlineData" not in part
        ]
        if words := text_at(object_of(content, "outputTranscription"), "text"):
            parts.append({"text": words})
        if parts or calls:
            self._begin()
            self._parts += [*parts, *({"functionCall": call} for call in calls)]
        is_over = bool(content.get("turnComplete") or content.get("interrupted"))
        if calls or is_over:
            self._end(
                object_of(message, "usageMetadata"),
                "INTERRUPTED" if content.get("interrupted") else "STOP",
            )
        if is_over:
            self._calls = 0

    def _hear(self, text: str) -> None:
        """Add a piece of the user's words, to the user's last message if no answer has begun."""
        last = self._contents[-1] if self._contents else {}
        parts = list_of(last.get("parts"))
        is_text = last.get("role") == "user" and len(parts) == 1 and "text" in parts[0]
        if is_text and self._call is None:
            text = text_of(parts[0]["text"]) + text
            self._contents.pop()
        self._contents.append({"role": "user", "parts": [{"text": text}]})

    def _begin(self) -> None:
        if self._call is None:
            model = text_of(self._setup.get("model")).removeprefix("models/")
            body = {**self._setup, "model": model, "contents": list(self._contents)}
            self._calls += 1
            self._call = self._log.ask(
                "WEBSOCKET", "/BidiGenerateContent", None, body, dialect="gemini"
            )

    def _end(self, usage: Mapping[str, Any], finish: str) -> None:
        if self._call is None:
            return
        content = {"role": "model", "parts": _joined(self._parts)}
        if self._calls > 1 and usage:
            reported = ", ".join(
                f"{name} {usage[name]:,}" for name in _COUNTS if type(usage.get(name)) is int
            )
            self._log.note(
                f"A turn of {self._calls} calls was counted as one: {reported}. The tokens of each call are unknown."
            )
            usage = {}
        counts = {name: usage[key] for key, name in _COUNTS.items() if key in usage}
        counts |= {key: usage[key] for key in _PASSED_ON if key in usage}
        answer = {"candidates": [{"content": content, "finishReason": finish}]}
        self._log.answer(self._call, 101, answer | ({"usageMetadata": counts} if counts else {}))
        self._contents.append(content)
        self._call, self._parts = None, []


def _either(message: Any, name: str, other: str) -> Mapping[str, Any]:
    return object_of(message, name) or object_of(message, other)


def _joined(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the parts with consecutive pieces of text joined."""
    joined: list[Mapping[str, Any]] = []
    for part in parts:
        if joined and part.keys() == joined[-1].keys() == {"text"}:
            joined[-1] = {"text": text_of(joined[-1]["text"]) + text_of(part["text"])}
        else:
            joined.append(part)
    return joined
