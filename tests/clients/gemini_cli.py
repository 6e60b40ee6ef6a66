"""Gemini CLI: Gemini's own dialect."""

import json
from collections.abc import Sequence

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
    wires = {"gemini": Trait(overflow=144)}  # noqa: RUF012 - never changed

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """A file of settings and two variables."""
        environment = {"GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_API_KEY": KEY}
        return Dress({".gemini/settings.json": json.dumps(_SETTINGS)}, environment)

    def call(self, wire: str, task: str) -> Sequence[str]:
        """One task, then the end."""
        return [node_of("gemini-cli"), program("gemini-cli", "gemini"), "-p", task, "--yolo", "--skip-trust"]


ACTOR = GeminiCli()
