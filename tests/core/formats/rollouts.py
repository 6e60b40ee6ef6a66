"""Records of Codex rollouts, one line each, for tests that need an order of them."""

from typing import Any


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-03-01T10:00:00Z",
        "type": "response_item",
        "payload": {"type": kind, **fields},
    }


def says(role: str, text: str) -> dict[str, Any]:
    return item(
        "message",
        role=role,
        content=[{"type": "output_text" if role == "assistant" else "input_text", "text": text}],
    )


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


class Counts:
    """token_count events with a running total."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(
        self, prompt: int, output: int = 1, cached: int = 0, reasoning: int = 0
    ) -> dict[str, Any]:
        self.total += prompt + output
        last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output}
        last |= {"reasoning_output_tokens": reasoning, "total_tokens": prompt + output}
        return event(
            "token_count",
            info={"total_token_usage": {"total_tokens": self.total}, "last_token_usage": last},
        )


def call(name: str) -> dict[str, Any]:
    return item("function_call", name="shell", arguments='{"cmd":"ls"}', call_id=name)


def answer(name: str, text: str = "done") -> dict[str, Any]:
    return item("function_call_output", call_id=name, output=text)


REASONING = item("reasoning", summary=[], encrypted_content="c2VhbGVk")
TURN = {"type": "turn_context", "payload": {"model": "gpt-5.5"}}
COMPACTED = {
    "type": "compacted",
    "payload": {
        "message": "in short",
        "replacement_history": [says("user", "hi")["payload"], says("user", "in short")["payload"]],
    },
}
