"""What a path asks for, and in whose dialect. Told by its end: what stands in front is the host's affair."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.core.formats.payload import anthropic as anthropic_payload
from inspector.core.formats.payload import gemini as gemini_payload
from inspector.core.formats.payload import openai_chat as openai_chat_payload
from inspector.core.formats.payload import openai_responses as openai_responses_payload
from inspector.core.formats.payload.dialect import Dialect

Purpose: TypeAlias = Literal["call", "count", "compact", "other"]
"""call: an answer of the model; count: tokens of a body; compact: the provider is to compact; other: anything else."""

DIALECTS: Mapping[str, Dialect] = {
    one.name: one
    for one in (
        anthropic_payload.DIALECT,
        openai_chat_payload.DIALECT,
        openai_responses_payload.DIALECT,
        gemini_payload.DIALECT,
    )
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a request goes."""

    purpose: Purpose
    dialect: Dialect | None = None
    model: str = ""
    """Named by the path, as Gemini does."""


_ENDS: tuple[tuple[str, Purpose, str], ...] = (
    ("/messages", "call", "anthropic"),
    ("/messages/count_tokens", "count", "anthropic"),
    ("/chat/completions", "call", "openai-chat"),
    ("/responses", "call", "openai-responses"),
    ("/responses/compact", "compact", "openai-responses"),
    ("/responses/input_tokens", "count", "openai-responses"),
)
_GEMINI = re.compile(r"(?:.*/)?([^/]*):(generateContent|streamGenerateContent|countTokens)")


def endpoint(method: str, path: str) -> Endpoint:
    """What is asked for. A WebSocket frame counts as a POST."""
    plain = path.partition("?")[0].rstrip("/")
    if method.upper() not in ("POST", "WEBSOCKET", "GET", ""):
        return Endpoint("other")
    if found := _GEMINI.fullmatch(plain):
        model = found[1] if not found[1].startswith("v1") else ""  # Code Assist: `/v1internal:generateContent`
        return Endpoint("count" if found[2] == "countTokens" else "call", DIALECTS["gemini"], model)
    for end, purpose, name in _ENDS:
        if plain.endswith(end):
            return Endpoint(purpose, DIALECTS[name])
    return Endpoint("other")
