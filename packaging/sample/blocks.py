"""Turns of the story as content blocks and assistant records."""

import json
from typing import Any

from sample.dice import BASE62, Dice
from sample.play import Call, Turn
from sample.provider import tokens_of

Record = dict[str, Any]


def dumps(value: object) -> str:
    """As the client writes JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(text: str) -> list[Record]:
    return [{"type": "text", "text": text}]


def blocks_of(turn: Turn, dice: Dice) -> tuple[list[Record], list[Call]]:
    """Content blocks in order, the calls last; and the calls."""
    blocks: list[Record] = []
    if turn.thinking:
        signature = f"E{dice.word(BASE62, 200 + len(turn.thinking))}=="
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": signature})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for call in turn.calls:
        identity = f"toolu_01{dice.word(BASE62, 22)}"
        blocks.append({"type": "tool_use", "id": identity, "name": call.name, "input": call.input})
    return blocks, turn.calls


def output_of(turn: Turn, dice: Dice) -> int:
    """What the model wrote, thinking as it was before it was shortened for show."""
    thought = tokens_of(turn.thinking, dice) * 13 // 10 if turn.thinking else 0
    return thought + tokens_of(turn.text + "".join(dumps(call.input) for call in turn.calls), dice)


def assistant_of(
    names: Record, model: str, block: Record, stop: str | None, usage: Record
) -> Record:
    message = {
        "model": model,
        "id": names["id"],
        "type": "message",
        "role": "assistant",
        "content": [block],
    }
    ending = {"stop_reason": stop, "stop_sequence": None, "usage": usage}
    return {"type": "assistant", "message": {**message, **ending}, "requestId": names["request"]}
