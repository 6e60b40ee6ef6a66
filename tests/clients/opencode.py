"""opencode: three dialects over HTTP, its own compaction."""

import json
from collections.abc import Sequence
from typing import Literal

from tests.clients.actor import KEY, URL, Dress, Limits, Trait, program

_ADAPTERS = {
    "anthropic": "@ai-sdk/anthropic",
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
}
_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
_TRAIT = Trait(first=1, compacts_at=Limits(12_000, 0), window=18_000, overflow=1, own_way_out=True)


class Opencode:
    """`opencode run`."""

    name = "opencode"
    transcripts = ".local/share/opencode/opencode.db"
    writes: Literal["all", "talk"] = "talk"
    helper = "general"
    wires = dict.fromkeys(_ADAPTERS, _TRAIT)

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """A provider of its own in its settings."""
        limit = {"context": limits.at if limits else 200_000, "output": 2_000}
        model = {"claude-fake": {"name": "fake", "limit": limit, "tool_call": True}}
        options = {"baseURL": f"{URL}/v1", "apiKey": KEY}
        provider = {
            "fake": {"npm": _ADAPTERS[wire], "name": "fake", "options": options, "models": model}
        }
        settings = {"autoupdate": False, "share": "disabled", "provider": provider}
        environment = {f"OPENCODE_DISABLE_{name}": "1" for name in _OFF}
        return Dress({".config/opencode/opencode.json": json.dumps(settings)}, environment)

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """One task, then the end."""
        return [[program("opencode", "opencode"), "run", "-m", "fake/claude-fake", task]]

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The newest session."""
        return [
            program("opencode", "opencode"),
            "run",
            "--continue",
            "-m",
            "fake/claude-fake",
            words,
        ]


ACTOR = Opencode()
