"""Gemini CLI: Gemini's own dialect."""

import json
from collections.abc import Sequence
from typing import Literal

from tests.clients.actor import KEY, URL, Dress, Limits, Trait, node_of, program

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
}


class GeminiCli:
    """`gemini -p`."""

    name = "gemini-cli"
    transcripts = ".gemini/tmp/*/chats/*.json*"
    writes: Literal["all", "talk"] = "talk"
    helper = "generalist"
    wires = {  # noqa: RUF012 - never changed
        "gemini": Trait(first=1, compacts_at=Limits(1, 0), overflow=1, cut=1, window=21_000),
    }

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """A file of settings and two variables."""
        settings = {**_SETTINGS, "model": {"compressionThreshold": 0.014}} if limits else _SETTINGS
        environment = {"GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_API_KEY": KEY}
        return Dress({".gemini/settings.json": json.dumps(settings)}, environment)

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """One task; another where it is to compact: it does so between two of them."""
        first = [
            node_of("gemini-cli"),
            program("gemini-cli", "gemini"),
            "-p",
            task,
            "--yolo",
            "--skip-trust",
        ]
        return [first, [*first, "-r", "latest"]] if limits else [first]

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The newest session."""
        (first,) = self.calls(wire, words, None)
        return [*first, "-r", "latest"]


ACTOR = GeminiCli()
