"""Claude Code: Anthropic Messages, its own compaction, out of an overflow by itself."""

from collections.abc import Sequence
from typing import Literal

from tests.clients.actor import KEY, URL, Dress, Limits, Trait, program

_QUIET = (
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)


class ClaudeCode:
    """`claude -p`."""

    name = "claude-code"
    transcripts = ".claude/projects/*/*.jsonl"
    writes: Literal["all", "talk"] = "talk"
    helper = "general-purpose"
    wires = {  # noqa: RUF012 - never changed
        "anthropic": Trait(
            compacts_at=Limits(100_000, 0), scale=4.8, window=22_000, overflow=0, own_way_out=True
        ),
    }

    def dress(self, wire: str, limits: Limits | None) -> Dress:
        """All of it is said by the environment."""
        environment = {
            **dict.fromkeys(_QUIET, "1"),
            "ANTHROPIC_BASE_URL": URL,
            "ANTHROPIC_API_KEY": KEY,
        }
        if limits:
            environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(limits.at)
        return Dress({}, environment)

    def calls(self, wire: str, task: str, limits: Limits | None) -> Sequence[Sequence[str]]:
        """One task, then the end. The namespace is its sandbox."""
        return [
            [
                program("claude-code", "claude"),
                "-p",
                task,
                "--allowedTools",
                "Bash,Read,Edit,Write,Glob,Grep,Agent",
            ]
        ]

    def again(self, wire: str, words: str) -> Sequence[str]:
        """The newest session of the folder."""
        (first,) = self.calls(wire, words, None)
        return [*first, "--continue"]


ACTOR = ClaudeCode()
